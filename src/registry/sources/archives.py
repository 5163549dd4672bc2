"""Zips that hold several skills: unpacked by the rules for packages, within the limits of a repository."""

from pathlib import Path

from registry.outbound import OutboundError
from registry.packages.limits import DEFAULT_LIMITS, PackageLimits
from registry.packages.package import unpack
from registry.packages.refusal import PackageRefused

_MOST_ENTRIES = 50_000


def unpacked(archive: Path, folder: Path, *, archive_bytes: int, total_bytes: int) -> Path:
    """Unpack a zip into `folder`, which must not exist, and return it.

    Raises OutboundError where the zip breaks a rule, OSError of our own disk.
    """
    limits = PackageLimits(
        archive_bytes=archive_bytes,
        entries=_MOST_ENTRIES,
        file_bytes=DEFAULT_LIMITS.file_bytes,
        total_bytes=total_bytes,
    )
    try:
        unpack(archive, folder, limits)
    except PackageRefused as refusal:
        first = refusal.findings[0]
        where = f" ({first.file})" if first.file else ""
        raise OutboundError(f"the zip is refused: {first.message}{where}") from None
    return folder


def top(folder: Path) -> str:
    """Return the one folder that holds everything there is, as archives of repositories have it, or nothing."""
    found = list(folder.iterdir())
    return found[0].name if len(found) == 1 and found[0].is_dir() else ""
