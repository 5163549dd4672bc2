"""Findings in skills and packages, and the risk that results from them."""

from collections.abc import Iterable
from typing import Literal, get_args

import msgspec

Kind = Literal["structure_error", "security_issue", "quality_warning"]
Severity = Literal["none", "low", "medium", "high"]
Risk = Severity
"""The highest severity of all findings; `none` if there are no findings."""

RISKS: tuple[Risk, ...] = get_args(Severity)
"""All levels in ascending order."""

RISKY: frozenset[Risk] = frozenset({"medium", "high"})
"""The levels to know of before a skill is used. Many harmless skills have `low`."""


class Finding(msgspec.Struct, kw_only=True, frozen=True):
    """One finding. `rule` is the name of the rule, `file` a path in the skill's folder, and `line` counts from 1."""

    kind: Kind
    severity: Severity
    rule: str
    file: str | None = None
    line: int | None = None
    message: str


class SkillFindings(msgspec.Struct, kw_only=True, frozen=True):
    """The findings in a skill by version `engine` of the rules."""

    risk: Risk
    engine: int
    findings: list[Finding]


def gravest_first(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings that make a skill risky, the most severe first."""
    risky = (finding for finding in findings if finding.severity in RISKY)
    return sorted(risky, key=lambda finding: RISKS.index(finding.severity), reverse=True)


def risk(findings: Iterable[Finding]) -> Risk:
    """Return the highest severity; `none` if there are no findings."""
    return max((finding.severity for finding in findings), key=RISKS.index, default="none")
