"""What is known about the safety of a skill, in ClawHub's terms.

ClawHub reports the verdicts of scanners. Here, only the rules of this registry have looked at the texts of a skill, and
every answer says so.
"""

from typing import Literal

import msgspec

from registry.domain.findings import RISKS, Finding, SkillFindings

_NO_SCANNER = "No malware scanner ran."
_NOT_SCANNED = f"This registry has not checked the skill. {_NO_SCANNER}"
_SHOWN = 5
_SEVERITIES: dict[str, Literal["info", "warn", "critical"]] = {"high": "critical", "medium": "warn"}

Status = Literal["clean", "suspicious", "pending"]


class Evidence(msgspec.Struct, kw_only=True):
    """A finding in a file."""

    code: str
    severity: Literal["info", "warn", "critical"]
    file: str
    line: int
    message: str
    evidence: str = ""


class Moderation(msgspec.Struct, kw_only=True, rename="camel"):
    """What the rules say. `is_malware_blocked` is never true, because nothing here recognises malware."""

    is_suspicious: bool
    is_malware_blocked: Literal[False] = False
    verdict: Literal["clean", "suspicious"]
    reason_codes: list[str]
    engine_version: str
    summary: str
    evidence: list[Evidence]


class Signals(msgspec.Struct):
    """The verdicts of scanners. There are none."""


class Security(msgspec.Struct, kw_only=True, rename="camel"):
    """The outcome of the rules. `pending` says that a skill has not been checked, `model` by what it was."""

    status: Status
    passed: bool
    has_warnings: bool
    model: str
    signals: Signals = msgspec.field(default_factory=Signals)


def moderation(findings: SkillFindings | None) -> Moderation:
    """Return what the rules say about a skill."""
    return Moderation(
        is_suspicious=status(findings) != "clean",
        verdict="clean" if status(findings) == "clean" else "suspicious",
        reason_codes=reasons(findings),
        engine_version=_model(findings),
        summary=overview(findings),
        evidence=[_evidence(finding) for finding in findings.findings] if findings else [],
    )


def security(findings: SkillFindings | None) -> Security:
    """Return the outcome of the rules."""
    outcome = status(findings)
    return Security(
        status=outcome, passed=outcome == "clean", has_warnings=bool(reasons(findings)), model=_model(findings)
    )


def status(findings: SkillFindings | None) -> Status:
    """Return `clean` for a skill whose risk is not high, as in the rest of the registry."""
    if findings is None:
        return "pending"
    return "suspicious" if findings.risk == "high" else "clean"


def reasons(findings: SkillFindings | None) -> list[str]:
    """Return the names of the rules that found something of medium or high severity."""
    if findings is None:
        return ["not_scanned"]
    return sorted({finding.rule for finding in findings.findings if _rank(finding) >= RISKS.index("medium")})


def overview(findings: SkillFindings | None) -> str:
    """Return what the rules found, in words, and that no scanner ran."""
    if findings is None:
        return _NOT_SCANNED
    gravest = sorted(filter(_rank, findings.findings), key=_rank, reverse=True)
    if not gravest:
        return f"The rules of this registry found no risk in the texts of the skill. {_NO_SCANNER}"
    sentences = "; ".join(_sentence(finding) for finding in gravest[:_SHOWN])
    more = f"; and {len(gravest) - _SHOWN} more" if len(gravest) > _SHOWN else ""
    return f"The rules of this registry found a {findings.risk} risk: {sentences}{more}. {_NO_SCANNER}"


def _model(findings: SkillFindings | None) -> str:
    return f"skill-registry rules {findings.engine}" if findings else "none"


def _rank(finding: Finding) -> int:
    return RISKS.index(finding.severity)


def _sentence(finding: Finding) -> str:
    place = f" ({finding.file}{f':{finding.line}' if finding.line else ''})" if finding.file else ""
    return f"{finding.message}{place}"


def _evidence(finding: Finding) -> Evidence:
    return Evidence(
        code=finding.rule,
        severity=_SEVERITIES.get(finding.severity, "info"),
        file=finding.file or "",
        line=finding.line or 0,
        message=finding.message,
    )
