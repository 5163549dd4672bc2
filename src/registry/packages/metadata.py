"""Parses the metadata of a package strictly: SKILL.md (Agent Skills format) and skill-project.toml.

A field comes from skill-project.toml, else from `metadata`, else from the front matter, else it has a default. Name and
description must be in the front matter: agents read them there, and people read what the registry shows. A package is
refused if its other values differ from these, or if its two files have different versions.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from registry.domain.findings import Finding
from registry.domain.models import Author, Capability, Tag, Version, split_labels
from registry.domain.validation import find_errors
from registry.packages.refusal import PackageRefused, quality_warning, structure_error
from registry.parsing.frontmatter import FrontMatterError, read
from registry.parsing.toml_text import load_toml
from registry.parsing.yaml_text import Value
from registry.skill_folder.reading import PROJECT_FILE, FieldSources
from registry.skill_folder.tree import SKILL_FILE

MAX_SKILL_FILE = 1024 * 1024
MAX_PROJECT_FILE = 64 * 1024

_NAME = re.compile(r"(?=.{1,64}\Z)[a-z0-9]+(?:-[a-z0-9]+)*")
_SCOPE = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_MAX_DESCRIPTION = 1_024
_GOOD_DESCRIPTION = range(10, 501)
_MAX_LABELS = 20
_DEFAULT_VERSION = "1.0.0"
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


class PackageMetadata(msgspec.Struct, kw_only=True, frozen=True):
    """The metadata of a package. `name` is the id without scope, `scope` the declared one, `title` the display name."""

    name: str
    scope: str | None
    title: str
    version: str
    description: str
    author: str
    license: str | None
    tags: list[str]
    capabilities: list[str]


class ParsedMetadata(PackageMetadata, kw_only=True, frozen=True):
    """Metadata, and the warnings from parsing it."""

    warnings: list[Finding]


def parse_metadata(skill_file: bytes, project_file: bytes | None) -> ParsedMetadata:
    """Parse the metadata of a package. Raises PackageRefused with all faults."""
    fields = _front_matter(skill_file)
    project = _project(project_file)
    metadata = fields.get("metadata", {})
    faults = [] if isinstance(metadata, dict) else [_fault("metadata", "must be a mapping")]
    sources = (project, metadata if isinstance(metadata, dict) else {}, fields)
    values = FieldSources(sources)
    version = values.text("version") or _DEFAULT_VERSION
    description = _text(fields.get("description")).strip()
    full_name = _text(fields.get("name")) and (_text(project.get("id")) or _text(fields.get("name")))
    scope, _, name = full_name.rpartition("/")
    faults += _name_faults(name, scope, full_name)
    faults += _description_faults(description)
    faults += _contradictions(*sources)
    faults += [_fault("version", fault.message) for fault in find_errors(version, Version, "version")]
    if faults:
        raise PackageRefused(faults)
    warnings: list[Finding] = []
    return ParsedMetadata(
        name=name,
        scope=scope or None,
        title=_line(FieldSources((project, sources[1])).text("name"), "name", warnings) or name,
        version=version,
        description=description,
        author=_line(values.text("author"), "author", warnings),
        license=_line(values.text("license"), "license", warnings) or None,
        tags=_labels(split_labels(values.text("tags")), Tag, "tags", warnings),
        capabilities=_labels(values.labels("capabilities"), Capability, "capabilities", warnings),
        warnings=[*_description_warnings(description), *warnings],
    )


def _fault(field: str, message: str, file: str = SKILL_FILE) -> Finding:
    return structure_error(f"skill-{field}", f"{field}: {message}", file)


def _front_matter(data: bytes) -> dict[str, Value]:
    if len(data) > MAX_SKILL_FILE:
        raise PackageRefused(
            [structure_error("skill-file", f"the file is larger than {MAX_SKILL_FILE:,} bytes", SKILL_FILE)]
        )
    try:
        return read(data.decode("utf-8"), strict=True).fields
    except UnicodeDecodeError:
        raise PackageRefused([structure_error("skill-file", "the file is not UTF-8 text", SKILL_FILE)]) from None
    except FrontMatterError as error:
        message = f"{error.field}: {error.message}" if error.field != SKILL_FILE else error.message
        raise PackageRefused([structure_error("front-matter", message, SKILL_FILE)]) from None


def _project(data: bytes | None) -> dict[str, Value]:
    """Return the strings and lists of `[metadata]`. Raises PackageRefused if the file is invalid."""
    try:
        if data is not None and len(data) > MAX_PROJECT_FILE:
            raise ValueError(f"is larger than {MAX_PROJECT_FILE:,} bytes")
        table = load_toml(data or b"").get("metadata", {})
        if not isinstance(table, dict):
            raise ValueError("has `metadata` that is not a table")
        for name in ("id", "name", "version", "description"):
            if not isinstance(table.get(name, ""), str):
                raise ValueError(f"has `metadata.{name}` that is not a string")
    except ValueError as error:
        raise PackageRefused([structure_error("project-file", f"the file {error}", PROJECT_FILE)]) from None
    return {key: value for key, value in table.items() if _is_text(value)}


def _is_text(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(item, str) for item in value))


def _contradictions(
    project: Mapping[str, Value], metadata: Mapping[str, Value], fields: Mapping[str, Value]
) -> list[Finding]:
    """Return a fault for each field that has two different values. Within SKILL.md, two versions are allowed."""
    description = _text(fields.get("description"))
    pairs = (
        ("name", _bare(_text(project.get("id"))), _bare(_text(fields.get("name"))), PROJECT_FILE),
        ("version", _text(project.get("version")), FieldSources((metadata, fields)).text("version"), PROJECT_FILE),
        ("description", _text(project.get("description")), description, PROJECT_FILE),
        ("description", FieldSources((metadata,)).text("description"), description, SKILL_FILE),
    )
    return [
        _fault(field, "differs from the front matter", file)
        for field, other, expected, file in pairs
        if expected and other and other.strip() != expected.strip()
    ]


def _bare(name: str) -> str:
    return name.rpartition("/")[2]


def _text(value: Value | None) -> str:
    return value if isinstance(value, str) else ""


def _name_faults(name: str, scope: str, full_name: str) -> list[Finding]:
    if not full_name:
        return [_fault("name", "is required")]
    faults = []
    if not _NAME.fullmatch(name):
        faults.append(_fault("name", "must be 1 to 64 characters of a-z and 0-9, with single hyphens between them"))
    if (scope or "/" in full_name) and not _SCOPE.fullmatch(scope):
        faults.append(_fault("name", "the part before the slash must be 1 to 64 characters of a-z, 0-9, '-' and '_'"))
    return faults


def _description_faults(description: str) -> list[Finding]:
    if not description:
        return [_fault("description", "is required")]
    faults = []
    if len(description) > _MAX_DESCRIPTION:
        faults.append(_fault("description", f"must be at most {_MAX_DESCRIPTION:,} characters"))
    if _CONTROL.search(description):
        faults.append(_fault("description", "must not contain control characters"))
    return faults


def _description_warnings(description: str) -> list[Finding]:
    if len(description) in _GOOD_DESCRIPTION:
        return []
    return [quality_warning("description-length", "the description should have 10 to 500 characters", SKILL_FILE)]


def _line(text: str, field: str, warnings: list[Finding]) -> str:
    """Return the text if it is one short line, else an empty text and a warning."""
    if text and any(True for _ in find_errors(text, Author, field)):
        warnings.append(
            quality_warning("field-dropped", f"{field}: ignored because it is not one short line", SKILL_FILE)
        )
        return ""
    return text


def _labels(labels: list[str], kind: Any, field: str, warnings: list[Finding]) -> list[str]:
    """Return the valid labels. A warning counts the others."""
    valid = [label for label in labels if not any(True for _ in find_errors(label, kind, field))][:_MAX_LABELS]
    if len(valid) < len(labels):
        message = f"{field}: {len(labels) - len(valid)} invalid labels ignored"
        warnings.append(quality_warning("field-dropped", message, SKILL_FILE))
    return valid
