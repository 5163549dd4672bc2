"""Search for people and for agents."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

import msgspec
from litestar import Request, get, post
from litestar.di import NamedDependency, Provide
from litestar.params import JSONBody, QueryParameter

from registry.domain.findings import Risk
from registry.domain.models import split_labels
from registry.http import response_cache
from registry.http.envelope import Ok
from registry.http.query_params import Limit, Offset, Page, page
from registry.http.request_state import request_state
from registry.http.routes.parameters import ERRORS, ListPage, ReadyServices
from registry.services.container import Services
from registry.services.schemas import (
    SEARCH_LIMIT,
    ContentDetail,
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
from search.modes import Mode


def search_page(limit: Limit = SEARCH_LIMIT, offset: Offset = 0) -> Page:
    """Return the requested part of the hits, as a dependency."""
    return page(limit, offset)


Labels = Annotated[str, QueryParameter(max_length=2000, description="All of these, with commas between them")]
_ONLY = "Only skills with this value"
_OR_ANY = "Only skills for this one, and those that do not say"
Choice = Annotated[bool | None, QueryParameter(description="Only skills that are, or are not")]


class Attributes(NamedTuple):
    """What filters by who wrote a skill, under which licence, and where it runs."""

    author: str | None
    license: str | None
    os: str | None
    agent: str | None
    model_invocation: bool | None


def attributes(
    author: Annotated[str, QueryParameter(max_length=200, description=_ONLY)] = "",
    licence: Annotated[str, QueryParameter(name="license", max_length=200, description=_ONLY)] = "",
    system: Annotated[str, QueryParameter(name="os", max_length=100, description=_OR_ANY)] = "",
    agent: Annotated[str, QueryParameter(max_length=100, description=_OR_ANY)] = "",
    model_invocation: Choice = None,
) -> Attributes:
    """Return the filters by these attributes in a query string, as a dependency."""
    author, licence, system, agent = (text.strip() for text in (author, licence, system, agent))
    return Attributes(author or None, licence or None, system or None, agent or None, model_invocation)


def filters(
    attributes: NamedDependency[Attributes],
    tags: Labels = "",
    capabilities: Labels = "",
    source: Annotated[str, QueryParameter(max_length=100, description=_ONLY)] = "",
    in_scope: Annotated[str, QueryParameter(name="scope", max_length=100, description=_ONLY)] = "",
    installed: Choice = None,
    enabled: Choice = None,
    max_risk: Annotated[Risk | None, QueryParameter(description="Only skills with findings no graver")] = None,
) -> SearchFilters:
    """Return the search filters of a query string, as a dependency."""
    return SearchFilters(
        tags=split_labels(tags),
        capabilities=split_labels(capabilities),
        source=source or None,
        scope=in_scope or None,
        author=attributes.author,
        license=attributes.license,
        installed=installed,
        enabled=enabled,
        max_risk=max_risk,
        os=attributes.os,
        agent=attributes.agent,
        model_invocation=attributes.model_invocation,
    )


class Shown(msgspec.Struct):
    """What a search adds to each hit."""

    content: ContentDetail
    explain: bool
    highlight: bool
    group: bool


def shown(
    content: Annotated[ContentDetail, QueryParameter(description="How much of each skill's text to add")] = "none",
    explain: Annotated[bool, QueryParameter(description="Add to each hit why it has its rank")] = False,
    highlight: Annotated[bool, QueryParameter(description="Add to each hit the passage that matched")] = False,
    group: Annotated[bool, QueryParameter(description="Give near-copies one place")] = True,
) -> Shown:
    """Return what a query string wants to see of each hit, as a dependency."""
    return Shown(content, explain, highlight, group)


_FILTER_PARAMETERS = MappingProxyType(
    {name: name for name in ("tags", "capabilities", "source", "installed", "enabled", "max_risk")}
    | {"scope": "in_scope"}
)
"""The parameter of `filters` for each name in a query string."""

_ATTRIBUTE_PARAMETERS = MappingProxyType(
    {name: name for name in ("author", "agent", "model_invocation")} | {"license": "licence", "os": "system"}
)
"""The same for `attributes`."""


def search_body(values: Mapping[str, Any]) -> SearchBody:
    """Return the search that the values of a valid query string ask for, as `search_by_query` makes it."""

    def given(names: Mapping[str, str]) -> dict[str, Any]:
        return {parameter: values[name] for name, parameter in names.items() if name in values}

    shown = search_page(**given({"limit": "limit", "offset": "offset"}))
    chosen = given({name: name for name in ("mode", "content", "explain", "highlight", "group")})
    wanted = filters(attributes(**given(_ATTRIBUTE_PARAMETERS)), **given(_FILTER_PARAMETERS))
    return SearchBody(query=values["q"].strip(), limit=shown.limit, offset=shown.offset, filters=wanted, **chosen)


async def _search(request: Request[Any, Any, Any], services: Services, body: SearchBody) -> Ok[SearchData]:
    found = await request.app.state.searches.run(request.scope, search_task(services, body))
    return answered(request.scope, services, found)


def answered(scope: Any, services: Services, found: SearchOutcome) -> Ok[SearchData]:
    """Return the response to a search, count it, and allow it to be cached while it is true."""
    services.searched(found.data.mode, found.data.took_ms / 1000)
    for name in request_state(scope).ignored_query:
        found.data.warnings.append(f"ignored: there is no query parameter '{name}'")
    _keep(scope, found.holds_at)
    return Ok(found.data)


def resolved(scope: Any, found: ResolveOutcome) -> Ok[ResolveData]:
    """Return the response to an agent's search, and allow it to be cached while it is true."""
    _keep(scope, found.holds_at)
    return Ok(found.data)


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
    found = await request.app.state.searches.run(request.scope, resolve_task(services, data))
    return resolved(request.scope, found)


@get(
    "/search",
    tags=["search"],
    responses=ERRORS,
    role="user",
    dependencies={
        "attributes": Provide(attributes, sync_to_thread=False),
        "filters": Provide(filters, sync_to_thread=False),
        "page": Provide(search_page, sync_to_thread=False),
        "shown": Provide(shown, sync_to_thread=False),
    },
)
async def search_by_query(
    request: Request[Any, Any, Any],
    services: ReadyServices,
    page: ListPage,
    filters: NamedDependency[SearchFilters],
    shown: NamedDependency[Shown],
    q: Annotated[str, QueryParameter(pattern=r"\S", description="What to look for")],
    mode: Annotated[Mode, QueryParameter(description="Rank by words, by meaning, or both")] = "auto",
) -> Ok[SearchData]:
    """Find the skills that fit a query, best first."""
    body = SearchBody(
        query=q.strip(),
        limit=page.limit,
        offset=page.offset,
        mode=mode,
        content=shown.content,
        filters=filters,
        explain=shown.explain,
        highlight=shown.highlight,
        group=shown.group,
    )
    return await _search(request, services, body)


SEARCH = [search, search_by_query, resolve]
