"""Finding skills: for people, and for agents."""

from typing import Annotated

from anyio import to_thread
from litestar import get, post
from litestar.params import Parameter

from registry.answers import (
    ContentDetail,
    ResolveBody,
    ResolveData,
    SearchBody,
    SearchData,
    resolve_data,
    resolve_request,
    search_data,
    search_request,
)
from registry.envelope import Ok
from registry.services import Services
from search.types import Mode


async def _search(services: Services, body: SearchBody) -> Ok[SearchData]:
    # What answers from memory takes less time than a change of threads.
    if services.engine.search.is_quick(search_request(body)):
        return Ok(search_data(services, body))
    return Ok(await to_thread.run_sync(search_data, services, body))


@post("/search", status_code=200, tags=["search"], role="user")
async def search(services: Services, data: SearchBody) -> Ok[SearchData]:
    """Find the skills that fit a query, best first."""
    return await _search(services, data)


@post("/resolve", status_code=200, tags=["search"], role="user")
async def resolve(services: Services, data: ResolveBody) -> Ok[ResolveData]:
    """Find the skills that fit an agent's prompt, and where to load them from."""
    if services.engine.search.is_quick(resolve_request(data)):
        return Ok(resolve_data(services, data))
    return Ok(await to_thread.run_sync(resolve_data, services, data))


SEARCH = [search, resolve]
