"""A batch: many skills created with one request."""

from dataclasses import dataclass
from typing import Any

import msgspec
from litestar import Request, post
from litestar.openapi.spec import OpenAPIMediaType, OpenAPIType, Operation, RequestBody, Schema
from msgspec import UNSET, UnsetType

from registry.errors import unsupported_media_type
from registry.http.envelope import ErrorBody, Ok, error_body, error_of
from registry.http.request_state import request_state
from registry.http.routes.parameters import ERRORS, ReadyServices
from registry.http.thread_pools import BATCH_POOL
from registry.services.skill_batches import CreatedSkill, Outcome, create_skills, lines_of

_MEDIA_TYPES = ("application/x-ndjson", "application/jsonl", "application/ndjson")


class LineResult(msgspec.Struct, kw_only=True):
    """What became of a line, in the form of the envelope: `data`, or `error`."""

    line: int
    success: bool
    data: CreatedSkill | UnsetType = UNSET
    error: ErrorBody | UnsetType = UNSET


class BatchData(msgspec.Struct, kw_only=True):
    """How many lines created a skill, how many were refused, and what became of each."""

    created: int
    failed: int
    results: list[LineResult]


@dataclass
class _Lines(Operation):
    """The body in the OpenAPI document: lines of JSON."""

    def __post_init__(self) -> None:
        schema = Schema(
            type=OpenAPIType.STRING,
            description="Lines of JSON (NDJSON): each is the body of `POST /api/v1/skills` that creates a skill",
        )
        self.request_body = RequestBody(content={_MEDIA_TYPES[0]: OpenAPIMediaType(schema=schema)}, required=True)


@post(
    "/skills:batch",
    status_code=200,
    tags=["skills"],
    responses=ERRORS,
    operation_class=_Lines,
    role="manager",
    operations=("publish",),
    body_limit="batch_body_bytes",
    audits_each=True,
)
async def create_batch(request: Request[Any, Any, Any], services: ReadyServices) -> Ok[BatchData]:
    """Create up to 1,000 skills, one from each line of JSON. A line that is refused stops no other."""
    request.app.state.batches.begin(request.scope)
    body = await request.body()
    if body and request.content_type[0].lower() not in _MEDIA_TYPES:
        raise unsupported_media_type(f"Send lines of JSON with 'Content-Type: {_MEDIA_TYPES[0]}'")
    lines = lines_of(body)
    outcomes = await BATCH_POOL.run(create_skills, services, lines, request_state(request.scope).principal)
    results = [_line_result(request, outcome) for outcome in outcomes]
    created = sum(result.success for result in results)
    return Ok(BatchData(created=created, failed=len(results) - created, results=results))


def _line_result(request: Request[Any, Any, Any], outcome: Outcome) -> LineResult:
    line, result = outcome
    if isinstance(result, Exception):
        return LineResult(line=line, success=False, error=error_body(error_of(request, result)))
    return LineResult(
        line=line, success=True, data=CreatedSkill(id=result.id, version=result.version, etag=result.etag)
    )
