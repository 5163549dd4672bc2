"""Reads the metadata and body of a skill folder from its SKILL.md and its optional skill-project.toml."""

import hashlib
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from registry.domain.file_names import is_text, printable_name
from registry.domain.models import split_labels
from registry.parsing.frontmatter import read
from registry.parsing.toml_text import load_toml
from registry.parsing.yaml_text import Value
from registry.skill_folder.prose import first_paragraph
from registry.skill_folder.tree import SKILL_FILE, digest_of_files, list_files, tree_digest

PROJECT_FILE = "skill-project.toml"

_MAX_SKILL_FILE = 1024 * 1024
_MAX_PROJECT_FILE = 64 * 1024
_MAX_NAME = 100
_MAX_DESCRIPTION = 1_024
_DEFAULT_VERSION = "1.0.0"
_INHERITABLE = ("version", "author", "license", "description")

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_HIDDEN = re.compile(r"[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]")
_VERSION = re.compile(r"(?:0|[1-9][0-9]{0,8})(?:\.(?:0|[1-9][0-9]{0,8})){1,2}")
_TOOL = re.compile(r"[^\s,()]+(?:\([^()]*\))?")


class UnreadableSkill(Exception):
    """A skill folder cannot be read. `reason` is the message for users, without a path of this machine."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class SkillFolder(msgspec.Struct, kw_only=True, frozen=True):
    """The metadata and body of a skill folder.

    `digest` is the `tree_digest`; None if a file cannot be read. `name` may contain bidirectional and zero-width
    characters, which a page must mark; `warnings` mentions them. `stated` are those of the fields version, author,
    license and description that the files of the skill have; the others have their default.
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
    stated: frozenset[str] = frozenset()


def read_skill_folder(folder: Path) -> SkillFolder:
    """Read a skill leniently. The warnings mention what was guessed, dropped or repaired.

    The value of a field comes from skill-project.toml, else from `metadata`, else from the front matter, else it is the
    default. Raises UnreadableSkill, and FileNotFoundError if there is no SKILL.md.
    """
    try:
        data = _bytes(folder, folder / SKILL_FILE)
    except PermissionError:
        raise UnreadableSkill(folder, f"{SKILL_FILE} cannot be read: check its permissions") from None
    text, warnings = _text(folder, data)
    warnings += _name_warnings(folder)
    project = project_metadata(folder, warnings)
    return _skill_folder(folder, text, project, _digest(folder, warnings), warnings)


def read_new_skill_folder(folder: Path, data: bytes) -> SkillFolder:
    """Return what `read_skill_folder` reads of a folder with this SKILL.md and no other file, without the disk."""
    text, warnings = _text(folder, data)
    digest = digest_of_files([(SKILL_FILE, hashlib.sha256(data).hexdigest().encode())])
    return _skill_folder(folder, text, {}, digest, warnings)


def _skill_folder(
    folder: Path, text: str, project: Mapping[str, Value], digest: str | None, warnings: list[str]
) -> SkillFolder:
    document = read(_cleaned(text, warnings))
    warnings += document.warnings
    fields = _without_controls(document.fields)
    metadata = _metadata(fields, warnings)
    sources = FieldSources((project, metadata, fields))
    name = " ".join(sources.text("name").split())
    return SkillFolder(
        name=_checked_name(name, folder, warnings),
        description=_description(sources, document.body, warnings),
        version=_version(sources.text("version"), warnings),
        author=sources.text("author"),
        license=sources.text("license") or None,
        compatibility=sources.text("compatibility") or None,
        allowed_tools=_TOOL.findall(sources.text("allowed-tools")),
        tags=split_labels(sources.text("tags")),
        capabilities=sources.labels("capabilities"),
        metadata=metadata,
        source_url=sources.text("source_url") or None,
        source_type=sources.text("source_type") or None,
        source_branch=sources.text("source_branch") or None,
        skill_file=folder / SKILL_FILE,
        body=document.body,
        digest=digest,
        warnings=warnings,
        stated=frozenset(name for name in _INHERITABLE if sources.text(name)),
    )


class FieldSources:
    """The sources of a skill's fields, in order of precedence. The first source with a value wins."""

    def __init__(self, sources: tuple[Mapping[str, Value], ...]) -> None:
        self._sources = sources

    def text(self, key: str) -> str:
        """Return the value of a field as one text; empty if no source has it."""
        return next((text for source in self._sources if (text := _plain(source.get(key, "")))), "")

    def labels(self, key: str) -> list[str]:
        """Return the value of a field as labels that may have commas: a list's items, or the parts of a text."""
        found = next((value for source in self._sources if _plain(value := source.get(key, ""))), "")
        return split_labels([_plain(item) for item in found] if isinstance(found, list) else _plain(found))


def _plain(value: Value) -> str:
    """Return a value as one text: a list joined by commas, or the `name` of a mapping such as an author."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, dict):
        return _plain(value.get("name", ""))
    return ", ".join(text for item in value if (text := _plain(item)))


def _text(folder: Path, data: bytes) -> tuple[str, list[str]]:
    if len(data) > _MAX_SKILL_FILE:
        raise UnreadableSkill(folder, f"{SKILL_FILE} is larger than {_MAX_SKILL_FILE:,} bytes")
    text = data.decode("utf-8", "replace")
    invalid = text.count("\ufffd") + text.count("\0")
    if invalid * 10 > len(text):
        raise UnreadableSkill(folder, f"{SKILL_FILE} is not UTF-8 text")
    if not text.strip("\ufeff \t\r\n"):
        raise UnreadableSkill(folder, f"{SKILL_FILE} is empty")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return text, [f"{SKILL_FILE} has invalid UTF-8; the invalid bytes were replaced"]
    return text, []


def _name_warnings(folder: Path) -> list[str]:
    invalid = [file.path for file in list_files(folder) if not is_text(file.path)]
    if not invalid:
        return []
    example = printable_name(invalid[0])[:200]
    return [f"{len(invalid)} file names are not UTF-8, so these files cannot be downloaded; for example {example}"]


def _bytes(folder: Path, path: Path) -> bytes:
    if path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
        raise UnreadableSkill(folder, f"{SKILL_FILE} is a link to a file outside of the folder")
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise UnreadableSkill(folder, f"{SKILL_FILE} is not a regular file")
    with path.open("rb") as file:
        return file.read(_MAX_SKILL_FILE + 1)


def _cleaned(text: str, warnings: list[str]) -> str:
    text = text.replace("\r\n", "\n")
    cleaned = _CONTROL.sub("", text)
    if len(cleaned) < len(text):
        warnings.append("control characters were removed")
    return cleaned


def _without_controls(value: Any) -> Any:
    """Remove control characters that were written as escapes, everywhere in a value."""
    if isinstance(value, str):
        return _CONTROL.sub("", value)
    if isinstance(value, list):
        return [_without_controls(item) for item in value]
    return {_CONTROL.sub("", key): _without_controls(item) for key, item in value.items()}


def _metadata(fields: Mapping[str, Value], warnings: list[str]) -> dict[str, Any]:
    metadata = fields.get("metadata", {})
    if isinstance(metadata, dict):
        return metadata
    if metadata:
        warnings.append("metadata is not a mapping and was ignored")
    return {}


def project_metadata(folder: Path, warnings: list[str]) -> dict[str, Value]:
    """Return the texts and lists of `[metadata]` in the skill's own skill-project.toml, which override the SKILL.md.

    Problems with the file are added to `warnings`.
    """
    path = folder / PROJECT_FILE
    if path.is_symlink() or not path.is_file():
        return {}
    try:
        with path.open("rb") as file:
            text = file.read(_MAX_PROJECT_FILE + 1)
        if len(text) > _MAX_PROJECT_FILE:
            raise ValueError(f"is larger than {_MAX_PROJECT_FILE:,} bytes")
        table = load_toml(text).get("metadata", {})
    except (OSError, ValueError) as error:
        reason = f"cannot be read: {error.strerror}" if isinstance(error, OSError) else str(error)
        warnings.append(f"{PROJECT_FILE} was ignored: it {reason}")
        return {}
    pairs = table.items() if isinstance(table, dict) else ()
    return {key: _without_controls(value) for key, value in pairs if _is_text(value)}


def _is_text(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(item, str) for item in value))


def _checked_name(name: str, folder: Path, warnings: list[str]) -> str:
    if not name:
        warnings.append("there is no name; the folder's name is used")
        name = _CONTROL.sub("", folder.resolve().name) or "skill"
    if len(name) > _MAX_NAME:
        warnings.append(f"the name is longer than {_MAX_NAME} characters")
    if _HIDDEN.search(name):
        warnings.append("the name has invisible or bidirectional characters")
    return name


def _description(sources: FieldSources, body: str, warnings: list[str]) -> str:
    description = sources.text("description")
    if not description:
        description = first_paragraph(body)[:_MAX_DESCRIPTION]
        fallback = "the first paragraph is used" if description else "the body has no text to use instead"
        warnings.append(f"there is no description; {fallback}")
    if len(description) > _MAX_DESCRIPTION:
        warnings.append(f"the description is longer than {_MAX_DESCRIPTION:,} characters")
    return description


def _version(version: str, warnings: list[str]) -> str:
    if _VERSION.fullmatch(version):
        return version if version.count(".") == 2 else f"{version}.0"
    if version:
        warnings.append(f"version '{version[:40]}' is not MAJOR.MINOR.PATCH; {_DEFAULT_VERSION} is used")
    return _DEFAULT_VERSION


def _digest(folder: Path, warnings: list[str]) -> str | None:
    try:
        return tree_digest(folder)
    except OSError as error:
        warnings.append(f"some files cannot be read: {error.strerror}")
        return None
