"""Waivers: administrators say of a finding in a published version that it does no harm, and why."""

from typing import Annotated, Any

import msgspec
from litestar import Request, delete, post
from litestar.params import FromPath, JSONBody, QueryParameter
from msgspec import Meta

from registry.domain.findings import SkillFindings
from registry.http.admission import principal_of
from registry.http.envelope import Ok
from registry.http.routes.parameters import ERRORS, ReadyServices
from registry.http.routes.reviews import Reason
from registry.http.thread_pools import ORDINARY_POOL

_PATH = "/registry/skills/{skill_scope:str}/{skill_name:str}/{version:str}/waivers"
_OPTIONS: dict[str, Any] = {"tags": ["reviews"], "responses": ERRORS, "role": "admin", "status_code": 200}

Rule = Annotated[str, Meta(min_length=1, max_length=100, extra={"rule": "must be the name of a rule"})]
FindingFile = Annotated[str, Meta(max_length=500, extra={"rule": "must be the file of a finding"})]


class NewWaiver(msgspec.Struct, kw_only=True):
    """The body of a waiver: the findings of a rule in a file, null for those about the whole package; and why."""

    rule: Rule
    file: FindingFile | None = None
    reason: Reason


@post(_PATH, **_OPTIONS)
@ORDINARY_POOL.handler
def waive_finding(
    request: Request[Any, Any, Any], services: ReadyServices, version: FromPath[str], data: JSONBody[NewWaiver]
) -> Ok[SkillFindings]:
    """Waive the findings of a rule in a file of a version, and return all findings. They stay visible."""
    by = principal_of(request.scope).name
    return Ok(services.publishing.published.waive(_skill_id(request), version, data.rule, data.file, by, data.reason))


@delete(_PATH, **_OPTIONS)
@ORDINARY_POOL.handler
def remove_waiver(
    request: Request[Any, Any, Any],
    services: ReadyServices,
    version: FromPath[str],
    rule: Annotated[str, QueryParameter(min_length=1, max_length=100, description="The rule of the waiver")],
    file: Annotated[str, QueryParameter(max_length=500, description="The file of the waiver, if it names one")] = "",
) -> Ok[SkillFindings]:
    """Remove a waiver of a version, and return its findings, which count again."""
    return Ok(services.publishing.published.unwaive(_skill_id(request), version, rule, file or None))


def _skill_id(request: Request[Any, Any, Any]) -> str:
    return f"{request.path_params['skill_scope']}/{request.path_params['skill_name']}"


WAIVERS = [waive_finding, remove_waiver]
