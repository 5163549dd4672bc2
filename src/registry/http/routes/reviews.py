"""Reviews: packages that wait to be published, the decisions, and waivers of findings that do no harm."""

from datetime import datetime
from typing import Annotated, Any

import msgspec
from litestar import Request, Response, delete, get, post
from litestar.params import FromPath, JSONBody, QueryParameter
from msgspec import Meta

from registry.catalog.skill_backend import SkillFile
from registry.domain.findings import SkillFindings
from registry.http.admission import principal_of
from registry.http.cursors import paged
from registry.http.envelope import Ok
from registry.http.file_forms import raw_file_response
from registry.http.routes.parameters import ERRORS, ListPage, ReadyServices, skill_id
from registry.http.thread_pools import ORDINARY_POOL, PACKAGE_POOL
from registry.publish.reviews import Review, ReviewDetail
from registry.publish.service import JobData

_OPTIONS: dict[str, Any] = {"tags": ["reviews"], "responses": ERRORS, "role": "manager"}
_EACH = "/registry/reviews/{job_id:str}"

Reason = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=1000,
        pattern=r"\S",
        extra={"rule": "must be 1 to 1,000 characters, not only white space", "multiline": True},
    ),
]


class NewReviewDecision(msgspec.Struct, kw_only=True):
    """The body of a decision: why. The publisher reads it."""

    reason: Reason


@get("/registry/reviews", **_OPTIONS)
@ORDINARY_POOL.handler
def list_reviews(
    request: Request[Any, Any, Any], services: ReadyServices, page: ListPage
) -> Response[Ok[list[Review]]]:
    """List the packages that wait for a review in the caller's scope, to administrators in all, the oldest first."""
    waiting, total = services.publishing.reviews.waiting(principal_of(request.scope), page.limit, page.offset)
    return paged(request, services, waiting, total, page)


@get(_EACH, **_OPTIONS)
@ORDINARY_POOL.handler
def get_review(request: Request[Any, Any, Any], services: ReadyServices, job_id: FromPath[str]) -> Ok[ReviewDetail]:
    """Return a package that waits for a review, or did, with its findings and its files."""
    return Ok(services.publishing.review(job_id, principal_of(request.scope)))


@get(f"{_EACH}/files/{{path:path}}", media_type="*/*", fails={429}, **_OPTIONS)
async def get_review_file(
    request: Request[Any, Any, Any], services: ReadyServices, job_id: FromPath[str]
) -> Response[Any]:
    """Return one file of a package that waits for a review: text as plain text, anything else to be saved."""
    path, caller = str(request.path_params["path"]).removeprefix("/"), principal_of(request.scope)
    held = await PACKAGE_POOL.run(services.publishing.reviews.file, job_id, path, caller)
    seconds = datetime.fromisoformat(held.held_at).timestamp()
    file = SkillFile(path.rpartition("/")[2], held.file.size, seconds, f'"{held.file.sha256}"', held.content)
    return await raw_file_response(request, file)


@post(f"{_EACH}/approve", status_code=200, fails={409}, **_OPTIONS)
@ORDINARY_POOL.handler
def approve_review(
    request: Request[Any, Any, Any],
    services: ReadyServices,
    job_id: FromPath[str],
    data: JSONBody[NewReviewDecision],
) -> Ok[JobData]:
    """Approve a held package, which is published then. Who published it may not."""
    return Ok(services.publishing.decide(job_id, principal_of(request.scope), "approved", data.reason))


@post(f"{_EACH}/reject", status_code=200, fails={409}, **_OPTIONS)
@ORDINARY_POOL.handler
def reject_review(
    request: Request[Any, Any, Any],
    services: ReadyServices,
    job_id: FromPath[str],
    data: JSONBody[NewReviewDecision],
) -> Ok[JobData]:
    """Reject a held package, whose number is free again. Who published it may not."""
    return Ok(services.publishing.decide(job_id, principal_of(request.scope), "rejected", data.reason))


_WAIVERS = "/registry/skills/{skill_scope:str}/{skill_name:str}/{version:str}/waivers"
_WAIVING: dict[str, Any] = {"tags": ["reviews"], "responses": ERRORS, "role": "admin", "status_code": 200}

Rule = Annotated[str, Meta(min_length=1, max_length=100, extra={"rule": "must be the name of a rule"})]
FindingFile = Annotated[str, Meta(max_length=500, extra={"rule": "must be the file of a finding"})]


class NewWaiver(msgspec.Struct, kw_only=True):
    """The body of a waiver: the findings of a rule in a file, null for those about the whole package; and why."""

    rule: Rule
    file: FindingFile | None = None
    reason: Reason


@post(_WAIVERS, **_WAIVING)
@ORDINARY_POOL.handler
def waive_finding(
    request: Request[Any, Any, Any], services: ReadyServices, version: FromPath[str], data: JSONBody[NewWaiver]
) -> Ok[SkillFindings]:
    """Waive the findings of a rule in a file of a version, and return all findings. They stay visible."""
    by = principal_of(request.scope).name
    return Ok(services.publishing.published.waive(skill_id(request), version, data.rule, data.file, by, data.reason))


@delete(_WAIVERS, **_WAIVING)
@ORDINARY_POOL.handler
def remove_waiver(
    request: Request[Any, Any, Any],
    services: ReadyServices,
    version: FromPath[str],
    rule: Annotated[str, QueryParameter(min_length=1, max_length=100, description="The rule of the waiver")],
    file: Annotated[str, QueryParameter(max_length=500, description="The file of the waiver, if it names one")] = "",
) -> Ok[SkillFindings]:
    """Remove a waiver of a version, and return its findings, which count again."""
    return Ok(services.publishing.published.unwaive(skill_id(request), version, rule, file or None))


REVIEWS = [list_reviews, get_review, get_review_file, approve_review, reject_review]
WAIVERS = [waive_finding, remove_waiver]
