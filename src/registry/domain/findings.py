"""Findings in skills and packages, and the risk that results from them."""

from collections.abc import Collection, Iterable
from typing import Literal, get_args

import msgspec
from msgspec import UNSET, UnsetType

Kind = Literal["structure_error", "security_issue", "quality_warning"]
Severity = Literal["none", "low", "medium", "high"]
Risk = Literal["none", "low", "waived", "medium", "high"]
"""The highest severity of all findings; `none` if there are no findings.

`waived`: there are graver findings than `low`, and an administrator has waived all of those.
"""

RISKS: tuple[Risk, ...] = get_args(Risk)
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


class Waiver(msgspec.Struct, kw_only=True, frozen=True):
    """What an administrator has said of the findings of a rule in a file: that they do no harm, and why."""

    rule: str
    file: str | None
    reason: str
    by: str
    at: str

    def covers(self, finding: Finding) -> bool:
        """Return whether a finding is waived."""
        return (self.rule, self.file) == (finding.rule, finding.file)


class SkillFindings(msgspec.Struct, kw_only=True, frozen=True):
    """The findings in a skill by version `engine` of the rules. `waivers` says which of them do not count."""

    risk: Risk
    engine: int
    findings: list[Finding]
    waivers: list[Waiver] | UnsetType = UNSET


def gravest_first(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings that make a skill risky, the most severe first."""
    risky = (finding for finding in findings if finding.severity in RISKY)
    return sorted(risky, key=lambda finding: RISKS.index(finding.severity), reverse=True)


def rules_of(report: SkillFindings) -> list[str]:
    """Return the names of the rules that found something, in order."""
    return sorted({finding.rule for finding in report.findings})


def risk(findings: Iterable[Finding]) -> Risk:
    """Return the highest severity; `none` if there are no findings."""
    return max((finding.severity for finding in findings), key=RISKS.index, default="none")


def waived_risk(findings: Collection[Finding], waivers: Collection[Waiver]) -> Risk:
    """Return the risk of findings of which some are waived."""
    left = risk(finding for finding in findings if not any(waiver.covers(finding) for waiver in waivers))
    return "waived" if risk(findings) in RISKY and left not in RISKY else left
