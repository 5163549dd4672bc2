"""What commands say about skills of medium or high risk, and about withdrawn ones. Others need no words."""

import msgspec

from registry.cli import console
from registry.cli.console import Data
from registry.domain.findings import RISKS, RISKY
from registry.domain.withdrawals import Withdrawn, described

_COLOURS = {"medium": "bold yellow", "high": "bold red"}
_NAMED_FINDINGS = 3


def risk_remark(card: Data, indent: str) -> console.Part | None:
    """Return a line for a result of a search, or None: that it is withdrawn, or that it is risky."""
    if (remark := withdrawal_remark(card, indent)) is not None:
        return remark
    risk = card["findings"]
    if risk not in RISKY:
        return None
    return console.line(indent, (f"{risk} risk", _COLOURS[risk]), f": 'skill-registry show {card['id']}' says why")


def withdrawal_remark(skill: Data, indent: str = "") -> console.Part | None:
    """Return a line about a skill or a version that its registry has withdrawn; None for others."""
    if (withdrawn := withdrawal_of(skill)) is None:
        return None
    return console.line(indent, (withdrawn.state, "bold red"), f": {described(skill['version'], withdrawn)}")


def withdrawal_of(skill: Data) -> Withdrawn | None:
    """Return how a skill is withdrawn. What a later release knows counts as nothing."""
    try:
        return msgspec.convert(skill.get("withdrawn"), Withdrawn | None)
    except msgspec.ValidationError:
        return None


def warn_of_risk(skill: Data) -> None:
    """Print a line on standard error about an installed skill, with the gravest of its findings, each rule once."""
    report = skill["findings"]
    if not report or report["risk"] not in RISKY:
        return
    risky = [finding for finding in report["findings"] if finding["severity"] in RISKY]
    first: dict[str, Data] = {}
    for finding in sorted(risky, key=lambda finding: -RISKS.index(finding["severity"])):
        first.setdefault(finding["rule"], finding)
    gravest = list(first.values())[:_NAMED_FINDINGS]
    named = [f"{example['rule']} in {place(example)}" if example["file"] else example["rule"] for example in gravest]
    more = f" and {len(risky) - len(gravest)} more" if len(risky) > len(gravest) else ""
    console.warn(f"{skill['id']} has {report['risk']} risk: {', '.join(named)}{more}")


def warn_of_withdrawal(skill: Data) -> None:
    """Print a line on standard error about an installed skill that its registry has withdrawn."""
    if (withdrawn := withdrawal_of(skill)) is not None:
        console.warn(f"{skill['id']}: {described(skill['version'], withdrawn)}")


def place(finding: Data) -> str:
    """Return the file of a finding and its line, or an empty text."""
    line = f":{finding['line']}" if finding["line"] else ""
    return f"{finding['file'] or ''}{line}"
