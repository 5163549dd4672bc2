"""How many of a folder's skills the content rules flag, by rule: the false alarms, as far as the skills are ordinary.

    python benchmarks/findings.py --skills DIR [--json OUT]

A skill counts once for a rule, whatever the number of its findings.
"""

import argparse
import collections
import sys
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from registry.domain.findings import RISKS
from registry.findings.engine import ENGINE, scan_folder
from registry.findings.rules import RULES
from registry.skill_folder import find_skill_folders
from results_file import keep


def measure(root: Path) -> dict[str, Any]:
    """Return how many skills below a folder have each risk, and each rule's finding."""
    risks, rules, flagged = collections.Counter[str](), collections.Counter[str](), 0
    folders, started = sorted(find_skill_folders(root)), time.perf_counter()
    for folder in folders:
        found = scan_folder(folder)
        risks[found.risk] += 1
        rules.update({finding.rule for finding in found.findings})
        flagged += RISKS.index(found.risk) >= RISKS.index("medium")
    return {
        "engine": ENGINE,
        "skills": len(folders),
        "medium_or_above": flagged,
        "share_medium_or_above": round(flagged / len(folders), 4),
        "seconds": round(time.perf_counter() - started, 2),
        "risk": {risk: risks[risk] for risk in RISKS},
        "rules": {rule.id: rules[rule.id] for rule in RULES},
    }


def main() -> None:
    """Measure one folder of skills."""
    parser = argparse.ArgumentParser(description="Measure how many skills the content rules flag.")
    parser.add_argument("--skills", type=Path, required=True, help="folder with skills below it")
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    results = measure(arguments.skills)
    table = Table("rule", "severity", "skills", "share", title=f"{results['skills']} skills, engine {ENGINE}")
    for rule in RULES:
        count = results["rules"][rule.id]
        table.add_row(rule.id, rule.severity, str(count), f"{100 * count / results['skills']:.2f} %")
    Console().print(table)
    print(f"medium or above: {results['medium_or_above']} ({100 * results['share_medium_or_above']:.2f} %)")
    keep(arguments.json, {"results": results})


if __name__ == "__main__":
    sys.exit(main())
