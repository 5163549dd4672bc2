"""The text and the files of a skill."""

import contextlib
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
from litestar import Request, Response, get
from litestar.openapi.spec import OpenAPIMediaType, OpenAPIResponse, OpenAPIType, Operation, Schema
from litestar.params import QueryParameter

from registry.errors import RegistryError
from registry.http.counted_uses import count_use
from registry.http.envelope import Ok
from registry.http.file_forms import FileForm, ImageAddresses, file_response
from registry.http.routes.parameters import ERRORS, ReadyServices, each, skill_id
from registry.http.routes.skills import get_dependents, get_overview
from registry.http.thread_pools import ORDINARY_POOL, PACKAGE_POOL
from registry.parsing.markdown import render_markdown
from registry.services.container import Services
from registry.services.skill_view import SkillView, add_evals, has_evals, view_skill
from registry.services.usage import UsageData
from registry.skill_folder import FileEntry
from registry.skill_folder.tree import SKILL_FILE

JSON, MARKDOWN = "application/json", "text/markdown"
_OF_MARKDOWN = {"Vary": "Accept", "X-Content-Type-Options": "nosniff"}

Form = Annotated[
    Literal["raw", "html"], QueryParameter(name="format", description="The file as it is, or rendered to safe HTML")
]


class SkillContent(msgspec.Struct, kw_only=True):
    """The text of a skill: its SKILL.md verbatim, or its body as sanitised HTML."""

    path: str
    format: Literal["raw", "html"]
    content: str


@dataclass
class _AsMarkdown(Operation):
    """The answer in the OpenAPI document: JSON, or the text alone."""

    def __post_init__(self) -> None:
        answer = (self.responses or {})["200"]
        text = OpenAPIMediaType(schema=Schema(type=OpenAPIType.STRING), example="# PDF forms\n\nFill in a form.\n")
        if isinstance(answer, OpenAPIResponse):
            answer.content = {**(answer.content or {}), MARKDOWN: text}


@get(each("/skills/{id}/content"), tags=["skills"], responses=ERRORS, operation_class=_AsMarkdown, role="user")
async def get_content(
    request: Request[Any, Any, Any], services: ReadyServices, form: Form = "raw"
) -> Response[Ok[SkillContent]]:
    """Return a skill's SKILL.md, or its body as sanitised HTML. With `Accept: text/markdown`, the file alone."""
    path_id = skill_id(request)
    content = await ORDINARY_POOL.run(_content, services, path_id, form)
    count_use(request, path_id, "read")
    if form == "raw" and request.accept.best_match([JSON, MARKDOWN], default=JSON) == MARKDOWN:
        return Response(content.content.encode(), media_type=MARKDOWN, headers=_OF_MARKDOWN)  # type: ignore[arg-type]
    return Response(Ok(content), headers={"Vary": "Accept"})


def _content(services: Services, path_id: str, form: Literal["raw", "html"]) -> SkillContent:
    if form == "html":
        text = render_markdown(services.catalog.body(path_id), ImageAddresses(path_id, SKILL_FILE).of)
    else:
        text = services.skill_backends.of(path_id).text(path_id)
    return SkillContent(path=services.catalog.get(path_id).skill_file or "", format=form, content=text)


@get(each("/skills/{id}/view"), tags=["skills"], responses=ERRORS, role="user")
async def get_view(request: Request[Any, Any, Any], services: ReadyServices) -> Ok[SkillView]:
    """Return what the page of a skill shows: the skill, its text, files, versions and checklist."""
    path_id = skill_id(request)
    images = ImageAddresses(path_id, SKILL_FILE).of
    view = await ORDINARY_POOL.run(view_skill, services, path_id, lambda text: render_markdown(text, images))
    if has_evals(view):
        with contextlib.suppress(RegistryError):  # too many requests wait for the package store
            await PACKAGE_POOL.run(add_evals, services, view)
    if view.content is not None:
        count_use(request, path_id, "read")
    return Ok(view)


@get(each("/skills/{id}/usage"), tags=["skills"], responses=ERRORS, role="user")
@ORDINARY_POOL.handler
def get_usage(request: Request[Any, Any, Any], services: ReadyServices) -> Ok[UsageData]:
    """Return how often a skill was installed, downloaded, read and chosen in searches, by day."""
    return Ok(services.usage.of(skill_id(request)))


@get(each("/skills/{id}/files"), tags=["skills"], responses=ERRORS, role="user")
@ORDINARY_POOL.handler
def list_skill_files(request: Request[Any, Any, Any], services: ReadyServices) -> Ok[list[FileEntry]]:
    """List a skill's files with their sizes in bytes."""
    path_id = skill_id(request)
    return Ok(services.skill_backends.of(path_id).files(path_id))


@get(
    each("/skills/{id}/files/{path:path}"),
    tags=["skills"],
    responses=ERRORS,
    role="user",
    fails={429},
    media_type="*/*",
)
async def get_skill_file(
    request: Request[Any, Any, Any], services: ReadyServices, form: FileForm = "raw"
) -> Response[Any]:
    """Return one file of a skill: text as plain text, anything else as a download, or in the `format` that is named."""
    name = str(request.path_params["path"]).removeprefix("/")
    path_id = skill_id(request)
    file = await PACKAGE_POOL.run(lambda: services.skill_backends.of(path_id).file(path_id, name))
    return await file_response(request, file, form, ImageAddresses(path_id, name))


CONTENT = [get_overview, get_dependents, get_usage, get_view, get_content, list_skill_files, get_skill_file]
