"""Writes findings as a SARIF 2.1.0 log (OASIS standard), which code scanning services and editors read."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from registry import __version__
from registry.packages.checking import CheckedFinding, CheckedSkill, CheckReport

_BASE = "%SRCROOT%"
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif_log(report: CheckReport, root: Path) -> Mapping[str, Any]:
    """Return the log of one run. Paths below the folder `root` are relative to it."""
    pairs = [(skill, finding) for skill in report.skills for finding in skill.findings]
    rules = sorted({finding.rule for _, finding in pairs})
    driver = {
        "name": "skill-registry",
        "version": __version__,
        "semanticVersion": __version__,
        "rules": [{"id": rule, "shortDescription": {"text": rule.replace("-", " ")}} for rule in rules],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_BASE: {"description": {"text": "The folder in which the check was started."}}},
        "results": [_result(skill, finding, rules, root) for skill, finding in pairs],
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _result(skill: CheckedSkill, finding: CheckedFinding, rules: list[str], root: Path) -> Mapping[str, Any]:
    path = Path(skill.path) / finding.file if finding.file else Path(skill.path)
    location: dict[str, Any] = {"artifactLocation": _artifact(path, root)}
    if finding.line is not None:
        location["region"] = {"startLine": finding.line}
    return {
        "ruleId": finding.rule,
        "ruleIndex": rules.index(finding.rule),
        "level": finding.level,
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": location}],
    }


def _artifact(path: Path, root: Path) -> Mapping[str, str]:
    absolute = path.absolute()
    if absolute.is_relative_to(root):
        return {"uri": quote(absolute.relative_to(root).as_posix(), errors="replace"), "uriBaseId": _BASE}
    return {"uri": absolute.as_uri()}
