"""What handlers share: the services, the page of a list, the skill id in a path, the response to a deletion."""

from dataclasses import dataclass
from typing import Any

import msgspec
from litestar import Request
from litestar.di import NamedDependency
from litestar.openapi.datastructures import ResponseSpec
from litestar.openapi.spec import Operation, RequestBody

from registry.catalog.folder_ids import present_id
from registry.http.envelope import Failure
from registry.http.query_params import Page
from registry.http.quick_reads import quickly
from registry.http.routes.guards import changes
from registry.services.container import Services

ERRORS = {
    status: ResponseSpec(Failure, generate_examples=False, description=meaning)
    for status, meaning in {
        400: "A rule is broken; `details` says which",
        401: "There is no valid credential (registry profile)",
        403: "Refused: the role, a foreign host or origin, or the service is read-only",
        404: "There is no such skill, file, job or manifest entry",
        405: "The route has no such method",
        409: "It clashes with what exists",
        412: "The record has changed since it was read",
        413: "The body is too large",
        414: "The URL is longer than 8,192 bytes",
        415: "The body is not JSON",
        429: "Too many requests (registry profile)",
        500: "An unexpected fault; the log knows more under the request id",
        503: "It cannot be done just now",
        507: "The disk is full",
    }.items()
}
"""The errors of every route below `/api/v1`, for the OpenAPI document."""

ReadyServices = NamedDependency[Services]
"""The services after the first scan, or after the longest wait for it: the parameter `services`.

Of a request that only reads, a former id in the path is then the present one of its skill.
"""

RunningServices = NamedDependency[Services]
"""The services at once, whatever their state: the parameter `running`."""

ListPage = NamedDependency[Page]
"""The requested part of a list: the parameter `page`."""


@dataclass
class OptionalBody(Operation):
    """The OpenAPI operation of a handler that may be called without a body, because every field is optional."""

    def __post_init__(self) -> None:
        if isinstance(self.request_body, RequestBody):
            self.request_body.required = False


class Deleted(msgspec.Struct, kw_only=True):
    """What was deleted."""

    id: str
    message: str


def each(path: str) -> list[str]:
    """Return the two paths of a route whose `{id}` may have a scope.

    A handler of several paths must be async: Litestar 2.25 copies the handler for each path and then treats one with
    `sync_to_thread` as a plain function, which it does not await.
    """
    return [path.replace("{id}", "{id:str}"), path.replace("{id}", "{skill_scope:str}/{skill_name:str}")]


async def ready_services(request: Request[Any, Any, Any]) -> Services:
    """Return what `ReadyServices` says."""
    services: Services = request.app.state.services
    await services.when_ready()
    parameters = request.path_params
    if ("id" in parameters or "skill_scope" in parameters) and not changes(request.method, request.route_handler):
        former = skill_id(request)
        now = await quickly(services.database, present_id, services.catalog, former)
        if now != former:
            request.scope["path_params"] = {**parameters, "id": now}  # the framework keeps the former object by path
    return services


def skill_id(request: Request[Any, Any, Any]) -> str:
    """Return the id: `pdf` or `acme/pdf`, the slash plain or as %2F (the server decodes it before routing)."""
    parameters = request.path_params
    if "id" in parameters:
        return str(parameters["id"])
    return f"{parameters['skill_scope']}/{parameters['skill_name']}"
