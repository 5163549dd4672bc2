"""How long it takes to choose the versions of a set of skills, without a registry that must be asked.

    python benchmarks/resolving.py [--skills 1000] [--versions 6] [--runs 20] [--json OUT]

A registry has so many skills with so many versions, half of them 1.x and half 2.x. Each needs up to three of the next
forty, in one of several ranges. A pack names each fifth of the first 50, 100 and 200 skills, and its set is resolved,
from another seed in every run. The figures are the median and the slowest of the runs, in milliseconds of processor
time, because other programs share the machine.
"""

import argparse
import random
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

from registry.domain.dependencies import SkillDependency
from registry.install.resolution import Choice, Requirement, resolve
from results_file import keep

RANGES = ("^2", "*", ">=1.1,<3", "^1 || ^2", ">=2", "2.x")
REACH, NEEDS = 40, 3


class Registry:
    """The versions of a registry in memory. Only the first `size` skills need others, so that a set has that size."""

    def __init__(self, skills: int, versions: int, size: int, drawn: random.Random) -> None:
        half = versions // 2
        numbers = [f"{1 + place // half}.{place % half}.0" for place in range(versions)]
        self._choices = {
            _name(number): [self._choice(number, version, size, drawn) for version in reversed(numbers)]
            for number in range(skills)
        }
        self._choices["acme/pack"] = [
            Choice("acme/pack", "1.0.0", [SkillDependency(id=_name(number)) for number in range(0, size, 5)])
        ]

    def _choice(self, number: int, version: str, size: int, drawn: random.Random) -> Choice:
        following = range(number + 1, min(size, number + REACH))
        needed = drawn.sample(following, min(NEEDS, len(following)))
        return Choice(
            _name(number), version, [SkillDependency(id=_name(one), range=drawn.choice(RANGES)) for one in needed]
        )

    def choices(self, skill_id: str) -> Sequence[Choice]:
        """Return the versions of a skill, the highest first."""
        return self._choices.get(skill_id, ())

    def is_allowed(self, choice: Choice) -> bool:
        """Return whether a version may be taken: every one."""
        return True

    def why_none(self, skill_id: str, requirement: str | None) -> str:
        """Return why there is no version."""
        return "there is none"


def _name(number: int) -> str:
    return f"acme/skill-{number}"


def _resolved(skills: int, versions: int, size: int, runs: int) -> dict[str, float]:
    """Return the median and the slowest of the runs in milliseconds, and the largest set."""
    took, largest = [], 0
    for seed in range(runs):
        registry = Registry(skills, versions, size, random.Random(seed))
        start = time.process_time()
        resolution = resolve([Requirement("acme/pack", None)], registry)
        took.append((time.process_time() - start) * 1_000)
        largest = max(largest, len(resolution.choices))
    return {"set": largest, "median_ms": round(statistics.median(took), 1), "slowest_ms": round(max(took), 1)}


def main() -> None:
    """Resolve sets of three sizes, and show how long each took."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--skills", type=int, default=1_000)
    parser.add_argument("--versions", type=int, default=6)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    results = [_resolved(args.skills, args.versions, size, args.runs) for size in (50, 100, 200)]
    for result in results:
        print(result)
    keep(args.json, {"skills": args.skills, "versions": args.versions, "runs": args.runs, "results": results})


if __name__ == "__main__":
    main()
