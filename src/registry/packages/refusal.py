"""How a package is refused: with everything that is wrong with it, as far as that could be read."""

from collections.abc import Sequence

from registry.domain.file_names import printable_name
from registry.domain.findings import Finding


class PackageRefused(Exception):
    """The package is not taken; `findings` say why, at least one, in words for the one who made it."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__("; ".join(finding.message for finding in findings))
        self.findings = tuple(findings)


def structure_error(rule: str, message: str, file: str | None = None) -> Finding:
    """Return the finding for a package that is not made as packages are."""
    return Finding(kind="structure_error", severity="medium", rule=rule, file=_shown(file), message=message)


def security_issue(rule: str, message: str, file: str | None = None) -> Finding:
    """Return the finding for what could harm those who unpack the package."""
    return Finding(kind="security_issue", severity="high", rule=rule, file=_shown(file), message=message)


def quality_warning(rule: str, message: str, file: str | None = None) -> Finding:
    """Return the finding for what is kept and could be better."""
    return Finding(kind="quality_warning", severity="none", rule=rule, file=_shown(file), message=message)


def malformed(message: str, file: str | None = None) -> PackageRefused:
    """Return the refusal of an archive that is damaged, cut short or of another kind."""
    return PackageRefused([structure_error("archive-malformed", message, file)])


def unsafe(rule: str, message: str, file: str | None = None) -> PackageRefused:
    """Return the refusal of what deceives or overwhelms: it says two things, hides one, or is too large."""
    return PackageRefused([security_issue(rule, message, file)])


def _shown(name: str | None) -> str | None:
    """Return a name as it may be shown: short, and without characters that a terminal or JSON cannot bear."""
    if name is None:
        return None
    name = printable_name(name)
    plain = "".join(character if character.isprintable() else "\ufffd" for character in name[:200])
    return plain + ("…" if len(name) > 200 else "")
