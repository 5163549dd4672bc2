"""One skill folder read into a record: what its SKILL.md and, if there is one, its skill-project.toml say."""

import os
import re
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from registry.frontmatter import read
from registry.models import split_labels
from registry.skill_folder.prose import first_paragraph
from registry.skill_folder.tree import SKILL_FILE, tree_digest
from registry.yaml_text import Value

PROJECT_FILE = "skill-project.toml"

_MAX_SKILL_FILE = 1024 * 1024
_MAX_PROJECT_FILE = 64 * 1024
_MAX_DESCRIPTION = 1_024
_DEFAULT_VERSION = "1.0.0"

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_HIDDEN = re.compile("[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]")
_VERSION = re.compile(r"(?:0|[1-9][0-9]{0,8})(?:\.(?:0|[1-9][0-9]{0,8})){1,2}")
_TOOL = re.compile(r"[^\s,()]+(?:\([^()]*\))?")


class UnreadableSkill(Exception):  # noqa: N818 - named for what it tells, like FileNotFound
    """Nothing useful can be read of a skill folder; `reason` says why, without naming a place on this machine."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class SkillFolder(msgspec.Struct, kw_only=True, frozen=True):
    """What a skill folder says about its skill. `digest` is `tree_digest`'s, None where a file cannot be read.

    `name` may hold bidirectional and zero-width characters, which a page must mark; a warning tells of them.
    """

    name: str
    description: str
    version: str
    author: str
    license: str | None
    compatibility: str | None
    allowed_tools: list[str]
    tags: list[str]
    capabilities: list[str]
    metadata: dict[str, Any]
    source_url: str | None
    source_type: str | None
    source_branch: str | None
    skill_file: Path
    body: str
    digest: str | None
    warnings: list[str]


def read_skill_folder(folder: Path) -> SkillFolder:
    """Read a skill leniently; what had to be guessed, dropped or repaired is told in the warnings.

    A field is taken from skill-project.toml, else from `metadata`, else from the front matter, else a default.
    Raises UnreadableSkill, and FileNotFoundError where there is no SKILL.md (any more).
    """
    text, warnings = _text(folder)
    document = read(_cleaned(text, warnings))
    warnings += document.warnings
    fields = _without_controls(document.fields)
    metadata = _metadata(fields, warnings)
    said = _Said((_project(folder, warnings), metadata, fields))
    name = " ".join(said.text("name", "display_name").split())
    return SkillFolder(
        name=_checked_name(name, folder, warnings),
        description=_description(said, document.body, warnings),
        version=_version(said.text("version"), warnings),
        author=said.text("author"),
        license=said.text("license") or None,
        compatibility=said.text("compatibility") or None,
        allowed_tools=_TOOL.findall(said.joined("allowed-tools")),
        tags=split_labels(said.joined("tags")),
        capabilities=split_labels(said.joined("capabilities")),
        metadata=metadata,
        source_url=said.text("source_url") or None,
        source_type=said.text("source_type") or None,
        source_branch=said.text("source_branch") or None,
        skill_file=folder / SKILL_FILE,
        body=document.body,
        digest=_digest(folder, warnings),
        warnings=warnings,
    )
