"""The routes of a profile as a table, for the documentation and the tests."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from litestar import Router
from litestar.handlers import HTTPRouteHandler
from litestar.routes import HTTPRoute

from registry.domain.api import API

_SCOPED = "{skill_scope}/{skill_name}"


class Operation(NamedTuple):
    """One route and method, with the lowest role that may call it and the first sentence of its documentation."""

    method: str
    path: str
    role: str
    does: str


def operations(profile: Sequence[Any]) -> list[Operation]:
    """Return the operations of routers and handlers, without pages and files. A scoped id counts as an id."""
    table = {
        Operation(method, path, handler.opt.get("role", "admin"), _first_sentence(handler))
        for path, handler in _handlers(profile)
        for method in handler.http_methods - {"HEAD", "OPTIONS"}
        if handler.include_in_schema is not False
    }
    return sorted(table, key=lambda operation: (_family(operation.path), operation.path, operation.method))


def _handlers(profile: Sequence[Any]) -> Iterator[tuple[str, HTTPRouteHandler]]:
    root = Router("/", route_handlers=list(profile))
    for route in root.routes:
        if isinstance(route, HTTPRoute):
            for handler in route.route_handlers:
                yield route.path_format.replace(_SCOPED, "{id}"), handler


def _first_sentence(handler: HTTPRouteHandler) -> str:
    documentation = handler.fn.__doc__ or ""
    return documentation.strip().splitlines()[0].removesuffix(".")


def _family(path: str) -> int:
    prefixes = (
        "/healthz",
        "/readyz",
        "/metrics",
        "/.well-known",
        "/index",
        "/packages",
        "/auth",
        "/api/code/v1",
        "/v1",
        API,
        "/api",
        "/",
    )
    return next(place for place, prefix in enumerate(prefixes) if path.startswith(prefix))
