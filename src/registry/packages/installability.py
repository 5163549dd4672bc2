"""Says of a folder whether it could be installed, without a copy of it."""

from pathlib import Path

from registry.domain.findings import Finding
from registry.domain.generated_files import is_generated_path
from registry.packages.contents import forbidden_content
from registry.packages.limits import DEFAULT_LIMITS
from registry.packages.refusal import PackageRefused
from registry.packages.source_folder import SourceFolder

_MAX_SHOWN = 3


def reason_not_to_install(folder: Path) -> str | None:
    """Return why `install` would refuse the files of a skill's folder; None if it would not. Raises OSError."""
    issues: list[Finding] = []
    try:
        for name, data in SourceFolder(folder, DEFAULT_LIMITS, is_generated_path).contents():
            issues.extend(forbidden_content(name, data))
    except PackageRefused as refused:
        issues.extend(refused.findings)
    if not issues:
        return None
    reasons = [f"{issue.file}: {issue.message}" if issue.file else issue.message for issue in issues]
    return "; ".join(reasons[:_MAX_SHOWN]) + ("; …" if len(reasons) > _MAX_SHOWN else "")
