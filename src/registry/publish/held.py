"""Which packages wait for a review, and what is stored of one: its findings, its files, and the decision."""

import hashlib
from typing import Literal

import msgspec

from registry.config.groups.publishing import Hold
from registry.domain.findings import RISKY, Finding, Risk
from registry.inspection.inspector import InspectedPackage
from registry.publish.published_version import PublishedVersion

Outcome = Literal["approved", "rejected"]


def is_held(hold: Hold, risk: Risk) -> bool:
    """Return whether a package of this risk waits for a review. `hold` is the setting `publish.hold`."""
    if hold == "medium":
        return risk in RISKY
    return hold in ("all", risk)


class HeldFile(msgspec.Struct, kw_only=True, frozen=True):
    """A file of a held package: its path, its size in bytes, and the SHA-256 of its bytes in hexadecimal."""

    path: str
    size: int
    sha256: str


class HeldPackage(msgspec.Struct, kw_only=True, frozen=True):
    """What a reviewer sees of a package before any of it is published."""

    description: str
    risk: Risk
    findings: list[Finding]
    files: list[HeldFile]

    @classmethod
    def of(cls, version: PublishedVersion, files: list[HeldFile]) -> "HeldPackage":
        """Return what is stored of a package that would become this version."""
        report = version.record.all_findings()
        return cls(
            description=version.record.description, risk=report.risk, findings=list(report.findings), files=files
        )


class ReviewDecision(msgspec.Struct, kw_only=True, frozen=True):
    """The end of a review: what was decided, by whom, why and when."""

    outcome: Outcome
    by: str
    reason: str
    at: str


def held_files(inspected: InspectedPackage) -> list[HeldFile]:
    """Return the files of a package that is still unpacked, in order of path. Raises OSError."""
    package = inspected.package
    files = []
    for file in package.files:
        with (package.folder / file.path).open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
        files.append(HeldFile(path=file.path, size=file.size, sha256=digest))
    return files
