"""Exact ids and names: whether the skill that somebody names is first, in every mode and under every limit.

    python benchmarks/exact_names.py --skills DIR [--sample 1000] [--seed 7] [--json OUT]

A service with the local model indexes the skills of DIR. The id and the name of sampled skills are then searched for.
The first result must have that id or name. Results for a smaller limit must be the beginning of those for a larger
one. Exits with 1 if one of them is not.
"""

import argparse
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from results_file import keep
from support.servers import RunningServer

MODES = ("hybrid", "semantic", "keyword")
LIMITS = (1, 5, 50)
LOADING_SECONDS = 3600


class OverFolder(RunningServer):
    """A service with the local model over a folder that is only read."""

    def __init__(self, data: Path, skills: Path) -> None:
        super().__init__(data, "--embedding-provider", "local")
        self.skills_dir = skills


def folded(name: str) -> str:
    """Return a name as an exact match compares it."""
    return " ".join(name.casefold().replace("-", " ").replace("_", " ").split())


def names(card: dict[str, str]) -> set[str]:
    """Return the texts that name a skill exactly."""
    return {folded(card["id"]), folded(card["id"].rpartition("/")[2]), folded(card["name"])}


def cards(server: RunningServer) -> list[dict[str, str]]:
    """Return the card of every skill."""
    found: list[dict[str, str]] = []
    while page := server.api("GET", f"/skills?limit=100&offset={len(found)}").json()["data"]:
        found += page
    return found


def faults(server: RunningServer, text: str, mode: str) -> list[str]:
    """Return what is wrong with the results for an exact id or name."""
    answers = [server.search(text, mode=mode, limit=limit)["skills"] for limit in LIMITS]
    found = [[hit["skill"]["id"] for hit in hits] for hits in answers]
    wrong = []
    if not answers[0] or folded(text) not in names(answers[0][0]["skill"]):
        wrong.append(f"{mode}: {text!r} is not first")
    if any(found[-1][: len(ids)] != ids for ids in found):
        wrong.append(f"{mode}: the results for {text!r} depend on the limit")
    return wrong


def main() -> None:
    """Search for the ids and names of a sample."""
    parser = argparse.ArgumentParser(description="Check that exact ids and names are first.")
    parser.add_argument("--skills", type=Path, required=True, help="folder of skills")
    parser.add_argument("--sample", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, OverFolder(Path(folder), arguments.skills.absolute()) as server:
        server.wait_for(lambda: server.status()["status"] == "ok" and server.is_embedded(), LOADING_SECONDS)
        known = cards(server)
        sample = random.Random(arguments.seed).sample(known, min(arguments.sample, len(known)))
        searched = [(text, mode) for card in sample for text in {card["id"], card["name"]} for mode in MODES]
        wrong = [fault for text, mode in searched for fault in faults(server, text, mode)]
    figures: dict[str, Any] = {
        "skills": len(known),
        "sampled": len(sample),
        "searches": len(searched) * len(LIMITS),
        "limits": LIMITS,
        "wrong": wrong,
    }
    print("\n".join([*wrong, f"{len(searched) * len(LIMITS)} searches, {len(wrong)} wrong"]))
    keep(arguments.json, figures)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
