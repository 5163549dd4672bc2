"""Parses the metadata of a package: SKILL.md (Agent Skills format) and skill-project.toml.

A field comes from skill-project.toml, else from `metadata`, else from the front matter, else it has a default.

To be *published*, name and description must be in the front matter: agents read them there, and people read what the
registry shows. A package is refused if its other values differ from these, or if its two files have different
versions. To be *installed*, it is enough that a scan of the skills directory would read the folder.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from registry.domain.dependencies import SkillDependency, declared, named_dependencies
from registry.domain.findings import Finding
from registry.domain.models import RESERVED_IDS, Author, Capability, Tag, Version, example_texts, split_labels
from registry.domain.runtime_needs import RuntimeNeeds
from registry.domain.validation import find_errors
from registry.domain.version_text import version_number
from registry.packages.refusal import PackageRefused, quality_warning, structure_error
from registry.parsing.frontmatter import FrontMatter, read
from registry.parsing.frontmatter_advice import Defect
from registry.parsing.text_encoding import decode, with_line_feeds
from registry.parsing.toml_text import load_toml
from registry.parsing.yaml_text import Value
from registry.skill_folder.format_rules import format_warnings
from registry.skill_folder.ids import derived_id, slug
from registry.skill_folder.reading import (
    PROJECT_FILE,
    FieldSources,
    UnreadableSkill,
    project_metadata,
    read_skill_folder,
    read_skill_text,
    runtime_needs,
    texts_of,
)
from registry.skill_folder.tree import SKILL_FILE

MAX_SKILL_FILE = 1024 * 1024
MAX_PROJECT_FILE = 64 * 1024

_NAME = re.compile(r"(?=.{1,64}\Z)[a-z0-9]+(?:-[a-z0-9]+)*")
_SCOPE = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_MAX_DESCRIPTION = 1_024
_GOOD_DESCRIPTION = range(10, 501)
_REPEATED_EXAMPLES = 3
_LISTED_REQUESTS = 5
_WORDS_OF_REQUEST = range(3, 8)
_BETWEEN_REQUESTS = re.compile(r"[,;\n]+")
_MAX_LABELS = 20
_SHOWN_LABELS, _SHOWN_CHARACTERS = 3, 30
_UNREAD = frozenset({"front-matter", "skill-file", "project-file"})
"""Faults after which other faults may only follow from them."""

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
    needs: RuntimeNeeds = msgspec.field(default_factory=RuntimeNeeds)
    dependencies: list[SkillDependency] = msgspec.field(default_factory=list)


class ParsedMetadata(PackageMetadata, kw_only=True, frozen=True):
    """Metadata, and the warnings from parsing it."""

    warnings: list[Finding]


class Examined(NamedTuple):
    """What is known of the metadata of a package.

    `faults` are the reasons not to publish it, in the words of its author. `metadata` is None if there are some.
    """

    metadata: ParsedMetadata | None
    faults: list[Finding]
    warnings: list[Finding]


def parse_metadata(skill_file: bytes, project_file: bytes | None) -> ParsedMetadata:
    """Parse the metadata of a package to be published. Raises PackageRefused with all faults."""
    examined = examine(skill_file, project_file)
    if examined.metadata is None:
        unread = [fault for fault in examined.faults if fault.rule in _UNREAD]
        raise PackageRefused(unread or examined.faults)
    return examined.metadata


def examine(
    skill_file: bytes, project_file: bytes | None, *, file_name: str = SKILL_FILE, folder: str | None = None
) -> Examined:
    """Return the metadata of a package, all reasons not to publish it, and warnings.

    `file_name` is that of the SKILL.md, which may have another case, and `folder` the name of its folder, if known.
    """
    faults, document = _document(skill_file, file_name)
    try:
        table = _project(project_file)
    except PackageRefused as refused:
        faults, table = [*faults, *refused.findings], {}
    project = texts_of(table)
    if document is None or (faults and not document.fields):
        return Examined(None, faults, [])
    fields, metadata = document.fields, document.fields.get("metadata", {})
    if not isinstance(metadata, dict):
        message = "metadata: must be a mapping: write `key: value` lines, indented, below it"
        faults.append(structure_error("skill-metadata", message, SKILL_FILE))
    sources = (project, metadata if isinstance(metadata, dict) else {}, fields)
    version = FieldSources(sources).text("version") or _DEFAULT_VERSION
    description = _text(fields.get("description")).strip()
    full_name = _text(fields.get("name")) and (_text(project.get("id")) or _text(fields.get("name")))
    scope, _, name = full_name.rpartition("/")
    faults += _name_faults(name, scope, full_name)
    faults += _description_faults(description)
    faults += _contradictions(*sources)
    faults += _version_faults(version)
    required = declared(table.get("dependencies"), FieldSources(sources[1:2]).text("dependencies"))
    faults += [_fault("dependencies", fault) for fault in required.faults]
    faults = [_with_line(fault, document) for fault in faults]
    warnings = [_with_line(warning, document) for warning in _warnings(document, description, folder)]
    if faults:
        return Examined(None, faults, warnings)
    parsed = _parsed(sources, name, scope, version, description, warnings)
    needs = runtime_needs(fields, project)
    return Examined(msgspec.structs.replace(parsed, needs=needs, dependencies=required.dependencies), [], warnings)


def _parsed(
    sources: tuple[Mapping[str, Value], ...],
    name: str,
    scope: str,
    version: str,
    description: str,
    warnings: list[Finding],
) -> ParsedMetadata:
    values = FieldSources(sources)
    return ParsedMetadata(
        name=name,
        scope=scope or None,
        title=_line(FieldSources(sources[:2]).text("name"), "name", warnings) or name,
        version=version,
        description=description,
        author=_line(values.text("author"), "author", warnings),
        license=_line(values.text("license"), "license", warnings) or None,
        tags=_labels(split_labels(values.text("tags")), Tag, "tags", warnings),
        capabilities=_labels(values.labels("capabilities"), Capability, "capabilities", warnings),
        warnings=warnings,
    )


def installed_metadata(folder: Path, named: str) -> ParsedMetadata:
    """Return the metadata of a package to be installed, as a scan reads its folder.

    `named` is the name of the skill's folder at its origin. The id is the skill's name if that is one, else `named`,
    else one that is derived from the name. Raises PackageRefused if the SKILL.md cannot be read.
    """
    try:
        skill = read_skill_folder(folder, named=named, is_placed=False)
    except (UnreadableSkill, FileNotFoundError) as error:
        reason = error.reason if isinstance(error, UnreadableSkill) else f"there is no {SKILL_FILE}"
        raise PackageRefused([structure_error("skill-file", reason, SKILL_FILE)]) from None
    project = project_metadata(folder, [])
    declared = _text(project.get("id")) or skill.name
    scope, _, bare = declared.rpartition("/")
    is_scoped = bool(_SCOPE.fullmatch(scope)) and bool(_NAME.fullmatch(bare))
    name = derived_id(bare if is_scoped else declared, named)
    return ParsedMetadata(
        name=f"{name}-skill" if name in RESERVED_IDS else name,
        scope=scope if is_scoped else None,
        title=skill.name,
        version=skill.version,
        description=skill.description,
        author=skill.author,
        license=skill.license,
        tags=skill.tags,
        capabilities=skill.capabilities,
        needs=skill.needs,
        dependencies=named_dependencies(skill.dependencies),
        warnings=[quality_warning("reading", warning, SKILL_FILE) for warning in skill.warnings],
    )


def _document(data: bytes, file_name: str) -> tuple[list[Finding], FrontMatter | None]:
    """Return the front matter and its faults; None if the bytes are no text."""
    if len(data) > MAX_SKILL_FILE:
        return [structure_error("skill-file", f"the file is larger than {MAX_SKILL_FILE:,} bytes", SKILL_FILE)], None
    try:
        text = read_skill_text(file_name, data)
    except ValueError as error:
        rule = "front-matter" if "empty" in str(error) else "skill-file"
        return [structure_error(rule, str(error), SKILL_FILE)], None
    faults = [_fault_of("skill-file", defect) for defect in text.defects if defect.refused]
    if faults:
        return faults, None
    document = read(with_line_feeds(decode(data)))  # with its control characters, which a field may not have
    return [_fault_of("front-matter", defect) for defect in document.defects if defect.refused], document


def _fault_of(rule: str, defect: Defect) -> Finding:
    message = defect.advice if defect.field in (SKILL_FILE, "") else f"{defect.field}: {defect.advice}"
    return msgspec.structs.replace(structure_error(rule, message, SKILL_FILE), line=defect.line)


def _with_line(finding: Finding, document: FrontMatter) -> Finding:
    """Return a finding about a field of the front matter with the line of the field."""
    field = finding.message.partition(":")[0]
    if finding.line is not None or finding.file != SKILL_FILE or field not in document.lines:
        return finding
    return msgspec.structs.replace(finding, line=document.lines[field])


def _fault(field: str, message: str, file: str = SKILL_FILE) -> Finding:
    return structure_error(f"skill-{field}", f"{field}: {message}", file)


def _warnings(document: FrontMatter, description: str, folder: str | None) -> Iterator[Finding]:
    yield from _description_warnings(description, document)
    for defect in document.defects:
        if not defect.refused:
            message = f"{defect.field}: {defect.advice}"
            yield quality_warning("front-matter", message, SKILL_FILE)
    for field, message in format_warnings(document.fields, folder):
        warning = quality_warning("agentskills-format", message, SKILL_FILE)
        yield msgspec.structs.replace(warning, line=document.lines.get(field))


def _project(data: bytes | None) -> dict[str, Any]:
    """Return the tables of the file. Raises PackageRefused if it is invalid."""
    try:
        if data is not None and len(data) > MAX_PROJECT_FILE:
            raise ValueError(f"is larger than {MAX_PROJECT_FILE:,} bytes")
        document = load_toml(data or b"")
        table = document.get("metadata", {})
        if not isinstance(table, dict):
            raise ValueError("has `metadata` that is not a table")
        for name in ("id", "name", "version", "description"):
            if not isinstance(table.get(name, ""), str):
                raise ValueError(f"has `metadata.{name}` that is not a string")
    except ValueError as error:
        raise PackageRefused([structure_error("project-file", f"the file {error}", PROJECT_FILE)]) from None
    return document


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
        for field, written, expected, file in pairs
        if expected and written and written.strip() != expected.strip()
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
        hint = slug(name.lower()).replace("_", "-")
        write = f": write {hint}" if _NAME.fullmatch(hint) else ""
        rule = "must be 1 to 64 characters of a-z and 0-9, with single hyphens between them"
        faults.append(_fault("name", f"{rule}{write}"))
    if (scope or "/" in full_name) and not _SCOPE.fullmatch(scope):
        faults.append(_fault("name", "the part before the slash must be 1 to 64 characters of a-z, 0-9, '-' and '_'"))
    return faults


def _version_faults(version: str) -> list[Finding]:
    number = version_number(version)
    write = f": write {number} instead of {version[:40]}" if number is not None else ""
    return [_fault("version", fault.message + write) for fault in find_errors(version, Version, "version")]


def _description_faults(description: str) -> list[Finding]:
    if not description:
        return [_fault("description", "is required")]
    faults = []
    if len(description) > _MAX_DESCRIPTION:
        faults.append(_fault("description", f"must be at most {_MAX_DESCRIPTION:,} characters"))
    if _CONTROL.search(description):
        faults.append(_fault("description", "must not contain control characters"))
    return faults


def _description_warnings(description: str, document: FrontMatter) -> Iterator[Finding]:
    if len(description) not in _GOOD_DESCRIPTION:
        yield quality_warning("description-length", "the description should have 10 to 500 characters", SKILL_FILE)
    metadata = document.fields.get("metadata")
    examples = example_texts(metadata.get("examples")) if isinstance(metadata, dict) else []
    if _lists_requests(description, examples):
        message = "the description is a list of requests: say in a sentence what the skill does"
        yield quality_warning("list-of-requests", message, SKILL_FILE)


def _lists_requests(description: str, examples: Iterable[str]) -> bool:
    """Return whether a description is written for a search and not for a reader.

    It repeats three of its examples, or it is one list of five or more requests of three to seven words. No description
    of 2,665 real skills is such a list.
    """
    words = " ".join(description.casefold().split())
    if sum(bool(text.strip()) and text.strip().casefold() in words for text in examples) >= _REPEATED_EXAMPLES:
        return True
    parts = [part.split() for part in _BETWEEN_REQUESTS.split(description) if part.strip()]
    return len(parts) >= _LISTED_REQUESTS and all(len(part) in _WORDS_OF_REQUEST for part in parts)


def _line(text: str, field: str, warnings: list[Finding]) -> str:
    """Return the text if it is one short line, else an empty text and a warning."""
    if text and any(True for _ in find_errors(text, Author, field)):
        warnings.append(
            quality_warning("field-dropped", f"{field}: ignored because it is not one short line", SKILL_FILE)
        )
        return ""
    return text


def _labels(labels: list[str], kind: Any, field: str, warnings: list[Finding]) -> list[str]:
    """Return the valid labels. Warnings say which of the others are ignored, and why."""
    faults = {label: fault.message for label in labels for fault in find_errors(label, kind, field)}
    if faults:
        named = ", ".join(f"'{label[:_SHOWN_CHARACTERS]}'" for label in list(faults)[:_SHOWN_LABELS])
        more = f" and {len(faults) - _SHOWN_LABELS} more" if len(faults) > _SHOWN_LABELS else ""
        reason = next(iter(faults.values()))
        warnings.append(quality_warning("field-dropped", f"{field}: ignored {named}{more}: {reason}", SKILL_FILE))
    valid = [label for label in labels if label not in faults]
    if len(valid) > _MAX_LABELS:
        message = f"{field}: only the first {_MAX_LABELS} are taken"
        warnings.append(quality_warning("field-dropped", message, SKILL_FILE))
    return valid[:_MAX_LABELS]
