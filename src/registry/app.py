"""The application: which routes a profile serves, and what stands round them all."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from anyio import to_thread
from litestar import HttpMethod, Litestar, Request, Response, Router, route
from litestar.config.compression import CompressionConfig
from litestar.di import Provide
from litestar.handlers.base import BaseRouteHandler

from registry.decoding import StrictRequest
from registry.envelope import answer_exception
from registry.errors import forbidden, not_found
from registry.query import StrictQuery, page
from registry.routes.content import CONTENT
from registry.routes.pages import PAGES, openapi_config
from registry.routes.reindex import REINDEX
from registry.routes.search import SEARCH
from registry.routes.service import PROBES, SERVICE
from registry.routes.skills import SKILLS
from registry.services import Services

API_V1 = "/api/v1"
COMPRESSED_FROM_BYTES = 1024

_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_READ_OPERATIONS = frozenset({"search", "resolve"})


@route(
    ["/api", "/api/{rest:path}"],
    http_method=[HttpMethod.GET, HttpMethod.HEAD, HttpMethod.POST, HttpMethod.PUT, HttpMethod.PATCH, HttpMethod.DELETE],
    sync_to_thread=False,
    include_in_schema=False,
)
def to_version_1(request: Request[Any, Any, Any]) -> Response[bytes]:
    """Send a request without a version on to version 1, method and body with it (profile B, rule 1 of *Versioning*)."""
    rest = request.scope["raw_path"].decode("latin-1").removeprefix("/api")
    if rest.startswith(("/v1/", "//")) or rest in ("", "/", "/v1"):
        raise not_found("Route")
    query = request.scope["query_string"].decode("latin-1")
    location = f"{API_V1}{rest}{'?' if query else ''}{query}"
    return Response(b"", status_code=308, media_type="text/plain", headers={"Location": location})


def _api_v1(handlers: Sequence[Any]) -> Router:
    return Router(API_V1, route_handlers=list(handlers))


PROFILE_B: Sequence[Any] = [*PROBES, *PAGES, _api_v1([*SKILLS, *CONTENT, *SEARCH, *REINDEX, *SERVICE]), to_version_1]
"""The local profile: the routes below `/api/v1`, open to whoever reaches the port."""


def _refuse_writes(request: Any, handler: BaseRouteHandler) -> None:
    operation = str(handler.handler_name).rpartition(".")[2]
    if request.method not in _READING and operation not in _READ_OPERATIONS:
        raise forbidden("The service was started with --read-only: nothing can be changed")


def create_app(services: Services, handlers: Sequence[Any] = PROFILE_B) -> Litestar:
    """Return the application over built services. Its life starts and closes them."""
    settings = services.settings

    @asynccontextmanager
    async def life(_: Litestar) -> AsyncIterator[None]:
        services.begin()
        try:
            yield
        finally:
            await to_thread.run_sync(services.close)

    return Litestar(
        route_handlers=list(handlers),
        dependencies={
            "services": Provide(services.when_ready, use_cache=False),
            "running": Provide(lambda: services, sync_to_thread=False),
            "page": Provide(page, sync_to_thread=False),
        },
        guards=[_refuse_writes] if settings.server.read_only else [],
        exception_handlers={Exception: answer_exception},
        request_class=StrictRequest,
        before_request=StrictQuery(),
        request_max_body_size=settings.limits.json_body_bytes,
        compression_config=CompressionConfig(
            backend="gzip", minimum_size=COMPRESSED_FROM_BYTES, exclude=["/healthz", "/readyz"]
        ),
        openapi_config=openapi_config(),
        lifespan=[life],
        debug=False,
        logging_config=None,
    )
