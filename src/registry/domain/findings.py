"""One thing found in a skill or a package, and how grave all of them are together."""

from collections.abc import Iterable
from typing import Literal, get_args

import msgspec

Kind = Literal["structure_error", "security_issue", "quality_warning"]
Severity = Literal["none", "low", "medium", "high"]
Risk = Severity
"""How grave the gravest finding is; `none` also where there is no finding."""

RISKS: tuple[Risk, ...] = get_args(Severity)
"""Every level, the lowest first."""


class Finding(msgspec.Struct, kw_only=True, frozen=True):
    """What was found: `rule` names the rule, `file` is below the skill's folder, `line` counts from 1."""

    kind: Kind
    severity: Severity
    rule: str
    file: str | None = None
    line: int | None = None
    message: str


class SkillFindings(msgspec.Struct, kw_only=True, frozen=True):
    """What the rules of version `engine` found in a skill."""

    risk: Risk
    engine: int
    findings: list[Finding]


def risk(findings: Iterable[Finding]) -> Risk:
    """Return the gravest severity, `none` where there is no finding."""
    return max((finding.severity for finding in findings), key=RISKS.index, default="none")
