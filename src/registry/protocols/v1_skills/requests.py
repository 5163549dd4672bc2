"""What the requests of `/v1/skills` have in common: cursors, and bodies that are JSON or files."""

import tempfile
from dataclasses import dataclass
from typing import Annotated, Any, BinaryIO, Literal

from anyio import to_thread
from litestar import Request
from litestar.enums import RequestEncodingType
from litestar.openapi.spec import OpenAPIFormat, OpenAPIMediaType, OpenAPIType, Operation, RequestBody, Schema
from litestar.params import QueryParameter

from registry.domain.models import Skill
from registry.domain.roles import Principal
from registry.errors import FieldError, RegistryError, validation_error
from registry.http.admission import principal_of
from registry.http.query_params import Page
from registry.http.uploads import take_files
from registry.packages.limits import DEFAULT_LIMITS
from registry.publish.jobs import Job
from registry.publish.service import JobData
from registry.services.container import Services
from registry.services.uploads import check_upload, finished_job, take_upload

_ID = 'The id of the last item on the page before: its "last_id"'
After = Annotated[str, QueryParameter(max_length=130, description=_ID)]
PageToken = Annotated[str, QueryParameter(name="page", max_length=130, description='The "next_page" before')]
Order = Annotated[Literal["asc", "desc"], QueryParameter(description="Oldest or newest first")]

_WAIT_SECONDS = 30.0
_OTHER_PARTS = 20
"""Fields of a form besides its files."""


@dataclass
class FilesOrJson(Operation):
    """The body in the OpenAPI document: files, which are never decoded as a whole, or JSON."""

    def __post_init__(self) -> None:
        file = Schema(type=OpenAPIType.STRING, format=OpenAPIFormat.BINARY)
        described = "The files of a skill with their paths as file names, or one zip of them"
        files = Schema(type=OpenAPIType.ARRAY, items=file, description=described)
        form = Schema(type=OpenAPIType.OBJECT, required=["files"], properties={"files": files})
        fields = Schema(type=OpenAPIType.OBJECT, description="The same body as below `/api/code/v1`")
        content = {
            RequestEncodingType.MULTI_PART.value: OpenAPIMediaType(schema=form),
            RequestEncodingType.JSON.value: OpenAPIMediaType(schema=fields),
        }
        self.request_body = RequestBody(content=content, required=True)


def cursor(page: Page, after: str, token: str) -> str | None:
    """Return the id that a page starts behind, if any. Raises VALIDATION_ERROR for an offset besides."""
    start = after or token or None
    if page.offset and start is not None:
        raise validation_error(FieldError("offset", "cannot be combined with after or page"))
    return start


async def take_package(
    request: Request[Any, Any, Any], services: Services, skill_id: str | None = None
) -> JobData | Skill:
    """Return the publish job of the files in a request, or the skill that was made of them in the local profile.

    It waits up to 30 s for the job. Raises VALIDATION_ERROR with every reason to refuse the files, FORBIDDEN, CONFLICT.
    """
    await to_thread.run_sync(check_upload, services, skill_id)
    caller = principal_of(request.scope) if services.settings.profile == "registry" else None
    limits = (DEFAULT_LIMITS.entries + _OTHER_PARTS, services.settings.limits.upload_bytes)
    source: BinaryIO
    with tempfile.TemporaryFile(dir=services.settings.data_dir) as source:
        parts = await take_files(request.content_type, request.stream(), "files", source, limits)
        taken = await to_thread.run_sync(take_upload, services, source, parts, caller, skill_id)
    return await _accepted(services, taken, principal_of(request.scope)) if isinstance(taken, Job) else taken


async def _accepted(services: Services, job: Job, caller: Principal) -> JobData:
    ended = await finished_job(services, job, caller, _WAIT_SECONDS)
    if ended.status == "rejected":
        raise _rejected(ended)
    return ended


def _rejected(job: JobData) -> RegistryError:
    return validation_error(*(FieldError(fault.field or "files", fault.message) for fault in job.errors))
