"""The search, the list and the public catalog of Agentic Resource Discovery. Every answer is from here alone."""

import re
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Literal

import msgspec
from litestar import Request, Response, get, post
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import JSONBody, QueryParameter
from msgspec import Meta

from registry.catalog.listing import list_cards
from registry.domain.roles import PUBLIC
from registry.errors import FieldError, RegistryError, validation_error
from registry.http.envelope import answer_exception, as_registry_error, error_answer
from registry.http.links import base_url
from registry.http.routes.parameters import ERRORS, ReadyServices, RunningServices
from registry.http.thread_pools import ORDINARY_POOL
from registry.protocols.ard.entries import SKILL_TYPE, Entry, RegistryEntry, Result, entry, identifier, result
from registry.services.container import Services
from registry.services.schemas import Query, SearchBody
from registry.services.search import SearchOutcome, search_task

_TAGS = ["Agentic Resource Discovery"]
_MAX_PAGE = 100
_MAX_OFFSET = 10_000
_TYPE_FILTER = re.compile(r"""\s*type\s*=\s*(['"])([^'"]{1,100})\1\s*""")
_BAD_TOKEN = FieldError("pageToken", "must be the pageToken of the response before")

PageSize = Annotated[int, Meta(ge=1, le=_MAX_PAGE, extra={"rule": f"must be a number from 1 to {_MAX_PAGE}"})]
Token = Annotated[str, Meta(max_length=200, extra={"rule": "must be the pageToken of the response before"})]
Types = Annotated[list[str], Meta(max_length=100, extra={"rule": "must be a text or at most 100 texts"})]


class QueryModel(msgspec.Struct, kw_only=True):
    """What to look for. `filter` may name the `type` of the entries."""

    text: Query
    filter: dict[str, str | Types] = msgspec.field(default_factory=dict)


class SearchRequest(msgspec.Struct, kw_only=True, rename="camel"):
    """The body of a search. Each `federation` is answered from this registry alone."""

    query: QueryModel
    federation: Literal["auto", "referrals", "none"] = "auto"
    page_size: PageSize = 10
    page_token: Token | None = None


class SearchResponse(msgspec.Struct, kw_only=True, rename="camel", omit_defaults=True):
    """A page of results, best first."""

    results: list[Result]
    page_token: str | None = None


class ListResponse(msgspec.Struct, kw_only=True, rename="camel", omit_defaults=True):
    """A page of the list, in the order of creation."""

    items: list[Entry]
    total: int = -1
    page_token: str | None = None


class HostInfo(msgspec.Struct, kw_only=True, rename="camel"):
    """Who serves a catalog."""

    display_name: str = "Skill Registry"


class Catalog(msgspec.Struct, kw_only=True, rename="camel"):
    """The public catalog: it names the search and no skill."""

    spec_version: str = "1.0"
    host: HostInfo
    entries: list[RegistryEntry]


class Fault(msgspec.Struct, kw_only=True, rename="camel"):
    """An error in the form of the draft."""

    error_code: str
    message: str


_FAULTS = {
    status: ResponseSpec(Fault, generate_examples=False, description=str(described.description))
    for status, described in ERRORS.items()
} | {414: ERRORS[414]}


def answer_fault(request: Request[Any, Any, Any], exception: Exception) -> Response[Any]:
    """Turn an exception of a handler into an error in the form of the draft."""
    answer = answer_exception(request, exception)
    error = as_registry_error(exception, request.method)
    if error is None:
        return answer
    headers = {name: value for name, value in error_answer(error).headers.items() if name != "content-length"}
    code = "INVALID_ARGUMENT" if error.code == "VALIDATION_ERROR" else error.code
    body = msgspec.json.encode(Fault(error_code=code, message=error.message))
    return Response(body, status_code=error.status, headers=headers, media_type="application/json")


@post(
    "/ard/search",
    status_code=200,
    tags=_TAGS,
    responses=_FAULTS,
    exception_handlers={Exception: answer_fault},
    role="user",
    changes=False,
)
async def search_entries(
    request: Request[Any, Any, Any], services: ReadyServices, data: JSONBody[SearchRequest]
) -> SearchResponse:
    """Find the skills that fit a text, best first."""
    if unknown := data.query.filter.keys() - {"type"}:
        raise validation_error(FieldError(f"query.filter.{min(unknown)}", "only 'type' can be filtered"))
    if not _admits(data.query.filter.get("type")):
        return SearchResponse(results=[])
    offset = _offset(data.page_token)
    body = SearchBody(query=data.query.text, limit=data.page_size, offset=offset, group=False)
    task = search_task(services, body).then(partial(_results, services, base_url(request, services)))
    results: list[Result] = await request.app.state.searches.run(request.scope, task)
    following = offset + data.page_size
    is_last = len(results) < data.page_size or following > _MAX_OFFSET
    return SearchResponse(results=results, page_token=None if is_last else str(following))


def _results(services: Services, base: str, outcome: SearchOutcome) -> list[Result]:
    services.searched(outcome.data.mode, outcome.data.took_ms / 1000)
    return [result(services, base, skill) for skill in outcome.data.skills]


def _admits(types: str | Sequence[str] | None) -> bool:
    return types is None or SKILL_TYPE in ([types] if isinstance(types, str) else types)


def _offset(token: str | None) -> int:
    if token is None:
        return 0
    if not (token.isascii() and token.isdigit() and 0 < int(token[:10]) <= _MAX_OFFSET):
        raise validation_error(_BAD_TOKEN)
    return int(token)


@get("/ard/agents", tags=_TAGS, responses=_FAULTS, exception_handlers={Exception: answer_fault}, role="user")
async def list_entries(
    request: Request[Any, Any, Any],
    services: ReadyServices,
    size: Annotated[int, QueryParameter(name="pageSize", ge=1, le=_MAX_PAGE, description="Most entries")] = 20,
    token: Annotated[
        str, QueryParameter(name="pageToken", max_length=200, description="The pageToken of the response before")
    ] = "",
    expression: Annotated[
        str, QueryParameter(name="filter", max_length=200, description="type = 'application/ai-skill'")
    ] = "",
) -> ListResponse:
    """List the enabled skills of this registry, in the order of their creation."""
    if expression.strip() and (match := _TYPE_FILTER.fullmatch(expression)) is None:
        raise validation_error(FieldError("filter", f"must be of the form type = '{SKILL_TYPE}'"))
    if expression.strip() and match is not None and not _admits(match[2]):
        return ListResponse(items=[], total=0)
    return await ORDINARY_POOL.run(_listed, services, base_url(request, services), size, token or None)


def _listed(services: Services, base: str, size: int, token: str | None) -> ListResponse:
    try:
        page = list_cards(services.database, size, 0, True, after=token)
    except RegistryError:
        raise validation_error(_BAD_TOKEN) from None
    items = [entry(services, base, card) for card in page.cards]
    last = msgspec.json.decode(page.cards[-1])["id"] if page.has_more else None
    return ListResponse(items=items, total=page.total, page_token=last)


@get("/.well-known/ai-catalog.json", sync_to_thread=False, tags=_TAGS, responses=ERRORS, role=PUBLIC)
def get_catalog(request: Request[Any, Any, Any], running: RunningServices) -> Catalog:
    """Name the search of this registry, for programs that know nothing but its address."""
    base = base_url(request, running)
    search = RegistryEntry(
        identifier=identifier(base, "skill-registry"),
        display_name="Skill Registry",
        url=f"{base}/ard/search",
        description="Searches skills: instructions and files for kinds of tasks of coding agents.",
    )
    return Catalog(host=HostInfo(), entries=[search])


ARD = [search_entries, list_entries, get_catalog]
