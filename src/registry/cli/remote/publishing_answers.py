"""The answers of a registry about packages that are published, or wait for it."""

from typing import Any

from msgspec import Struct

from registry.cli.remote.answers import Count, Findings


class PublishedVersion(Struct):
    """A published version; `withdrawn` if it must not be used any more."""

    version: str
    withdrawn: dict[str, Any] | None = None


class Publishing(Struct):
    """The state of a publish job."""

    class Finding(Struct):
        """A reason or a warning."""

        kind: str
        message: str
        field: str | None

    skill_id: str
    version: str
    status: str
    checksum: str
    completed_at: str | None
    errors: list[Finding]
    warnings: list[Finding]


class PackageCheck(Struct):
    """What a registry would make of a package."""

    skill_id: str
    version: str
    checksum: str
    accepted: bool
    errors: list[Publishing.Finding]
    warnings: list[Publishing.Finding]


class WaitingReview(Struct):
    """A package that waits for a review."""

    job_id: str
    skill_id: str
    version: str
    risk: str
    uploaded_by: str
    held_at: str


class PackageFile(Struct):
    """A file of a package."""

    path: str
    size: Count
    sha256: str


class HeldReview(WaitingReview):
    """A package that waits for a review, or did, with what is in it."""

    previous: str | None
    findings: list[Findings.Finding]
    files: list[PackageFile]
