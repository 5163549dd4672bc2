"""Turns an inspected package into the published version that it becomes."""

from registry.inspection.inspector import InspectedPackage
from registry.publish.published_version import PublishedRecord, PublishedVersion


def inspected_version(
    inspected: InspectedPackage, skill_id: str, version: str, *, checksum: str, size: int, at: str
) -> PublishedVersion:
    """Return the version of a package that is still unpacked, as published at the time `at`. `size` is in bytes."""
    return PublishedVersion(
        skill_id=skill_id,
        version=version,
        checksum=checksum,
        size=size,
        published_at=at,
        record=PublishedRecord.of(inspected),
        skill_file=(inspected.package.folder / "SKILL.md").read_text(encoding="utf-8"),
    )
