"""Reads the metadata and body of a skill folder from its SKILL.md and its optional skill-project.toml."""

import hashlib
import os
import re
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from registry.domain.dependencies import declared
from registry.domain.lfs_pointers import is_lfs_pointer
from registry.domain.models import split_labels
from registry.domain.runtime_needs import RuntimeNeeds
from registry.domain.version_text import DEFAULT_VERSION, is_shortened, version_number
from registry.parsing.frontmatter import read
from registry.parsing.frontmatter_advice import Defect
from registry.parsing.joiners import without_joiners
from registry.parsing.text_encoding import decode, encoding_of, with_line_feeds
from registry.parsing.toml_text import load_toml
from registry.parsing.yaml_text import Value, YamlError, parse
from registry.skill_folder.file_warnings import file_warnings
from registry.skill_folder.format_rules import MAX_DESCRIPTION, format_warnings
from registry.skill_folder.prose import first_paragraph
from registry.skill_folder.runtime_needs import agents_of, requirements_of
from registry.skill_folder.tree import (
    SKILL_FILE,
    digest_of_files,
    find_skill_file,
    list_files,
    tree_digest,
)
from registry.skill_folder.triggers import triggers_of

READER = 7
"""The version of what is read. It increases with every change, so that the next scan reads all folders again."""

PROJECT_FILE = "skill-project.toml"

_MAX_SKILL_FILE = 1024 * 1024
_MAX_PROJECT_FILE = 64 * 1024
_INHERITABLE = ("version", "author", "license", "description")
_TRUE = frozenset({"true", "yes", "on", "1"})

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_HIDDEN = re.compile(r"[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]")
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
    `defects` are those of the SKILL.md, with what its author has to do before the skill can be published.
    `files` are the paths of at most 2,000 files, `dependencies` the skills that it needs, each as `id@range`.
    """

    name: str
    description: str
    version: str
    author: str
    license: str | None
    needs: RuntimeNeeds
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
    files: Sequence[str] = (SKILL_FILE,)
    dependencies: Sequence[str] = ()
    stated: frozenset[str] = frozenset()
    defects: tuple[Defect, ...] = ()


class SkillText(NamedTuple):
    """The decoded text of a SKILL.md, with line feeds, and the defects of its bytes."""

    text: str
    defects: tuple[Defect, ...]


def read_skill_folder(folder: Path, *, named: str | None = None, is_placed: bool = True) -> SkillFolder:
    """Read a skill leniently. The warnings mention what was guessed, dropped or repaired.

    `named` is the name that the folder has at its origin, or will have; its own by default. A skill that is not
    `is_placed` may have another name without a warning.

    The value of a field comes from skill-project.toml, else from `metadata`, else from the front matter, else it is the
    default. Raises UnreadableSkill, and FileNotFoundError if there is no SKILL.md.
    """
    path = find_skill_file(folder)
    if path is None:
        raise FileNotFoundError(f"{folder} has no {SKILL_FILE}")
    try:
        data = _bytes(folder, path)
    except PermissionError:
        raise UnreadableSkill(folder, f"{SKILL_FILE} cannot be read: check its permissions") from None
    text = _text(folder, path.name, data)
    files = list_files(folder)
    warnings = file_warnings(folder, files)
    table = _project_table(folder, warnings)
    digest = _digest(folder, warnings)
    name = named or Path(os.path.realpath(folder)).name
    skill = _skill_folder(path, name, text, table, digest, is_placed=is_placed)
    paths = tuple(file.path for file in files)
    return msgspec.structs.replace(skill, files=paths, warnings=[*warnings, *skill.warnings])


def read_new_skill_folder(folder: Path, data: bytes, *, named: str | None = None) -> SkillFolder:
    """Return what `read_skill_folder` reads of a folder with this SKILL.md and no other file, without the disk."""
    digest = digest_of_files([(SKILL_FILE, hashlib.sha256(data).hexdigest().encode())])
    return _skill_folder(folder / SKILL_FILE, named or folder.name, _text(folder, SKILL_FILE, data), {}, digest)


def _skill_folder(
    path: Path,
    folder: str,
    skill_text: SkillText,
    table: Mapping[str, Any],
    digest: str | None,
    *,
    is_placed: bool = True,
) -> SkillFolder:
    warnings = [defect.warning for defect in skill_text.defects]
    document = read(skill_text.text)
    warnings += document.warnings
    fields = _without_controls(document.fields)
    metadata = _metadata(fields, warnings)
    sources = FieldSources((texts_of(table), metadata, fields))
    name = _checked_name(" ".join(sources.text("name").split()), folder, warnings)
    description = _description(sources, document.body, warnings)
    version = _version(sources.text("version"), warnings)
    warnings += [warning for _, warning in format_warnings(document.fields, folder if is_placed else None)]
    needs = declared(table.get("dependencies"), FieldSources((metadata,)).text("dependencies"))
    warnings += [f"dependencies: {fault}" for fault in needs.faults]
    return SkillFolder(
        name=name,
        description=description,
        version=version,
        author=sources.text("author"),
        license=sources.text("license") or None,
        needs=_needs(sources, fields, metadata),
        dependencies=[str(dependency) for dependency in needs.dependencies],
        tags=split_labels(sources.text("tags")),
        capabilities=sources.labels("capabilities"),
        metadata=metadata,
        source_url=sources.text("source_url") or None,
        source_type=sources.text("source_type") or None,
        source_branch=sources.text("source_branch") or None,
        skill_file=path,
        body=document.body,
        digest=digest,
        warnings=warnings,
        stated=frozenset(name for name in _INHERITABLE if sources.text(name)),
        defects=(*skill_text.defects, *document.defects),
    )


def runtime_needs(fields: Mapping[str, Value], project: Mapping[str, Value]) -> RuntimeNeeds:
    """Return what the fields of front matter, and those of skill-project.toml, say about running the skill."""
    metadata = _metadata(fields, [])
    return _needs(FieldSources((project, metadata, fields)), fields, metadata)


def _needs(sources: "FieldSources", fields: Mapping[str, Value], metadata: Mapping[str, Value]) -> RuntimeNeeds:
    compatibility = sources.text("compatibility")
    return RuntimeNeeds(
        compatibility=compatibility or None,
        allowed_tools=_TOOL.findall(sources.text("allowed-tools")),
        requires=requirements_of(fields, metadata),
        agents=agents_of(fields, metadata, compatibility),
        model_invocation=sources.text("disable-model-invocation").lower() not in _TRUE,
        triggers=triggers_of(fields, metadata),
    )


class FieldSources:
    """The sources of a skill's fields, in order of precedence. The first source with a value wins."""

    def __init__(self, sources: tuple[Mapping[str, Value], ...]) -> None:
        self._sources = sources

    def text(self, key: str) -> str:
        """Return the value of a field as one text; empty if no source has it."""
        for source in self._sources:
            if key in source and (text := _plain(source[key])):
                return text
        return ""

    def labels(self, key: str) -> list[str]:
        """Return the value of a field as labels that may have commas: a list's items, or the parts of a text."""
        raw = next((value for source in self._sources if _plain(value := source.get(key, ""))), "")
        return split_labels([_plain(item) for item in raw] if isinstance(raw, list) else _plain(raw))


def _plain(value: Value) -> str:
    """Return a value as one text: a list joined by commas, or the `name` or first text of a mapping."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, dict):
        chosen = next((value[key] for key in ("name", "en") if key in value), None)
        return _plain(chosen if chosen is not None else next((v for v in value.values() if isinstance(v, str)), ""))
    return ", ".join(text for item in value if (text := _plain(item)))


def read_skill_text(name: str, data: bytes) -> SkillText:
    """Decode the bytes of a SKILL.md. `name` is that of the file. Raises ValueError if it is no text, or empty."""
    if is_lfs_pointer(data):
        raise ValueError(f"{SKILL_FILE} is a pointer of git LFS, whose content is not fetched: keep it in git itself")
    encoding = encoding_of(data)
    text = decode(data)
    invalid = text.count("\ufffd") + text.count("\0")
    if invalid * 10 > len(text):
        raise ValueError(f"{SKILL_FILE} is not UTF-8 text")
    if not text.strip():
        raise ValueError(f"{SKILL_FILE} is empty")
    defects = []
    if name != SKILL_FILE:
        advice = f"rename {name} to {SKILL_FILE}: systems that tell cases apart do not find it"
        defects.append(Defect(advice, f"the file has the name {name} instead of {SKILL_FILE}", line=None))
    if encoding != "utf-8":
        advice = "save the file as UTF-8"
        defects.append(Defect(advice, f"{SKILL_FILE} is in {encoding[:6].upper()}, and was read as that", line=None))
    elif text.count("\ufffd") > data.count(b"\xef\xbf\xbd"):
        advice = "the file is not UTF-8 text: save it as UTF-8"
        defects.append(Defect(advice, f"{SKILL_FILE} has invalid UTF-8; the invalid bytes were replaced", line=None))
    text = with_line_feeds(text)
    cleaned = _CONTROL.sub("", text)
    if len(cleaned) < len(text):
        removed = "control characters were removed"
        defects.append(Defect("remove control characters", removed, line=None, refused=False))
    return SkillText(cleaned, tuple(defects))


def _text(folder: Path, name: str, data: bytes) -> SkillText:
    if len(data) > _MAX_SKILL_FILE:
        raise UnreadableSkill(folder, f"{SKILL_FILE} is larger than {_MAX_SKILL_FILE:,} bytes")
    try:
        return read_skill_text(name, data)
    except ValueError as error:
        raise UnreadableSkill(folder, str(error)) from None


def _bytes(folder: Path, path: Path) -> bytes:
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
            raise UnreadableSkill(folder, f"{SKILL_FILE} is a link to a file outside of the folder")
        status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise UnreadableSkill(folder, f"{SKILL_FILE} is not a regular file")
    with path.open("rb") as file:
        return file.read(_MAX_SKILL_FILE + 1)


def _without_controls(value: Any) -> Any:
    """Remove control characters that were written as escapes, everywhere in a value."""
    if isinstance(value, str):
        return value if value.isprintable() else _CONTROL.sub("", value)
    if isinstance(value, list):
        return [_without_controls(item) for item in value]
    return {_without_controls(key): _without_controls(item) for key, item in value.items()}


def _metadata(fields: Mapping[str, Value], warnings: list[str]) -> dict[str, Any]:
    metadata = fields.get("metadata", {})
    if isinstance(metadata, str) and metadata.lstrip().startswith("{"):
        metadata = _parsed(metadata)  # JSON in quotes, or with a fault that only YAML takes
    if isinstance(metadata, dict):
        return metadata
    if metadata:
        warnings.append("metadata is not a mapping and was ignored")
    return {}


def _parsed(text: str) -> Value:
    try:
        node, _ = parse(text)
    except YamlError:
        return text
    return node.value if node is not None else text


def project_metadata(folder: Path, warnings: list[str]) -> dict[str, Value]:
    """Return the texts and lists of `[metadata]` in the skill's own skill-project.toml, which override the SKILL.md.

    Problems with the file are added to `warnings`.
    """
    return texts_of(_project_table(folder, warnings))


def _project_table(folder: Path, warnings: list[str]) -> dict[str, Any]:
    path = folder / PROJECT_FILE
    if not path.is_file() or path.is_symlink():
        return {}
    try:
        with path.open("rb") as file:
            text = file.read(_MAX_PROJECT_FILE + 1)
        if len(text) > _MAX_PROJECT_FILE:
            raise ValueError(f"is larger than {_MAX_PROJECT_FILE:,} bytes")
        return load_toml(text)
    except (OSError, ValueError) as error:
        reason = f"cannot be read: {error.strerror}" if isinstance(error, OSError) else str(error)
        warnings.append(f"{PROJECT_FILE} was ignored: it {reason}")
        return {}


def texts_of(project: Mapping[str, Any]) -> dict[str, Value]:
    """Return the texts and lists of `[metadata]` of a skill-project.toml."""
    table = project.get("metadata", {})
    pairs = table.items() if isinstance(table, dict) else ()
    return {key: _without_controls(value) for key, value in pairs if _is_text(value)}


def _is_text(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(item, str) for item in value))


def _checked_name(name: str, folder: str, warnings: list[str]) -> str:
    if not name:
        warnings.append("there is no name; the folder's name is used")
        name = _CONTROL.sub("", folder) or "skill"
    if _HIDDEN.search(without_joiners(name)):
        warnings.append("the name has invisible or bidirectional characters")
    return name


def _description(sources: FieldSources, body: str, warnings: list[str]) -> str:
    description = sources.text("description")
    if not description:
        description = first_paragraph(body)[:MAX_DESCRIPTION]
        fallback = "the first paragraph is used" if description else "the body has no text to use instead"
        warnings.append(f"there is no description; {fallback}")
    if len(description) > MAX_DESCRIPTION:
        warnings.append(f"the description is longer than {MAX_DESCRIPTION:,} characters")
    return description


def _version(version: str, warnings: list[str]) -> str:
    number = version_number(version)
    if version and number is None:
        warnings.append(f"version '{version[:40]}' is not MAJOR.MINOR.PATCH; {DEFAULT_VERSION} is used")
    elif number is not None and number != version and not is_shortened(version):
        warnings.append(f"version '{version[:40]}' is not MAJOR.MINOR.PATCH; {number} is used")
    return number or DEFAULT_VERSION


def _digest(folder: Path, warnings: list[str]) -> str | None:
    try:
        return tree_digest(folder)
    except OSError as error:
        warnings.append(f"some files cannot be read: {error.strerror}")
        return None
