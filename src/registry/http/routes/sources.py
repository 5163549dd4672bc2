"""Sources: list, add, remove, refresh, and what they list."""

from typing import Annotated, Any, Literal
from urllib.parse import quote

import msgspec
from litestar import Request, Response, delete, get, post
from litestar.params import FromPath, JSONBody, QueryParameter

from registry.domain.api import API
from registry.domain.hosts import is_loopback_host
from registry.domain.source_entry import NewSource
from registry.errors import forbidden
from registry.http.conditional_requests import tagged
from registry.http.envelope import Ok
from registry.http.routes.parameters import ERRORS, ReadyServices
from registry.http.thread_pools import ORDINARY_POOL, OUTGOING_POOL
from registry.sources.marketplace_documents import claude_document, flat_document
from registry.sources.schemas import AllSkills, Marketplace, SourceData, SourceSkills

DocumentForm = Annotated[
    Literal["flat", "claude"],
    QueryParameter(name="format", description="Our flat form, or the plugin form of Claude Code without an envelope"),
]


class SourceRemoved(msgspec.Struct, kw_only=True):
    """What was removed."""

    name: str
    message: str


class PluginMarketplace(msgspec.Struct, kw_only=True):
    """A marketplace document in the plugin form of Claude Code."""

    name: str
    owner: dict[str, str]
    plugins: list[dict[str, Any]]


@get("/registry/sources", tags=["sources"], responses=ERRORS, role="user")
@ORDINARY_POOL.handler
def list_sources(request: Request[Any, Any, Any], services: ReadyServices) -> Response[Ok[list[SourceData]]]:
    """List the sources, the skills directory first, then by priority."""
    return tagged(request, Ok(services.sources.list()))


@post("/registry/sources", tags=["sources"], responses=ERRORS, role="admin", fails={409})
@OUTGOING_POOL.handler
def add_source(services: ReadyServices, data: JSONBody[NewSource]) -> Response[Ok[SourceData]]:
    """Add a source and read it. A source that cannot be read is added too; its error is in the response.

    Without `type`, the service finds out what is at `url`. `api_key` is the credential for a registry that not
    everybody may read; no response shows it.
    """
    if data.path is not None and not is_loopback_host(services.settings.server.host):
        raise forbidden("Folders of this machine are sources only where the service listens on loopback")
    added = services.sources.add(data)
    location = f"{API}/registry/sources/{quote(added.name)}/skills"
    return Response(Ok(added), status_code=201, headers={"Location": location})


@delete("/registry/sources/{name:str}", status_code=200, tags=["sources"], responses=ERRORS, role="admin", fails={409})
@ORDINARY_POOL.handler
def remove_source(services: ReadyServices, name: FromPath[str]) -> Ok[SourceRemoved]:
    """Remove an added source and what it listed. Installed skills stay."""
    services.sources.remove(name)
    return Ok(SourceRemoved(name=name, message=f"Source '{name}' removed"))


@get("/registry/skills", tags=["sources"], responses=ERRORS, role="user")
@ORDINARY_POOL.handler
def list_all_skills(services: ReadyServices) -> Ok[AllSkills]:
    """List the skills of every source, and the errors of sources that could not be read."""
    return Ok(services.sources.all_skills())


@get("/registry/sources/{name:str}/skills", tags=["sources"], responses=ERRORS, role="user")
@ORDINARY_POOL.handler
def list_source_skills(services: ReadyServices, name: FromPath[str]) -> Ok[SourceSkills]:
    """List the skills of one source."""
    return Ok(services.sources.skills(name))


@get("/registry/sources/{name:str}/marketplace", tags=["sources"], responses=ERRORS, role="user")
@ORDINARY_POOL.handler
def get_marketplace(
    services: ReadyServices, name: FromPath[str], form: DocumentForm = "flat"
) -> Response[Ok[Marketplace] | PluginMarketplace]:
    """Return a source as a marketplace document."""
    listed = services.sources.listed(name)
    if form == "claude":
        return Response(msgspec.convert(claude_document(name, listed), PluginMarketplace))
    return Response(Ok(flat_document(listed)))


@post("/registry/refresh", status_code=200, tags=["sources"], responses=ERRORS, role="manager")
@OUTGOING_POOL.handler
def refresh_sources(services: ReadyServices) -> Ok[AllSkills]:
    """Refresh every source and list their skills. Slow ones finish in the background."""
    services.sources.refresh()
    return Ok(services.sources.all_skills())


SOURCES = [
    list_sources,
    add_source,
    remove_source,
    list_all_skills,
    list_source_skills,
    get_marketplace,
    refresh_sources,
]
