"""What handlers take besides bodies: the services, the page of a list, and the id of a skill in a path."""

from typing import Any

from litestar import Request
from litestar.di import NamedDependency

from registry.query import Page
from registry.services import Services

ReadyServices = NamedDependency[Services]
"""The services once the first scan is done, or has taken too long to wait for: the parameter `services`."""

RunningServices = NamedDependency[Services]
"""The services at once, whatever their state: the parameter `running`."""

ListPage = NamedDependency[Page]
"""Which part of a list is asked for: the parameter `page`."""


def each(path: str) -> list[str]:
    """Return the two paths of a route whose `{id}` may have a scope.

    A handler of several paths that returns a Response must be async: Litestar 2.25 copies the handler for each path
    and then takes one with `sync_to_thread` for a plain function, so that nobody awaits it.
    """
    return [path.replace("{id}", "{id:str}"), path.replace("{id}", "{skill_scope:str}/{skill_name:str}")]


def skill_id(request: Request[Any, Any, Any]) -> str:
    """Return the id: `pdf` or `acme/pdf`, the slash plain or as %2F (the server decodes it before routing)."""
    parameters = request.path_params
    if "id" in parameters:
        return str(parameters["id"])
    return f"{parameters['skill_scope']}/{parameters['skill_name']}"
