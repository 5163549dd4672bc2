"""What the document says of an operation: its id, summary, security, and the errors that a call can meet."""

from collections.abc import Mapping, Sequence
from typing import Any

from litestar.handlers import HTTPRouteHandler
from litestar.types import Method
from litestar.types.internal_types import PathParameterDefinition

from registry.domain.api import API
from registry.domain.roles import PUBLIC
from registry.http.routes.guards import changes, require_role

BEARER, API_KEY, BASIC = "bearer", "api_key", "basic"

_SCOPED = "{skill_scope}/{skill_name}"
_WITH_PARAMETERS = frozenset({400, 414})
_WITH_BODY = frozenset({400, 413, 415})
_GUARDED = frozenset({401, 403, 429})


def operation_id(handler: HTTPRouteHandler, _method: Method, parts: Sequence[str | PathParameterDefinition]) -> str:
    """Return a short id: the name of the handler, and what tells its path from its other ones.

    `get_skill` is below `/api/v1` with a plain id, `get_skill_scoped` there with a scope and a name. Below `/api` and
    `/api/code/v1`, the same handlers are `api_get_skill` and `code_get_skill`.
    """
    path = "/" + "/".join(part if isinstance(part, str) else f"{{{part.name}}}" for part in parts)
    return f"{_mount(path, handler.handler_name)}{handler.handler_name}{_variant(path, handler)}"


def _mount(path: str, name: str) -> str:
    if path.startswith("/api/code/v1/"):
        return "" if "code" in name else "code_"
    return "api_" if path.startswith("/api/") and not path.startswith(f"{API}/") else ""


def _variant(path: str, handler: HTTPRouteHandler) -> str:
    parts = []
    if "{skill_name}" in path and any("{id" in route for route in handler.paths):
        parts.append("_scoped")
    if path.startswith("/git/") and "{version}" in path:
        parts.append("_version")
    if "/.well-known/skills/" in path:
        parts.append("_v1")
    if path.endswith("/status/{job_id}"):
        parts.append("_by_id")
    return "".join(parts)


def summary(handler: HTTPRouteHandler) -> str:
    """Return the first sentence of the handler's docstring."""
    text = " ".join((handler.fn.__doc__ or "").split("\n\n", maxsplit=1)[0].split())
    return text.partition(". ")[0].removesuffix(".")


def security(handler: HTTPRouteHandler, *, anonymous_read: bool) -> list[dict[str, list[str]]]:
    """Return the ways to authenticate, of which one is enough. None is needed if the list is empty or has `{}`."""
    if declared := handler.resolve_security():
        return [dict(requirement) for requirement in declared]
    role = handler.opt.get("role", "admin")
    if role == PUBLIC or not _is_guarded(handler):
        return []
    names = [BEARER, API_KEY, *([BASIC] if handler.opt.get("basic") else [])]
    ways: list[dict[str, list[str]]] = [{name: []} for name in names]
    return [*ways, {}] if anonymous_read and role == "user" else ways


def errors(handler: HTTPRouteHandler, method: str, operation: Mapping[str, Any]) -> frozenset[int]:
    """Return the statuses of the errors that a call with the operation's own parameters and body can meet.

    Most follow from the operation. A handler declares the others: `fails={404, 409}`. One that answers to any host, as
    the probes do, declares `any_host=True`.
    """
    statuses = {500, *handler.opt.get("fails", ())}
    parameters = operation.get("parameters") or ()
    if parameters:
        statuses |= _WITH_PARAMETERS
    if any(parameter["in"] == "path" for parameter in parameters):
        statuses.add(404)
    if "requestBody" in operation:
        statuses |= _WITH_BODY
    if _is_guarded(handler) and handler.opt.get("role", "admin") != PUBLIC:
        statuses |= _GUARDED
    if not handler.opt.get("any_host"):
        statuses.add(403)
    if handler.parsed_fn_signature.parameters:
        statuses.add(503)
    if changes(method, handler):
        statuses.add(507)
    return frozenset(statuses)


def _is_guarded(handler: HTTPRouteHandler) -> bool:
    return require_role in handler.resolve_guards()
