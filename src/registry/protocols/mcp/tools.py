"""The tools: search, read, and in the local profile install."""

from collections.abc import Sequence
from itertools import islice
from typing import Any, TypeVar

import msgspec

from registry.domain.models import Skill
from registry.domain.origins import ListedId
from registry.domain.validation import convert, find_errors, unknown_names
from registry.errors import RegistryError
from registry.install.schemas import SkillRequest
from registry.protocols.mcp.arguments import meant_arguments
from registry.protocols.mcp.caller import Caller
from registry.protocols.mcp.definitions import (
    GET,
    GET_TOOL,
    INSTALL,
    INSTALL_TOOL,
    SEARCH,
    SEARCH_TOOL,
    GetArguments,
    InstallArguments,
    SearchArguments,
)
from registry.protocols.mcp.meant_names import meant_skill
from registry.protocols.mcp.messages import INVALID_PARAMS, McpError
from registry.protocols.mcp.places import base_directory, installed_twin, may_install, searched_place
from registry.protocols.mcp.reading import known_skill, risk_warning, skill_text, unknown_skill, withdrawal_warning
from registry.protocols.mcp.search_text import found_answer
from registry.services.container import Services
from registry.services.schemas import SearchBody, SearchFilters
from registry.services.search import SearchOutcome, SearchTask, search_skills, search_task
from registry.services.skills import create_skill

_MOST_IGNORED = 10
_LONGEST_NAME = 100

_T = TypeVar("_T", bound=msgspec.Struct)


def list_tools(services: Services, params: dict[str, Any]) -> dict[str, Any]:
    """Return the tools, with `install_skill` in a local profile that may write."""
    return {"tools": [SEARCH_TOOL, GET_TOOL, *([INSTALL_TOOL] if may_install(services) else [])]}


def call_tool(services: Services, params: dict[str, Any], caller: Caller) -> dict[str, Any]:
    """Return what a tool answers. Errors are results in words, so that the model can correct itself.

    Raises McpError if the request names no tool.
    """
    name, arguments = params.get("name"), params.get("arguments") or {}
    if not isinstance(name, str) or not isinstance(arguments, dict):
        raise McpError(INVALID_PARAMS, "params must have the name of a tool and, as an object, its arguments")
    try:
        if name == SEARCH:
            return _search(services, caller, meant_arguments(arguments, SearchArguments))
        if name == GET:
            return _get(services, caller, _of_skill(services, arguments, GetArguments))
        if name == INSTALL and may_install(services):
            return _install(services, caller, _of_skill(services, arguments, InstallArguments))
    except RegistryError as error:
        return tool_error(error)
    return _failed(f"There is no tool '{name[:64]}'")


def _of_skill(services: Services, arguments: dict[str, Any], kind: type[_T]) -> _T:
    """Return the arguments of a tool for one skill. Raises VALIDATION_ERROR, SKILL_NOT_FOUND for what is no id."""
    has_versions = "version" in kind.__struct_fields__
    meant = meant_skill(meant_arguments(arguments, kind), has_versions=has_versions)
    name = meant.get("id")
    if isinstance(name, str) and name and any(find_errors(name, ListedId)):
        raise unknown_skill(services, name[:_LONGEST_NAME])
    return convert(meant, kind)


def tool_error(error: RegistryError) -> dict[str, Any]:
    """Return the result of a tool that failed."""
    details = "".join(f"\n- {detail.field}: {detail.message}" for detail in error.details)
    return _failed(f"{error.message}{details if len(error.details) > 1 else ''}")


def _failed(message: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": message}], "isError": True}


def tool_task(services: Services, params: dict[str, Any]) -> SearchTask[dict[str, Any]] | None:
    """Return `call_tool` as a task for a valid search, None for any other call."""
    if params.get("name") != SEARCH or not isinstance(params.get("arguments"), dict):
        return None
    arguments = meant_arguments(params["arguments"], SearchArguments)
    try:
        request = convert(arguments, SearchArguments)
    except RegistryError:
        return None
    return search_task(services, _search_body(request, arguments)).then(
        lambda outcome: _found(services, outcome, request)
    )


def _search(services: Services, caller: Caller, arguments: dict[str, Any]) -> dict[str, Any]:
    request, place = convert(arguments, SearchArguments), searched_place(services, caller)
    return _found(services, search_skills(services, _search_body(request, arguments)), request, place)


def _search_body(request: SearchArguments, arguments: dict[str, Any]) -> SearchBody:
    members = {name: getattr(request, name) for name in SearchFilters.__struct_fields__}
    filters = SearchFilters(**members | {"model_invocation": True})
    body = SearchBody(query=request.query, limit=request.limit, filters=filters, group=request.group, sort=request.sort)
    body.ignoring([*islice(unknown_names(arguments, SearchArguments), _MOST_IGNORED)])
    return body


def _found(services: Services, outcome: SearchOutcome, request: SearchArguments, place: str = "") -> dict[str, Any]:
    services.searched(outcome.data.mode, outcome.data.took_ms / 1000)
    return found_answer(outcome.data, request.max_tokens, place)


def _get(services: Services, caller: Caller, request: GetArguments) -> dict[str, Any]:
    text = skill_text(services, caller, request)
    if not text.is_error:
        services.usage.count(request.id, "read", caller.name)
    return {"content": [{"type": "text", "text": text.text}], "isError": text.is_error}


def _install(services: Services, caller: Caller, request: InstallArguments) -> dict[str, Any]:
    skill = known_skill(services, request.id)
    present = skill if skill.installed else installed_twin(services, skill)
    if present is not None:
        return _installed(services, caller, present, f"{present.id} {present.version} is already installed. ")
    installed = create_skill(services, SkillRequest(skill_id=request.id, source_name=skill.source))
    along = [services.catalog.get(needed_id) for needed_id in installed.dependencies_installed or ()]
    named = ", ".join(f"{needed_skill.id} {needed_skill.version}" for needed_skill in along)
    needed = f"It needs other skills, which came along: {named}. " if named else ""
    return _installed(services, caller, installed, f"Installed {installed.id} {installed.version}. {needed}", along)


def _installed(
    services: Services, caller: Caller, skill: Skill, headline: str, along: Sequence[Skill] = ()
) -> dict[str, Any]:
    folder = services.skill_files.folder(skill) if caller.is_here else None
    place = f"{base_directory(folder)}. " if folder is not None else ""
    each = (
        f"{withdrawal_warning(installed.version, installed.withdrawn)}{risk_warning(installed.findings)}"
        for installed in (skill, *along)
    )
    warnings = "".join(each)
    text = f"{warnings}{headline}{place}Read it with {GET}(id='{skill.id}')."
    structured = {
        "skills": [
            {
                "id": installed.id,
                "version": installed.version,
                "installed": True,
                "risk": installed.findings.risk if installed.findings else None,
            }
            for installed in (skill, *along)
        ]
    }
    return {"content": [{"type": "text", "text": text}], "structuredContent": structured, "isError": False}
