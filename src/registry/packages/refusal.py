"""The error for a package that is refused, with all faults that were found, and its findings."""

from collections.abc import Sequence

from registry.domain.file_names import printable_name
from registry.domain.findings import Finding, Severity


class PackageRefused(Exception):
    """The package is refused. `findings` has at least one reason, worded for the author of the package."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__("; ".join(finding.message for finding in findings))
        self.findings = tuple(findings)


def structure_error(rule: str, message: str, file: str | None = None) -> Finding:
    """Return the finding for a package with an invalid structure."""
    return Finding(kind="structure_error", severity="medium", rule=rule, file=_shown(file), message=message)


def security_issue(rule: str, message: str, file: str | None = None) -> Finding:
    """Return the finding for content that could harm a reader who unpacks the package."""
    return Finding(kind="security_issue", severity="high", rule=rule, file=_shown(file), message=message)


def quality_warning(rule: str, message: str, file: str | None = None, severity: Severity = "none") -> Finding:
    """Return the finding for accepted content that could be better."""
    return Finding(kind="quality_warning", severity=severity, rule=rule, file=_shown(file), message=message)


def malformed(message: str, file: str | None = None) -> PackageRefused:
    """Return the refusal of an archive that is damaged, truncated or of another format."""
    return PackageRefused([structure_error("archive-malformed", message, file)])


def unsafe(rule: str, message: str, file: str | None = None) -> PackageRefused:
    """Return the refusal of an archive that is ambiguous, hides content or exceeds a limit."""
    return PackageRefused([security_issue(rule, message, file)])


def _shown(name: str | None) -> str | None:
    """Return a name for display: shortened, without characters that are invalid in a terminal or in JSON."""
    if name is None:
        return None
    name = printable_name(name)
    plain = "".join(character if character.isprintable() else "\ufffd" for character in name[:200])
    return plain + ("…" if len(name) > 200 else "")
