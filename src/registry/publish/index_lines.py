"""The lines of the index: one JSON object a version, oldest first (contract, section 6, *Index*)."""

from typing import Any

import msgspec

from registry.catalog.store import Catalog
from registry.domain.models import Skill, SkillVersion
from registry.publish.published import PublishedVersion


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


def merged(ours: bytes, theirs: bytes) -> bytes:
    """Return a file with our lines, and of theirs those of versions we do not know, oldest first.

    Another registry may publish to the same index. A line of theirs that cannot be read is left out.
    """
    known = dict(_by_version(theirs)) | dict(_by_version(ours))
    return b"".join(known[key] for key in sorted(known))


def _by_version(text: bytes) -> list[tuple[tuple[int, ...], bytes]]:
    found = []
    for line in text.splitlines():
        try:
            version = msgspec.json.decode(line, type=dict[str, Any])["vers"]
            found.append((tuple(int(part) for part in str(version).split(".")), line + b"\n"))
        except (msgspec.DecodeError, ValueError, KeyError):
            continue
    return found
