"""What clients are told of the tools, and the arguments that the tools take.

Agents carry these definitions in every conversation: `tests/registry/protocols/test_mcp_tools.py` holds their size.
"""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from registry.domain.findings import RISKS
from registry.domain.models import Version
from registry.domain.origins import ListedId
from registry.services.schemas import Query, SearchFilters, Sort

SEARCH, GET, INSTALL = "search_skills", "get_skill", "install_skill"

CHARACTERS_PER_TOKEN = 4
"""How `max_tokens` is counted, whatever the model is."""

_Path = Annotated[str, Meta(min_length=1, max_length=500, extra={"rule": "must be the path of a file of the skill"})]
_MAX_OFFSET = 1 << 40


class SearchArguments(SearchFilters, kw_only=True):
    """The arguments of `search_skills`: all filters of a search too, of which the definition names the most useful."""

    query: Query
    limit: Annotated[int, Meta(ge=1, le=20, extra={"rule": "must be a number from 1 to 20"})] = 5
    group: bool = True
    sort: Sort = "relevance"
    max_tokens: Annotated[int, Meta(ge=100, le=20_000, extra={"rule": "must be a number from 100 to 20,000"})] = 2000


class GetArguments(msgspec.Struct, kw_only=True):
    """The arguments of `get_skill`. `offset` is in characters of the text that is read."""

    id: ListedId
    version: Version | None = None
    file: _Path | None = None
    offset: Annotated[int, Meta(ge=0, le=_MAX_OFFSET, extra={"rule": "must be a number from 0"})] = 0
    max_tokens: Annotated[int, Meta(ge=500, le=100_000, extra={"rule": "must be a number from 500 to 100,000"})] = (
        10_000
    )


class InstallArguments(msgspec.Struct, kw_only=True):
    """The arguments of `install_skill`."""

    id: ListedId


_TEXT = {"type": "string"}
_FLAG = {"type": "boolean"}

FOUND_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "skills": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    **dict.fromkeys(("id", "description", "version", "source"), _TEXT),
                    "installed": _FLAG,
                    "risk": {"enum": [*RISKS, None]},
                    "relevance": {"enum": ["high", "medium", "keyword"]},
                    "score": {"type": "number"},
                },
                "required": ["id"],
            },
        },
    },
    "required": ["skills"],
}
"""The JSON schema of the `structuredContent` of a search."""


def _text(description: str) -> dict[str, Any]:
    return {**_TEXT, "description": description}


def _number(least: int, most: int, default: int, **more: Any) -> dict[str, Any]:
    return {"type": "integer", "minimum": least, "maximum": most, "default": default, **more}


def _tool(name: str, description: str, properties: dict[str, Any], *, changes: bool) -> dict[str, Any]:
    required = [key for key in ("query", "id") if key in properties]
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    hints = {"destructiveHint": False, "openWorldHint": True} if changes else {"readOnlyHint": True}
    return {"name": name, "description": description, "inputSchema": schema, "annotations": hints}


SEARCH_TOOL = _tool(
    SEARCH,
    "Find skills: tested instructions, scripts and references for kinds of tasks. Call it before a task that others "
    "may have done before (a file format, a tool, an API, a workflow). Then read the best skill with get_skill.",
    {
        "query": _text("the task, in one sentence"),
        "limit": _number(1, 20, 5),
        "tags": {"type": "array", "items": _TEXT, "description": "all of them"},
        "source": _TEXT,
        "not": {"type": "object", "description": "without"},
        "max_risk": {"enum": list(RISKS), "description": "most risk that the scan found"},
        "os": _text("linux, macos or windows"),
        "group": {**_FLAG, "default": True, "description": "one place for near-copies"},
        "max_tokens": _number(100, 20_000, 2000),
    },
    changes=False,
) | {"outputSchema": FOUND_SCHEMA}

GET_TOOL = _tool(
    GET,
    "Read a skill before you follow it: its SKILL.md, where its files are, and their names; or one file.",
    {
        "id": _text("as search_skills shows it"),
        "version": _text("MAJOR.MINOR.PATCH"),
        "file": _text("path, such as references/forms.md"),
        "offset": {"type": "integer", "minimum": 0, "description": "first character"},
        "max_tokens": _number(500, 100_000, 10_000),
    },
    changes=False,
)

INSTALL_TOOL = _tool(
    INSTALL,
    "Put a skill that is not installed, with its files, into the skills directory of this machine. Ask the user first.",
    {"id": _TEXT},
    changes=True,
)
