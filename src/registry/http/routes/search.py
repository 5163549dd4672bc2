"""Search for people and for agents."""

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any

import msgspec
from litestar import Request, get, post
from litestar.di import NamedDependency, Provide
from litestar.params import JSONBody, QueryParameter

from registry.http import response_cache
from registry.http.envelope import Ok
from registry.http.query_params import Limit, Offset, Page, Parameter, dependency, page
from registry.http.request_state import request_state
from registry.http.routes.parameters import ERRORS, ListPage, ReadyServices
from registry.services.container import Services
from registry.services.schemas import (
    FILTERS,
    SEARCH_LIMIT,
    FilterValues,
    ResolveBody,
    ResolveData,
    SearchBody,
    SearchData,
    SearchFilters,
)
from registry.services.search import (
    ResolveOutcome,
    SearchOutcome,
    resolve_task,
    search_task,
)


def search_page(limit: Limit = SEARCH_LIMIT, offset: Offset = 0) -> Page:
    """Return the requested part of the hits, as a dependency."""
    return page(limit, offset)


def filters_of(values: Mapping[str, Any]) -> SearchFilters:
    """Return the filters that the parameters of a query string are: `not.author` is `author` in `not`."""
    members: dict[str, Any] = {}
    unwanted: dict[str, Any] = {}
    for name, value in values.items():
        kind, _, field = name.rpartition(".")
        items = _several(value, split=field in _LABELS) if isinstance(value, list) else value
        if items not in (None, []):
            (unwanted if kind else members)[field] = items
    return SearchFilters(**members, not_=FilterValues(**unwanted) if unwanted else None)


def _several(texts: Sequence[str], *, split: bool) -> list[str]:
    """Return the values of a parameter, with `split` also those between commas without a backslash before them."""
    each = (part.replace("\\,", ",") for text in texts for part in _COMMA.split(text)) if split else texts
    return list(dict.fromkeys(part.strip() for part in each if part.strip()))


_COMMA = re.compile(r"(?<!\\),")


_LABELS = frozenset({"tags", "any_tags", "capabilities", "any_capabilities"})
_TEXTS = list[str] | None


def _filter_parameters() -> Iterator[Parameter]:
    for field in msgspec.structs.fields(FilterValues):
        is_text = field.name not in ("installed", "enabled", "max_risk", "model_invocation")
        kind: Any = _TEXTS if is_text else field.type
        several = "; with commas between them, or repeated" if field.name in _LABELS else "; repeated: any of them"
        about = f"{FILTERS[field.name]}{several if is_text else ''}"
        yield Parameter(field.name, kind, None, about)
        yield Parameter(f"not.{field.name}", kind, None, f"Without: {about[:1].lower()}{about[1:]}")


filters = dependency([*_filter_parameters()], filters_of)
"""The filters of a query string, as a dependency."""

_OPTIONS = MappingProxyType(
    {
        "mode": "Rank by words, by meaning, or both",
        "min_score": "Only skills with at least this score",
        "content": "How much of each skill's text to add",
        "explain": "Add to each skill why it has its rank",
        "highlight": "Add to each skill the passage that matched",
        "facets": "Count the values of all skills that are not weak",
        "group": "Give near-copies one place",
        "weak": "Also skills of low relevance",
        "sort": "The order; another one than relevance leaves out weak skills",
    }
)
"""The fields of `SearchBody` that a query string has too."""


def _options_of(values: Mapping[str, Any]) -> dict[str, Any]:
    return dict(values)


_DECLARED = {field.name: field for field in msgspec.structs.fields(SearchBody)}
_OPTION_PARAMETERS = [
    Parameter(name, _DECLARED[name].type, _DECLARED[name].default, about) for name, about in _OPTIONS.items()
]
options = dependency(_OPTION_PARAMETERS, _options_of)
"""What a query string wants besides, as a dependency: fields of `SearchBody`."""


def search_body(values: Mapping[str, Any]) -> SearchBody:
    """Return the search that the values of a valid query string ask for, as `search_by_query` makes it."""
    hits_page = search_page(**{name: values[name] for name in ("limit", "offset") if name in values})
    chosen = {name: value for name, value in values.items() if name in _OPTIONS}
    names = {name: value for name, value in values.items() if name.rpartition(".")[2] in FILTERS}
    return _body(values["q"], hits_page, filters_of(names), chosen)


def _body(query: str, page: Page, filters: SearchFilters, chosen: Mapping[str, Any]) -> SearchBody:
    return SearchBody(query=query.strip(), limit=page.limit, offset=page.offset, filters=filters, **chosen)


async def _search(request: Request[Any, Any, Any], services: Services, body: SearchBody) -> Ok[SearchData]:
    outcome = await request.app.state.searches.run(request.scope, search_task(services, body))
    return answered(request.scope, services, outcome)


def answered(scope: Any, services: Services, outcome: SearchOutcome) -> Ok[SearchData]:
    """Return the response to a search, count it, and allow it to be cached while it is true."""
    services.searched(outcome.data.mode, outcome.data.took_ms / 1000)
    for name in request_state(scope).ignored_query:
        outcome.data.warnings.append(f"ignored: there is no query parameter '{name}'")
    _keep(scope, outcome.holds_at)
    return Ok(outcome.data)


def resolved(scope: Any, outcome: ResolveOutcome) -> Ok[ResolveData]:
    """Return the response to an agent's search, and allow it to be cached while it is true."""
    _keep(scope, outcome.holds_at)
    return Ok(outcome.data)


def _keep(scope: Any, holds_at: int | None) -> None:
    if holds_at is not None:
        response_cache.keep(scope, holds_at)


@post("/search", status_code=200, tags=["search"], responses=ERRORS, role="user", changes=False)
async def search(request: Request[Any, Any, Any], data: JSONBody[SearchBody]) -> Ok[SearchData]:
    """Find the skills that fit a query, best first."""
    # The most frequent route has no dependencies: resolving them takes as long as a keyword search.
    services: Services = request.app.state.services
    return await _search(request, await services.when_ready(), data)


@post("/resolve", status_code=200, tags=["search"], responses=ERRORS, role="user", changes=False)
async def resolve(
    request: Request[Any, Any, Any], services: ReadyServices, data: JSONBody[ResolveBody]
) -> Ok[ResolveData]:
    """Find the skills that fit an agent's prompt, and where to load them from."""
    outcome = await request.app.state.searches.run(request.scope, resolve_task(services, data))
    return resolved(request.scope, outcome)


@get(
    "/search",
    tags=["search"],
    responses=ERRORS,
    role="user",
    dependencies={
        "filters": Provide(filters, sync_to_thread=False),
        "page": Provide(search_page, sync_to_thread=False),
        "options": Provide(options, sync_to_thread=False),
    },
)
async def search_by_query(
    request: Request[Any, Any, Any],
    services: ReadyServices,
    page: ListPage,
    filters: NamedDependency[SearchFilters],
    options: NamedDependency[dict[str, Any]],
    q: Annotated[str, QueryParameter(pattern=r"\S", description="What to look for")],
) -> Ok[SearchData]:
    """Find the skills that fit a query, best first."""
    return await _search(request, services, _body(q, page, filters, options))


SEARCH = [search, search_by_query, resolve]
