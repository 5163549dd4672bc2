"""The lines of the index: one JSON object a version, oldest first (contract, section 6, *Index*)."""

from typing import Any, NamedTuple

import msgspec

from registry.catalog.store import Catalog
from registry.domain.models import Skill, SkillVersion, Version, version_parts
from registry.errors import FieldError, RegistryError, validation_error
from registry.parsing.strict_json import decode
from registry.publish.published import PublishedVersion

MAX_LINE_BYTES = 16 << 10
"""Bytes of a line in a shared index; what another registry says of one version is far less."""

MAX_LINES = 10_000
"""Lines that are read of one file of a shared index."""


class IndexMetadata(msgspec.Struct, kw_only=True):
    """What a version says of its skill."""

    description: str
    author: str
    license: str | None
    tags: list[str]
    capabilities: list[str]


class IndexLine(msgspec.Struct, kw_only=True):
    """One version. `cksum` is `sha256:` and a digest: of the zip, or of an installed skill's tree."""

    name: str
    vers: str
    deps: list[str]
    cksum: str | None
    features: dict[str, Any]
    yanked: bool
    download_url: str | None
    published_at: str
    size: int | None
    metadata: IndexMetadata


def published_line(version: PublishedVersion, download_url: str) -> IndexLine:
    """Return the line of a published version; one that is revoked is listed as yanked, for good."""
    record = version.record
    return IndexLine(
        name=version.skill_id,
        vers=version.version,
        deps=[],
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
        ),
    )


def catalog_lines(catalog: Catalog, skill_id: str) -> list[IndexLine]:
    """Return the lines of a skill that was not published: installed, or a record. Raises SKILL_NOT_FOUND."""
    skill = catalog.get(skill_id)
    items, _ = catalog.versions(skill_id, limit=_MOST_VERSIONS, offset=0)
    return [_line(skill, catalog.version(skill_id, item.version)) for item in reversed(items)]


_MOST_VERSIONS = 1000


def _line(skill: Skill, version: SkillVersion) -> IndexLine:
    return IndexLine(
        name=skill.id,
        vers=version.version,
        deps=skill.dependencies,
        # The files of older versions are not there any more.
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
        ),
    )


def ndjson(lines: list[IndexLine]) -> bytes:
    """Return the lines as a file of the index."""
    return b"".join(msgspec.json.encode(line) + b"\n" for line in lines)


class LeftOut(NamedTuple):
    """A line of an index file that is not copied on: its number, from 1, and what is wrong with it."""

    number: int
    reason: str


class Merged(NamedTuple):
    """A file of the index, and the lines that were left out of it."""

    content: bytes
    left_out: list[LeftOut]


class SharedLine(msgspec.Struct, kw_only=True):
    """What counts in a line that anybody may have written."""

    name: str
    vers: Version
    download_url: str | None = None


def merged(skill_id: str, ours: bytes, theirs: bytes) -> Merged:
    """Return a skill's file with our lines, and of theirs those of versions we do not know, oldest first.

    Another registry may publish to the same index. What is wrong in theirs is left out, line by line.
    """
    lines, left_out = read_lines(skill_id, theirs)
    known = {version_parts(line.vers): raw for line, raw in lines}
    known |= {version_parts(msgspec.json.decode(raw, type=SharedLine).vers): raw for raw in ours.splitlines()}
    return Merged(b"".join(known[key] + b"\n" for key in sorted(known)), left_out)


def read_lines(skill_id: str, text: bytes) -> tuple[list[tuple[SharedLine, bytes]], list[LeftOut]]:
    """Return the lines of a skill's file in the shared index, each with its bytes, and what had to be left out."""
    found: list[tuple[SharedLine, bytes]] = []
    left_out: list[LeftOut] = []
    raws = text.split(b"\n", MAX_LINES)
    for number, raw in enumerate(raws[:MAX_LINES], start=1):
        if not raw.strip():
            continue
        try:
            found.append((_shared_line(skill_id, raw), raw))
        except RegistryError as error:
            left_out.append(LeftOut(number, error.message))
    if raws[MAX_LINES:] and raws[MAX_LINES].strip():
        left_out.append(LeftOut(MAX_LINES + 1, f"it and all after it: only {MAX_LINES:,} lines are read"))
    return found, left_out


def _shared_line(skill_id: str, raw: bytes) -> SharedLine:
    """Return what counts in a line. Raises VALIDATION_ERROR where it is not a version of the skill."""
    if len(raw) > MAX_LINE_BYTES:
        raise validation_error(FieldError("line", f"is longer than {MAX_LINE_BYTES:,} bytes"))
    line = decode(raw, SharedLine)
    if line.name != skill_id:
        raise validation_error(FieldError("name", f"is {line.name[:100]!r}, not {skill_id!r}"))
    return line
