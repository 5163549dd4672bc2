"""The application: the routes of each profile, and the middleware around them."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from copy import copy
from types import MappingProxyType
from typing import Any, Self

from anyio import to_thread
from litestar import HttpMethod, Litestar, Request, Response, Router, route
from litestar.config.app import AppConfig
from litestar.config.compression import CompressionConfig
from litestar.datastructures import State
from litestar.di import Provide
from litestar.plugins import PluginProtocol
from litestar.plugins.core import MsgspecDIPlugin

from registry.config.groups.protocols import ProtocolName
from registry.domain.api import API
from registry.errors import RegistryError, not_found
from registry.http.compression import COMPRESSED_FROM_BYTES, LEVEL, Compression
from registry.http.envelope import HttpResponse, answer_exception, error_answer
from registry.http.openapi.schemas import CardSchemas, StructSchemas
from registry.http.query_params import StrictQueryParams, page
from registry.http.request_body import StrictRequest
from registry.http.requests_in_progress import RequestsInProgress
from registry.http.routes.account import ACCOUNT
from registry.http.routes.admin import ADMINISTRATION
from registry.http.routes.advisories import ADVISORIES
from registry.http.routes.auth import AUTH
from registry.http.routes.badge import get_badge
from registry.http.routes.change_feed import CHANGE_FEED, CHANGES
from registry.http.routes.code import CODE_V1, READ_VERSIONS, VERSIONS
from registry.http.routes.content import CONTENT
from registry.http.routes.discovery import DISCOVERY
from registry.http.routes.feed import FEED
from registry.http.routes.feedback import FEEDBACK
from registry.http.routes.guards import local_guards, may_change, require_role
from registry.http.routes.index import INDEX
from registry.http.routes.log import LOG
from registry.http.routes.manifest import MANIFEST, MANIFEST_ALONE
from registry.http.routes.metrics import METRICS
from registry.http.routes.mirrors import MIRROR_PREFIX, MIRRORS
from registry.http.routes.pages import PAGES, openapi_config, page_not_found, registry_page
from registry.http.routes.parameters import ready_services
from registry.http.routes.plain_files import PLAIN_FILES
from registry.http.routes.private_scopes import PRIVATE_SCOPES
from registry.http.routes.publish import PACKAGES, PUBLISH
from registry.http.routes.publishers import OIDC, PUBLISHERS
from registry.http.routes.reindex import REINDEX
from registry.http.routes.reviews import REVIEWS, WAIVERS
from registry.http.routes.search import SEARCH, search
from registry.http.routes.service import PROBES, SERVICE
from registry.http.routes.sign_in import SIGN_IN
from registry.http.routes.skill_batches import create_batch
from registry.http.routes.skills import INSTALLS, SKILLS, upgrade_skills
from registry.http.routes.sources import SOURCES
from registry.http.routes.version_files import VERSION_FILES
from registry.http.routes.withdrawals import WITHDRAWALS
from registry.http.scope_door import path_in_scope
from registry.http.search_turns import SearchTurns
from registry.http.thread_pools import BATCH_POOL, PACKAGE_POOL
from registry.protocols.apm import APM, answer_problem
from registry.protocols.apm import PREFIX as APM_PREFIX
from registry.protocols.ard import ARD
from registry.protocols.clawhub import CLAWHUB
from registry.protocols.clawhub.errors import PREFIX as CLAWHUB_PREFIX
from registry.protocols.clawhub.errors import answer_plainly
from registry.protocols.git import GIT
from registry.protocols.git.marketplaces import Marketplaces
from registry.protocols.mcp.route import MCP, MCP_PATH, answer_refusal
from registry.protocols.mcp.route import refusal as mcp_refusal
from registry.protocols.tree import TREE
from registry.protocols.v1_skills import V1_SKILLS
from registry.protocols.well_known import WELL_KNOWN
from registry.runtime.processors import usable_processors
from registry.services.container import Services
from registry.services.ticketed_uploads import TicketedUploads


@route(
    ["/api", "/api/{rest:path}"],
    http_method=[HttpMethod.GET, HttpMethod.POST, HttpMethod.PUT, HttpMethod.PATCH, HttpMethod.DELETE],
    sync_to_thread=False,
    include_in_schema=False,
    changes=False,
)
def to_version_1(request: Request[Any, Any, Any]) -> Response[bytes]:
    """Redirect an unversioned request to version 1 with its method and body (profile B, rule 1 of *Versioning*)."""
    rest = request.scope["raw_path"].decode("latin-1").removeprefix("/api")
    if rest.startswith(("/v1/", "//")) or rest in ("", "/", "/v1"):
        raise not_found("Route")
    query = request.scope["query_string"].decode("latin-1")
    location = f"{API}{rest}{'?' if query else ''}{query}"
    return Response(b"", status_code=308, media_type="text/plain", headers={"Location": location})


_SKILL_ROUTES = [
    *SKILLS,
    get_badge,
    *INSTALLS,
    create_batch,
    upgrade_skills,
    *CONTENT,
    *SEARCH,
    *FEEDBACK,
    *REINDEX,
]

PROFILE_B: Mapping[str, Sequence[Any]] = MappingProxyType(
    {
        "/": [*PROBES, *PAGES, *PLAIN_FILES, *INDEX, *FEED, to_version_1],
        API: [*_SKILL_ROUTES, *SOURCES, *READ_VERSIONS, *VERSION_FILES, *MANIFEST, *SERVICE],
        "/v1": V1_SKILLS,
        MIRROR_PREFIX: MIRRORS,
    }
)
"""The local profile: the routes below `/`, `/api/v1` and `/v1`, without authentication."""

_ACCESS = [*ACCOUNT, *PUBLISHERS]
_GUARDED: dict[str, Any] = {"guards": [require_role]}

PROFILE_A: Sequence[Any] = [
    *PROBES,
    *PAGES,
    *PLAIN_FILES,
    Router("/auth", route_handlers=[*AUTH, *OIDC, *SIGN_IN], **_GUARDED),
    Router("/api/code/v1", route_handlers=CODE_V1, **_GUARDED),
    Router("/v1", route_handlers=V1_SKILLS, **_GUARDED),
    Router("/api", route_handlers=[*SKILLS, search, *FEEDBACK, *REINDEX, *SERVICE], **_GUARDED),
    Router(
        API,
        route_handlers=[
            *_SKILL_ROUTES,
            *SOURCES,
            *VERSIONS,
            *VERSION_FILES,
            *SERVICE,
            *LOG,
            *ACCOUNT,
            *ADMINISTRATION,
            *PUBLISHERS,
            *PRIVATE_SCOPES,
        ],
        **_GUARDED,
    ),
    Router("/", route_handlers=[*METRICS, *INDEX, *FEED], **_GUARDED),
    Router(MIRROR_PREFIX, route_handlers=MIRRORS, **_GUARDED),
]
"""The registry profile: every route is behind the guard, except probes, pages and public routes."""

REGISTRY_MODE: Sequence[Any] = [
    registry_page,
    Router("/api", route_handlers=[*SOURCES, *MANIFEST_ALONE, *PUBLISH, *WITHDRAWALS, *CHANGE_FEED], **_GUARDED),
    Router(
        API,
        route_handlers=[*MANIFEST, *PUBLISH, *REVIEWS, *WAIVERS, *WITHDRAWALS, *ADVISORIES, *CHANGE_FEED],
        **_GUARDED,
    ),
    Router("/", route_handlers=[*PACKAGES, *DISCOVERY], **_GUARDED),
]
"""What registry mode adds to the registry profile: sources, the manifest, publishing, discovery; behind the guard."""


PROTOCOLS: Mapping[ProtocolName, Sequence[Any]] = MappingProxyType(
    {"apm": APM, "ard": ARD, "clawhub": CLAWHUB, "git": GIT, "mcp": MCP, "tree": TREE, "well_known": WELL_KNOWN}
)
"""What `protocols.enabled` adds to both profiles, behind the guard in the registry profile."""


class _OwnRouter(Router):
    """A router of one application. The framework copies a `Router`, which others may use too, in a sixth of a start."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


def _guarding_changes(path: str, handlers: Sequence[Any], guards: Sequence[Any]) -> Router:
    """Return the handlers below a path, with guards for those that may change anything.

    For each guard of a request the framework copies the handler. Requests that only read are spared that.
    """
    guarded = []
    for handler in handlers:
        guarded_handler = copy(handler)
        if may_change(handler):
            guarded_handler.guards = [*(handler.guards or ()), *guards]
        guarded.append(guarded_handler)
    return _OwnRouter(path, route_handlers=guarded)


class _Application(Litestar):
    """Litestar without its plugins for pydantic, attrs and OpenTelemetry, which no route uses.

    Importing pydantic takes 0.2 s. The packages of OpenTelemetry are imported where traces are switched on, not where
    they are merely installed.
    """

    @staticmethod
    def _get_default_plugins(plugins: list[PluginProtocol]) -> list[PluginProtocol]:
        return [*plugins, MsgspecDIPlugin()]

    @staticmethod
    def _patch_opentelemetry_middleware(config: AppConfig) -> AppConfig:
        return config


def answer_error(request: Request[Any, Any, Any], exception: Exception) -> Response[Any]:
    """Turn an exception into a response: in the envelope, as the protocol of the path has it, or the page."""
    if (page := page_not_found(request, exception)) is not None:
        return page
    path = path_in_scope(request.scope["path"])  # who is no member is answered outside of the scope
    if path == MCP_PATH:
        return answer_refusal(request, exception)
    if path.startswith(f"{APM_PREFIX}/"):
        return answer_problem(request, exception)
    is_clawhub = path.startswith(f"{CLAWHUB_PREFIX}/")
    return answer_plainly(request, exception) if is_clawhub else answer_exception(request, exception)


def refused_early(path: str, refusal: RegistryError) -> HttpResponse:
    """Return the response to a request that is refused before the routes, as the protocol of the path has it."""
    return mcp_refusal(refusal) if path_in_scope(path) == MCP_PATH else error_answer(refusal)


_BATCHES_OF_CALLER = 4
"""Batches in progress of one caller, each of which may be in memory."""


def _state(services: Services) -> State:
    """Return what the layers of the application share."""
    limits = services.settings.limits
    shared = {
        "services": services,
        "limits": limits,
        "searches": SearchTurns(services.database, usable_processors(), limits.searches_waiting),
        # As many as may wait for a thread, so that none is refused one in the middle.
        "downloads": RequestsInProgress("downloads", of_caller=limits.downloads, of_all=PACKAGE_POOL.queue),
        "batches": RequestsInProgress("batches", of_caller=_BATCHES_OF_CALLER, of_all=BATCH_POOL.queue),
        "marketplaces": Marketplaces(services),
        "ticketed_uploads": TicketedUploads(services.settings.data_dir, limits.upload_bytes, services.clock),
    }
    return State(shared, deep_copy=False)


def _compression() -> CompressionConfig:
    packages = ["^(/mirrors/[^/]+)?/packages/", f"^{APM_PREFIX}/v1/packages/"]
    return CompressionConfig(
        backend="gzip",
        gzip_compress_level=LEVEL,
        middleware_class=Compression,
        minimum_size=COMPRESSED_FROM_BYTES,
        exclude=["/healthz", "/readyz", *packages, f"{CHANGES}$"],
        exclude_opt_key="packed",
    )


def create_app(services: Services) -> Litestar:
    """Return the application over built services. Its lifespan starts and closes them."""
    settings, state = services.settings, _state(services)
    protocols = [handler for name in settings.protocols.enabled for handler in PROTOCOLS[name]]
    handlers = [*PROFILE_A, *(REGISTRY_MODE if settings.registry.enabled else ())]
    handlers.append(_OwnRouter("/", route_handlers=protocols, **_GUARDED))
    if settings.profile == "local":
        guards = local_guards(settings.server)
        below = [*PROFILE_B.items(), ("/", protocols)]
        handlers = [_guarding_changes(path, some, guards) for path, some in below]

    @asynccontextmanager
    async def life(_: Litestar) -> AsyncIterator[None]:
        services.begin()
        try:
            yield
        finally:
            state.searches.close()
            await to_thread.run_sync(services.close)

    return _Application(
        route_handlers=handlers,
        dependencies={
            "services": Provide(ready_services, use_cache=False),
            "running": Provide(lambda: services, sync_to_thread=False),
            "page": Provide(page, sync_to_thread=False),
        },
        state=state,
        exception_handlers={Exception: answer_error},
        request_class=StrictRequest,
        before_request=StrictQueryParams(),
        request_max_body_size=settings.limits.json_body_bytes,
        compression_config=_compression(),
        openapi_config=openapi_config(),
        plugins=[StructSchemas(), CardSchemas()],
        lifespan=[life],
        debug=False,
        logging_config=None,
    )
