"""Reads what a skill needs to run: programs, variables, systems and agents, as their authors write it.

agentskills.io has `compatibility`, a sentence. OpenClaw and its relatives have `requires` and `os` below their own name
in `metadata`. Others write the same keys at the top of the front matter.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from registry.domain.runtime_needs import Requirements
from registry.parsing.yaml_text import Value

_MAX_VALUES = 50
_MAX_VALUE = 100

_BINS = ("bins", "bin", "binaries", "commands")
_ANY_BINS = ("anyBins", "any_bins", "any-bins", "anyBin")
_ENV = ("env", "envs", "environment", "primaryEnv")
_OS = ("os", "platform", "platforms")
_AGENTS = ("agents", "agent")
_BESIDE = {"bins": ("bins",), "any_bins": ("anyBins",), "env": ("primaryEnv",), "os": _OS}
"""The keys beside `requires` that say what the skill requires. Others mean something else there."""

_REQUIREMENTS = frozenset({"requires", *(key for keys in _BESIDE.values() for key in keys)})

_OPENCLAW = frozenset({"openclaw", "clawdbot", "moltbot", "clawdis", "clawhub"})
"""The names that one agent has had."""

_NAMED_AGENT = re.compile(
    r"(?P<claude_code>\bclaude[ -]?code\b)|(?P<codex>\bcodex\b)|(?P<cursor>\bcursor\b)|(?P<copilot>\bcopilot\b)"
    r"|(?P<gemini_cli>\bgemini[ -]?cli\b)|(?P<opencode>\bopen ?code\b)"
    r"|(?P<openclaw>\b(?:openclaw|clawdbot|moltbot)\b)|(?P<goose>\bgoose\b)|(?P<windsurf>\bwindsurf\b)"
    r"|(?P<cline>\bcline\b)",
    re.IGNORECASE,
)
"""The groups are the names of agents, with `_` for `-`."""


def requirements_of(fields: Mapping[str, Value], metadata: Mapping[str, Value]) -> Requirements | None:
    """Return what a skill requires; None if it says nothing."""
    names: dict[str, dict[str, None]] = {"bins": {}, "any_bins": {}, "env": {}, "os": {}}
    for section in _sections(fields, metadata):
        if _REQUIREMENTS.isdisjoint(section):
            continue
        declared = section.get("requires")
        needs = declared if isinstance(declared, dict) else {}
        for kind, keys in (("bins", _BINS), ("any_bins", _ANY_BINS), ("env", _ENV), ("os", _OS)):
            values = [*_texts(needs, keys), *_texts(section, _BESIDE[kind])]
            names[kind] |= dict.fromkeys(system_name(value) if kind == "os" else value for value in values)
    lists: dict[str, Any] = {kind: list(values)[:_MAX_VALUES] for kind, values in names.items()}
    return Requirements(**lists) if any(lists.values()) else None


def agents_of(fields: Mapping[str, Value], metadata: Mapping[str, Value], compatibility: str) -> list[str]:
    """Return the agents that a skill is for, in order of name; empty if it says nothing."""
    named = [name for section in (fields, metadata) for name in _texts(section, _AGENTS)]
    agents = {agent_name(name) for name in named}
    agents |= {"openclaw" for key, value in metadata.items() if key in _OPENCLAW and isinstance(value, dict)}
    agents |= {_name_of(match) for match in _NAMED_AGENT.finditer(compatibility[:2_000])}
    return sorted(agents - {""})[:_MAX_VALUES]


def system_name(text: str) -> str:
    """Return the name of an operating system as filters have it: `linux`, `macos` or `windows`, else as it is."""
    name = text.strip().lower()
    for system, others in (("macos", ("darwin", "mac", "osx", "macosx")), ("windows", ("win32", "win", "win64"))):
        if name in others:
            return system
    return name


def agent_name(text: str) -> str:
    """Return the name of an agent as filters have it: lower case, with hyphens."""
    match = _NAMED_AGENT.fullmatch(text.strip())
    return _name_of(match) if match else "-".join(text.lower().split())


def _name_of(match: re.Match[str]) -> str:
    return str(match.lastgroup).replace("_", "-")


def _sections(fields: Mapping[str, Value], metadata: Mapping[str, Value]) -> Iterator[Mapping[str, Value]]:
    """Yield the mappings that may have `requires` and `os`."""
    yield fields
    yield metadata
    yield from (value for value in metadata.values() if isinstance(value, dict))


def _texts(section: Mapping[str, Value], keys: tuple[str, ...]) -> Iterator[str]:
    for key in keys:
        value = section.get(key, "")
        items = value.split(",") if isinstance(value, str) else list(value)[:_MAX_VALUES]
        for item in items:
            if isinstance(item, str) and (text := " ".join(item.split())):
                yield text[:_MAX_VALUE]
