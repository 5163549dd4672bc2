"""Unpacks zips with several skills by the rules for packages, within the limits for repositories."""

from pathlib import Path

from registry.outbound import OutboundError
from registry.packages.limits import DEFAULT_LIMITS, PackageLimits
from registry.packages.package import unpack
from registry.packages.refusal import PackageRefused

_MAX_ENTRIES = 50_000


def unpack_archive(archive: Path, folder: Path, *, archive_bytes: int, total_bytes: int) -> Path:
    """Unpack a zip into `folder`, which must not exist, and return it.

    Raises OutboundError if the zip breaks a rule, OSError for a failure of the local disk.
    """
    limits = PackageLimits(
        archive_bytes=archive_bytes,
        entries=_MAX_ENTRIES,
        file_bytes=DEFAULT_LIMITS.file_bytes,
        total_bytes=total_bytes,
    )
    try:
        unpack(archive, folder, limits)
    except PackageRefused as refusal:
        finding = refusal.findings[0]
        location = f" ({finding.file})" if finding.file else ""
        raise OutboundError(f"the zip is refused: {finding.message}{location}") from None
    return folder


def top_folder(folder: Path) -> str:
    """Return the name of the only top-level folder, as repository archives have one, else an empty string."""
    children = list(folder.iterdir())
    return children[0].name if len(children) == 1 and children[0].is_dir() else ""
