"""The addresses of repositories. The last name of each ends with `.git`."""

from typing import Any, NamedTuple

from litestar import Request

from registry.errors import not_found
from registry.http.routes.parameters import each, skill_id
from registry.protocols.git.marketplaces import ALL

_SUFFIX = ".git"
_MARKETPLACE = "marketplace"
_SCOPE_MARK = "@"


class SkillAddress(NamedTuple):
    """The repository of a skill: of its current version, or of the one that is named."""

    skill_id: str
    version: str | None


class MarketplaceAddress(NamedTuple):
    """The repository of the marketplace of a scope, or of `ALL` skills."""

    scope: str


def paths(operation: str) -> list[str]:
    """Return the paths of an operation on repositories.

    They are `{id}.git` (also `marketplace.git` and `@{scope}.git`), `{scope}/{name}.git` and
    `{scope}/{name}/{version}.git`.
    """
    of_version = f"/git/{{skill_scope:str}}/{{skill_name:str}}/{{version:str}}/{operation}"
    return [*each(f"/git/{{id}}/{operation}"), of_version]


def address_of(request: Request[Any, Any, Any]) -> SkillAddress | MarketplaceAddress:
    """Return which repository a request is for. Raises NOT_FOUND for an address that no repository has."""
    version = request.path_params.get("version")
    named = skill_id(request) if version is None else str(version)
    name = named.removesuffix(_SUFFIX)
    if name == named:
        raise not_found(f"Repository: its address ends with {_SUFFIX}; '{named}'")
    if version is not None:
        return SkillAddress(skill_id(request), name)
    if name == _MARKETPLACE:
        return MarketplaceAddress(ALL)
    scope = name.removeprefix(_SCOPE_MARK)
    return MarketplaceAddress(scope) if scope and scope != name else SkillAddress(name, None)
