"""How many of a folder's skills the content rules flag, by rule, and what a kB of text costs: theirs, and the worst.

    python benchmarks/findings.py --skills DIR [--random N] [--json OUT]

A skill counts once for a rule, whatever the number of its findings; as far as the skills are ordinary, these are false
alarms. Costs are processor time. The worst is looked for among the words of all rules, each repeated, and N random
combinations, repetitions and nestings of them, in texts of several sizes (`tests/support/hostile_texts.py`).
"""

import argparse
import collections
import sys
import time
from itertools import islice
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from rich.console import Console
from rich.table import Table

from registry.domain.findings import RISKS
from registry.findings.engine import ENGINE, MAX_FILE, TextScan, scan_folder, scan_text
from registry.findings.rules import RULES
from registry.skill_folder import find_skill_folders
from registry.skill_folder.tree import list_files
from results_file import keep
from support.hostile_texts import ATTACK, HostileText, hostile_texts

SIZES = (1_000, 4_000, 16_000, 64_000)
TRIES = 5
SHOWN = 3


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


def milliseconds(texts: list[tuple[str, bytes]]) -> float:
    """Return the processor time that looking into files takes."""
    scan, started = TextScan(), time.thread_time()
    for path, data in texts:
        scan.look(path, data)
    return (time.thread_time() - started) * 1000


def cost_of_skills(root: Path) -> dict[str, Any]:
    """Return what a kB of the texts of real skills costs."""
    skills = [
        [(file.path, data) for file in list_files(folder) if b"\0" not in (data := (folder / file.path).read_bytes())]
        for folder in find_skill_folders(root)
    ]
    size = sum(len(data[:MAX_FILE]) for texts in skills for _, data in texts)
    taken = min(sum(milliseconds(texts) for texts in skills) for _ in range(SHOWN))
    return {"kB": size // 1000, "ms_per_kB": round(taken / size * 1000, 4)}


def cost_of(one: HostileText) -> float:
    """Return what a kB of a text costs in milliseconds."""
    size = len(one.text.encode("utf-8", "replace"))
    started = time.thread_time()
    scan_text("SKILL.md", one.text)
    return (time.thread_time() - started) * 1e6 / size


def cost_of_hostile_texts(random_ones: int) -> list[dict[str, Any]]:
    """Return the dearest texts of each size; each is tried again, as other work on the machine makes some dear."""
    costs: list[dict[str, Any]] = []
    for size in (*SIZES, MAX_FILE):
        # Of the largest, one in twenty is tried: they cost what their parts do.
        texts = list(islice(hostile_texts(size, random_ones, seed=size), 0, None, 1 if size < MAX_FILE else 20))
        found = sorted(((cost_of(one), one) for one in texts), reverse=True)[: SHOWN * 8]
        again = sorted(((min(cost, *(cost_of(one) for _ in range(TRIES))), one.recipe) for cost, one in found))
        worst = [{"ms_per_kB": round(cost, 3), "text": recipe} for cost, recipe in again[: -SHOWN - 1 : -1]]
        costs.append({"characters": size, "texts": len(texts), "worst": worst})
    return costs


def main() -> None:
    """Measure one folder of skills."""
    parser = argparse.ArgumentParser(description="Measure how many skills the content rules flag.")
    parser.add_argument("--skills", type=Path, required=True, help="folder with skills below it")
    parser.add_argument("--random", type=int, default=2000, help="how many random hostile texts of each size to try")
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    results = measure(arguments.skills)
    table = Table("rule", "severity", "skills", "share", title=f"{results['skills']} skills, engine {ENGINE}")
    for rule in RULES:
        count = results["rules"][rule.id]
        table.add_row(rule.id, rule.severity, str(count), f"{100 * count / results['skills']:.2f} %")
    Console().print(table)
    print(f"medium or above: {results['medium_or_above']} ({100 * results['share_medium_or_above']:.2f} %)")
    results["cost"] = {
        "skills": cost_of_skills(arguments.skills),
        "attack_ms_per_kB": round(min(cost_of(HostileText("", ATTACK * 5000)) for _ in range(TRIES)), 4),
        "hostile": cost_of_hostile_texts(arguments.random),
    }
    print(f"skills: {results['cost']['skills']}; {ATTACK!r} repeated: {results['cost']['attack_ms_per_kB']} ms/kB")
    for one in results["cost"]["hostile"]:
        print(f"{one['characters']:>8,} characters, the worst of {one['texts']:,}: {one['worst'][0]}")
    keep(arguments.json, {"results": results})


if __name__ == "__main__":
    sys.exit(main())
