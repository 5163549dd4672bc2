"""The lines of an index file: one JSON object per version, oldest first (contract, section 6, *Index*)."""

from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from registry.catalog.store import Catalog
from registry.domain.dependencies import SkillDependency, named_dependencies
from registry.domain.models import Skill, SkillVersion, Version, version_parts
from registry.domain.runtime_needs import NEEDS, RuntimeNeeds
from registry.domain.withdrawals import Withdrawn
from registry.errors import FieldError, RegistryError, validation_error
from registry.parsing.strict_json import decode
from registry.publish.published_version import PublishedVersion

MAX_LINE_BYTES = 128 << 10
"""The maximum size of a line in a shared index: 200 dependencies with long ranges have a third of it."""

MAX_LINES = 10_000
"""The maximum number of lines that are read from one file of a shared index."""


class IndexMetadata(RuntimeNeeds, kw_only=True, omit_defaults=True):
    """The metadata of a version. What it does not say about running is left out."""

    description: str
    author: str
    license: str | None
    tags: list[str]
    capabilities: list[str]


class IndexLine(msgspec.Struct, kw_only=True):
    """One version. `cksum` is `sha256:` and the digest of the zip, or of the tree of an installed skill.

    `withdrawn` is missing unless the version, or all of the skill, is withdrawn.
    """

    name: str
    vers: str
    deps: list[SkillDependency]
    cksum: str | None
    features: dict[str, Any]
    yanked: bool
    download_url: str | None
    published_at: str
    size: int | None
    metadata: IndexMetadata
    withdrawn: Withdrawn | UnsetType = UNSET


def published_line(version: PublishedVersion, download_url: str, withdrawn: Withdrawn | None) -> IndexLine:
    """Return the line of a published version. A revoked version is listed as yanked too, for readers of before."""
    record = version.record
    return IndexLine(
        name=version.skill_id,
        vers=version.version,
        deps=record.dependencies,
        cksum=version.checksum,
        features={},
        yanked=version.state != "active",
        download_url=download_url,
        published_at=version.published_at,
        size=version.size,
        metadata=IndexMetadata(
            description=record.description,
            author=record.author,
            license=record.license,
            tags=record.tags,
            capabilities=record.capabilities,
            **{name: getattr(record.needs, name) for name in NEEDS},
        ),
        withdrawn=withdrawn or UNSET,
    )


def catalog_lines(catalog: Catalog, skill_id: str) -> list[IndexLine]:
    """Return the lines of an installed skill or a record. Raises SKILL_NOT_FOUND."""
    skill = catalog.get(skill_id)
    items, _ = catalog.versions(skill_id, limit=_MAX_VERSIONS, offset=0)
    return [_line(skill, catalog.version(skill_id, item.version)) for item in reversed(items)]


_MAX_VERSIONS = 1000


def _line(skill: Skill, version: SkillVersion) -> IndexLine:
    return IndexLine(
        name=skill.id,
        vers=version.version,
        deps=named_dependencies(skill.dependencies) if version.version == skill.version else [],
        # The files of older versions no longer exist.
        cksum=skill.digest if version.version == skill.version else None,
        features={},
        yanked=False,
        download_url=None,
        published_at=version.created_at,
        size=None,
        metadata=IndexMetadata(
            description=version.description,
            author=skill.author,
            license=skill.license,
            tags=skill.tags,
            capabilities=skill.capabilities,
            **{name: getattr(skill, name) for name in NEEDS},
        ),
    )


def ndjson(lines: list[IndexLine]) -> bytes:
    """Return the lines as an index file."""
    return b"".join(msgspec.json.encode(line) + b"\n" for line in lines)


class SkippedLine(NamedTuple):
    """A line of an index file that was not copied: its number, from 1, and the reason."""

    number: int
    reason: str


class MergedFile(NamedTuple):
    """An index file, and the lines that were skipped."""

    content: bytes
    skipped: list[SkippedLine]


class SharedLine(msgspec.Struct, kw_only=True):
    """The validated fields of a line of untrusted origin."""

    name: str
    vers: Version
    download_url: str | None = None


def merged(skill_id: str, ours: bytes, theirs: bytes) -> MergedFile:
    """Return the index file of a skill: our lines merged with their lines of other versions, oldest first.

    Another registry may publish to the same index. Invalid lines of theirs are skipped.
    """
    lines, skipped = read_lines(skill_id, theirs)
    lines_of = {version_parts(line.vers): raw for line, raw in lines}
    lines_of |= {version_parts(msgspec.json.decode(raw, type=SharedLine).vers): raw for raw in ours.splitlines()}
    return MergedFile(b"".join(lines_of[key] + b"\n" for key in sorted(lines_of)), skipped)


def read_lines(skill_id: str, text: bytes) -> tuple[list[tuple[SharedLine, bytes]], list[SkippedLine]]:
    """Return the valid lines of a file of the shared index, each with its bytes, and the skipped lines."""
    lines: list[tuple[SharedLine, bytes]] = []
    skipped: list[SkippedLine] = []
    raws = text.split(b"\n", MAX_LINES)
    for number, raw in enumerate(raws[:MAX_LINES], start=1):
        if not raw.strip():
            continue
        try:
            lines.append((_shared_line(skill_id, raw), raw))
        except RegistryError as error:
            skipped.append(SkippedLine(number, error.message))
    if raws[MAX_LINES:] and raws[MAX_LINES].strip():
        skipped.append(SkippedLine(MAX_LINES + 1, f"only the first {MAX_LINES:,} lines are read"))
    return lines, skipped


def _shared_line(skill_id: str, raw: bytes) -> SharedLine:
    """Return the validated fields of a line. Raises VALIDATION_ERROR if it is not a version of the skill."""
    if len(raw) > MAX_LINE_BYTES:
        raise validation_error(FieldError("line", f"is longer than {MAX_LINE_BYTES:,} bytes"))
    line = decode(raw, SharedLine)
    if line.name != skill_id:
        raise validation_error(FieldError("name", f"is {line.name[:100]!r}, not {skill_id!r}"))
    return line
