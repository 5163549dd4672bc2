"""The tools: search, read, and in the local profile install."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta

from registry.domain.findings import Risk
from registry.domain.models import Version
from registry.domain.origins import ListedId
from registry.domain.validation import find_errors
from registry.errors import RegistryError, validation_error
from registry.install.schemas import SkillRequest
from registry.protocols.mcp.messages import INVALID_PARAMS, McpError
from registry.protocols.mcp.reading import risk_warning, skill_text
from registry.protocols.mcp.search_text import FOUND_SCHEMA, found_text
from registry.services.container import Services
from registry.services.schemas import Label, Query, SearchBody, SearchFilters
from registry.services.search import SearchOutcome, SearchTask, search_skills, search_task
from registry.services.skills import create_skill

INSTALL = "install_skill"

_Path = Annotated[str, Meta(min_length=1, max_length=500, extra={"rule": "must be the path of a file of the skill"})]


class SearchArguments(msgspec.Struct, kw_only=True):
    """The arguments of `search_skills`."""

    query: Query
    limit: Annotated[int, Meta(ge=1, le=20, extra={"rule": "must be a number from 1 to 20"})] = 5
    tags: list[Label] = msgspec.field(default_factory=list)
    source: Label | None = None
    max_risk: Risk | None = None
    os: Label | None = None
    max_tokens: Annotated[int, Meta(ge=100, le=20_000, extra={"rule": "must be a number from 100 to 20,000"})] = 2000


class GetArguments(msgspec.Struct, kw_only=True):
    """The arguments of `get_skill`."""

    id: ListedId
    version: Version | None = None
    file: _Path | None = None


class InstallArguments(msgspec.Struct, kw_only=True):
    """The arguments of `install_skill`."""

    id: ListedId


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


def _tool(name: str, title: str, description: str, properties: dict[str, Any], *, changes: bool) -> dict[str, Any]:
    required = [key for key in ("query", "id") if key in properties]
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    hints = {"readOnlyHint": not changes, "destructiveHint": False, "openWorldHint": changes}
    return {"name": name, "title": title, "description": description, "inputSchema": schema, "annotations": hints}


_ID = _text("id of the skill, as search_skills shows it")
_SEARCH = _tool(
    "search_skills",
    "Search skills",
    "Find skills: tested instructions, scripts and references for kinds of tasks. Call this before you begin a task "
    "that somebody may have done before (a file format, a tool, an API, a workflow), with the task in one sentence. "
    "Then read the best skill with get_skill. It says so when nothing fits, and where a skill is risky.",
    {
        "query": _text("the task, in one sentence or a few words"),
        "limit": {"type": "integer", "minimum": 1, "maximum": 20, "default": 5, "description": "most skills"},
        "tags": {"type": "array", "items": {"type": "string"}, "description": "only skills with all of these tags"},
        "source": _text("only skills of this source"),
        "max_risk": {
            "type": "string",
            "enum": ["none", "low", "medium", "high"],
            "description": "only skills whose scan found at most this risk",
        },
        "os": _text("only skills that run on this system, such as linux, macos or windows, or do not say"),
        "max_tokens": {
            "type": "integer",
            "minimum": 100,
            "maximum": 20_000,
            "default": 2000,
            "description": "most tokens of the answer",
        },
    },
    changes=False,
) | {"outputSchema": FOUND_SCHEMA}
_GET = _tool(
    "get_skill",
    "Read a skill",
    "Read a skill before you follow it: its SKILL.md and the list of its files, or one file of it.",
    {
        "id": _ID,
        "version": _text("version, MAJOR.MINOR.PATCH; the current one without it"),
        "file": _text("path of a file of the skill, such as references/forms.md"),
    },
    changes=False,
)
_INSTALL = _tool(
    INSTALL,
    "Install a skill",
    "Install a skill that search_skills shows as not installed into the skills directory of this machine. Ask the "
    "user first.",
    {"id": _ID},
    changes=True,
)


def may_install(services: Services) -> bool:
    """Return whether this service installs skills."""
    return services.settings.profile == "local" and services.writable()


def list_tools(services: Services, params: dict[str, Any]) -> dict[str, Any]:
    """Return the tools, with `install_skill` in a local profile that may write."""
    return {"tools": [_SEARCH, _GET, *([_INSTALL] if may_install(services) else [])]}


def call_tool(services: Services, params: dict[str, Any]) -> dict[str, Any]:
    """Return what a tool answers. Errors are results in words, so that the model can correct itself.

    Raises McpError if the request names no tool.
    """
    name, arguments = params.get("name"), params.get("arguments", {})
    if not isinstance(name, str) or not isinstance(arguments, dict):
        raise McpError(INVALID_PARAMS, "params must have the name of a tool and, as an object, its arguments")
    try:
        if name == _SEARCH["name"]:
            return _search(services, _converted(arguments, SearchArguments))
        if name == _GET["name"]:
            return _get(services, _converted(arguments, GetArguments))
        if name == INSTALL and may_install(services):
            return _install(services, _converted(arguments, InstallArguments))
    except RegistryError as error:
        return tool_error(error)
    return _failed(f"There is no tool '{name[:64]}'")


def tool_error(error: RegistryError) -> dict[str, Any]:
    """Return the result of a tool that failed."""
    details = "".join(f"\n- {detail.field}: {detail.message}" for detail in error.details)
    return _failed(f"{error.message}{details if len(error.details) > 1 else ''}")


def _failed(message: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": message}], "isError": True}


def _converted(arguments: dict[str, Any], kind: Any) -> Any:
    """Return the arguments of a tool. Raises VALIDATION_ERROR."""
    faults = list(find_errors(arguments, kind, ""))
    if faults:
        raise validation_error(*faults)
    return msgspec.convert(arguments, kind)


def tool_task(services: Services, params: dict[str, Any]) -> SearchTask[dict[str, Any]] | None:
    """Return `call_tool` as a task for a valid search, None for any other call."""
    if params.get("name") != _SEARCH["name"] or not isinstance(params.get("arguments"), dict):
        return None
    try:
        asked = _converted(params["arguments"], SearchArguments)
    except RegistryError:
        return None
    return search_task(services, _search_body(asked)).then(lambda found: _found(services, found, asked))


def _search(services: Services, asked: SearchArguments) -> dict[str, Any]:
    return _found(services, search_skills(services, _search_body(asked)), asked)


def _search_body(asked: SearchArguments) -> SearchBody:
    filters = SearchFilters(
        tags=asked.tags, source=asked.source, max_risk=asked.max_risk, os=asked.os, model_invocation=True
    )
    return SearchBody(query=asked.query, limit=asked.limit, filters=filters)


def _found(services: Services, found: SearchOutcome, asked: SearchArguments) -> dict[str, Any]:
    services.searched(found.data.mode, found.data.took_ms / 1000)
    text, skills = found_text(found.data, asked.max_tokens)
    structured: dict[str, Any] = {"skills": skills}
    if found.data.search_id is not UNSET:
        structured["search_id"] = found.data.search_id  # not in the text: a model has no use for it, its program has
    if found.data.corrections:
        structured["corrections"] = msgspec.to_builtins(found.data.corrections)
    return {"content": [{"type": "text", "text": text}], "structuredContent": structured, "isError": False}


def _get(services: Services, asked: GetArguments) -> dict[str, Any]:
    text = skill_text(services, asked.id, asked.version, asked.file)
    return {"content": [{"type": "text", "text": text}], "isError": False}


def _install(services: Services, asked: InstallArguments) -> dict[str, Any]:
    listed = services.catalog.get(asked.id)
    skill = create_skill(services, SkillRequest(skill_id=asked.id, source_name=listed.source))
    done = f"Installed {skill.id} {skill.version} as {skill.skill_file}. Read it with get_skill(id='{skill.id}')."
    text = f"{risk_warning(skill.findings)}{done}"
    risk = skill.findings.risk if skill.findings else None
    structured = {"skills": [{"id": skill.id, "version": skill.version, "installed": True, "risk": risk}]}
    return {"content": [{"type": "text", "text": text}], "structuredContent": structured, "isError": False}
