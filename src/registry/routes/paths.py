"""Skill ids in paths: `pdf` or `acme/pdf`, the slash plain or as %2F (the server decodes it before routing)."""

from typing import Any

from litestar import Request


def each(path: str) -> list[str]:
    """Return the two paths of a route whose `{id}` may have a scope."""
    return [path.replace("{id}", "{id:str}"), path.replace("{id}", "{scope:str}/{name:str}")]


def skill_id(request: Request[Any, Any, Any]) -> str:
    """Return the id, with its scope if it has one, from either path."""
    parameters = request.path_params
    return str(parameters["id"]) if "id" in parameters else f"{parameters['scope']}/{parameters['name']}"
