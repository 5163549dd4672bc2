"""Learning from use: search quality after so many uses a skill, each sent through the use case of the feedback route.

    python benchmarks/feedback.py --data DIR [--json OUT]

DIR is a folder as for `quality.py`, with `examples.jsonl` {id, queries}: further queries for which each document is
right. Every run starts from an empty catalog: all skills get uses, all but a fifth of the choices are right, or only
half of the skills get uses. The queries that are measured are never sent.
"""

import argparse
import random
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from quality import read_jsonl
from registry.config.groups import EmbeddingSettings
from registry.config.settings import Settings
from registry.domain.models import Skill
from registry.evaluation.dataset import read_qrels
from registry.evaluation.measures import DEPTH, ndcg
from registry.services.container import Services
from registry.services.feedback import FeedbackBody
from registry.services.schemas import SearchBody
from registry.services.search import search_skills
from results_file import keep
from search.requests import SearchRequest

USES = (0, 1, 3, 10, 20)
WRONG = 0.2
_FIRST_PAGE, _PAGE = 20, 100


class Catalog:
    """A service over the documents of a data set."""

    def __init__(self, corpus: Sequence[dict[str, Any]], folder: Path) -> None:
        embedding = EmbeddingSettings(
            provider="local", models_dir=Path(tempfile.gettempdir()) / "skill-registry-models"
        )
        settings = Settings(skills_dir=folder / "skills", data_dir=folder / "data", embedding=embedding)
        self.services = Services(settings)
        self.ids = {entry["id"]: f"skill-{number}" for number, entry in enumerate(corpus)}
        with self.services.database.write() as transaction:
            for entry in corpus:
                skill = Skill(
                    id=self.ids[entry["id"]],
                    name=entry["name"],
                    description=entry.get("description") or "",
                    tags=entry.get("tags") or [],
                    version="1.0.0",
                )
                self.services.catalog.save(transaction, skill, entry.get("text") or "")
        self.services.engine.start()
        self.wait()

    def wait(self) -> None:
        """Wait until every vector is current. Raises RuntimeError if one is missing: the figures would be wrong."""
        self.services.engine.wait_until_embedded(24 * 3600)
        if (pending := self.services.engine.status().pending) or not self.services.engine.status().indexed:
            raise RuntimeError(f"{pending} vectors are missing")

    def search(self, query: str, document: str) -> FeedbackBody | None:
        """Search, and return the choice of a document on the first page that shows it; None if no page does."""
        wanted = f'"id":"{self.ids[document]}"'.encode()
        offset = 0
        for limit in (_FIRST_PAGE, *[_PAGE] * (len(self.ids) // _PAGE + 1)):
            found = search_skills(self.services, SearchBody(query=query, limit=limit, offset=offset)).data
            if not isinstance(found.search_id, str):
                return None
            if any(wanted in bytes(hit.skill) for hit in found.skills):
                return FeedbackBody(search_id=found.search_id, skill_id=self.ids[document], outcome="chosen")
            offset += limit
        return None

    def choose(self, choices: Sequence[tuple[str, str]]) -> int:
        """Search for every (query, document), then choose the documents. Return how many choices were learned from."""
        bodies = [self.search(query, document) for query, document in choices]
        with self.services.database.hooks.batch():
            learned = [self.services.feedback.give(body, None).learned for body in bodies if body is not None]
        self.wait()
        return sum(learned)

    def measure(self, data: Path) -> dict[str, float]:
        """Return nDCG@10 of each labelled query."""
        names, gains = {number: name for name, number in self.ids.items()}, read_qrels(data / "qrels.tsv")
        values = {}
        for query in read_jsonl(data / "queries.jsonl"):
            if query["id"] in gains:
                hits = self.services.engine.search.search(SearchRequest(query["text"], limit=DEPTH)).hits
                values[query["id"]] = ndcg([names[hit.id] for hit in hits], gains[query["id"]])
        return values


def choices(
    examples: Sequence[dict[str, Any]], wrong: float, used: set[str], dice: random.Random
) -> list[list[tuple[str, str]]]:
    """Return rounds of (query, document), in each of which every used skill gets one use."""
    rounds = []
    for number in range(max(USES)):
        right = [(entry["queries"][number], entry["id"]) for entry in examples if number < len(entry["queries"])]
        right = [(query, name) for query, name in right if name in used]
        names = sorted(used)
        rounds.append([(query, dice.choice(names) if dice.random() < wrong else name) for query, name in right])
    return rounds


def run(data: Path, *, wrong: float = 0.0, half: bool = False) -> Iterator[dict[str, Any]]:
    """Yield the figures after each number of uses."""
    corpus, examples = read_jsonl(data / "corpus.jsonl"), read_jsonl(data / "examples.jsonl")
    dice = random.Random(2026)
    used = {entry["id"] for entry in corpus if not half or dice.random() < 0.5}
    gains = read_qrels(data / "qrels.tsv")
    rounds = choices(examples, wrong, used, dice)
    with tempfile.TemporaryDirectory() as folder:
        catalog = Catalog(corpus, Path(folder))
        learned, tried = 0, 0
        for number in range(max(USES) + 1):
            if number:
                tried += len(rounds[number - 1])
                learned += catalog.choose(rounds[number - 1])
            if number in USES:
                yield {"uses": number, "sent": tried, "learned": learned, **_means(catalog.measure(data), gains, used)}
        catalog.services.close()


def _means(values: dict[str, float], gains: dict[str, Any], used: set[str]) -> dict[str, float]:
    parts = {
        "all": list(values.values()),
        "used": [value for query, value in values.items() if gains[query].keys() <= used],
        "unused": [value for query, value in values.items() if not gains[query].keys() & used],
    }
    return {name: round(sum(part) / len(part), 4) for name, part in parts.items() if part}


def main() -> None:
    """Measure one data set."""
    parser = argparse.ArgumentParser(description="Measure what search learns from use.")
    parser.add_argument("--data", type=Path, required=True, help="folder with corpus, queries, qrels and examples")
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    results: dict[str, list[dict[str, Any]]] = {}
    for name, options in {"right": {}, "fifth wrong": {"wrong": WRONG}, "half used": {"half": True}}.items():
        table = Table(
            "uses", "sent", "learned", "all", "used", "unused", title=f"{arguments.data.name}: {name}, nDCG@10"
        )
        results[name] = []
        for figures in run(arguments.data, **options):  # type: ignore[arg-type]
            results[name].append(figures)
            shown = [f"{100 * figures[part]:.1f}" if part in figures else "" for part in ("all", "used", "unused")]
            table.add_row(*(str(figures[part]) for part in ("uses", "sent", "learned")), *shown)
        Console().print(table)
    keep(arguments.json, {"data": arguments.data.name, "results": results})


if __name__ == "__main__":
    main()
