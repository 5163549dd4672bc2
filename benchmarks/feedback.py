"""Learning from use: search quality after so many uses a skill, each sent through the use case of the feedback route.

    python benchmarks/feedback.py --data DIR [--intents] [--json OUT]

DIR is a folder as for `quality.py`, with `examples.jsonl` {id, queries}: further queries for which each document is
right. `--intents` takes the queries of the part `dev` of `data/intents.jsonl` instead, and DIR is then the data set
`prompts`: two queries of each of these skills are sent, and the third is measured. Every run starts from an empty
catalog: all skills with examples get uses, all but a fifth of the choices are right, or only half of the skills get
uses. The queries that are measured are never sent.
"""

import argparse
import random
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

import intents
from quality import read_jsonl, read_labelled
from registry.config.groups import EmbeddingSettings
from registry.config.settings import Settings
from registry.domain.models import Skill
from registry.evaluation.measures import DEPTH, Gains, ndcg
from registry.services.container import Services
from registry.services.feedback import FeedbackBody
from registry.services.schemas import SearchBody
from registry.services.search import search_skills
from results_file import keep
from search.requests import SearchRequest

USES = (0, 1, 3, 10, 20)
WRONG = 0.2
_FIRST_PAGE, _PAGE = 20, 100


class Data(NamedTuple):
    """A data set: documents, labelled queries, and further queries for which each document is right."""

    name: str
    corpus: list[dict[str, Any]]
    queries: list[dict[str, Any]]
    gains: dict[str, Gains]
    examples: list[dict[str, Any]]


def read_data(folder: Path, *, of_intents: bool) -> Data:
    """Return the data set of a folder, or its documents with the queries of `data/intents.jsonl`."""
    corpus = read_jsonl(folder / "corpus.jsonl")
    if not of_intents:
        return Data(folder.name, corpus, *read_labelled(folder), read_jsonl(folder / "examples.jsonl"))
    rows = intents.read("dev")
    labelled = intents.labelled([row._replace(queries=row.queries[2:]) for row in rows])
    return Data("intents", corpus, *labelled, [{"id": row.skill, "queries": row.queries[:2]} for row in rows])


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

    def measure(self, data: Data) -> dict[str, float]:
        """Return nDCG@10 of each labelled query."""
        names = {number: name for name, number in self.ids.items()}
        values = {}
        for query in data.queries:
            hits = self.services.engine.search.search(SearchRequest(query["text"], limit=DEPTH)).hits
            values[query["id"]] = ndcg([names[hit.id] for hit in hits], data.gains[query["id"]])
        return values


def choices(
    examples: Sequence[dict[str, Any]], wrong: float, used: set[str], dice: random.Random
) -> list[list[tuple[str, str]]]:
    """Return rounds of (query, document), in each of which every used skill gets one use."""
    rounds = []
    for number in range(min(max(USES), max(len(entry["queries"]) for entry in examples))):
        right = [(entry["queries"][number], entry["id"]) for entry in examples if number < len(entry["queries"])]
        right = [(query, name) for query, name in right if name in used]
        names = sorted(used)
        rounds.append([(query, dice.choice(names) if dice.random() < wrong else name) for query, name in right])
    return rounds


def run(data: Data, *, wrong: float = 0.0, half: bool = False) -> Iterator[dict[str, Any]]:
    """Yield the figures after each number of uses."""
    dice = random.Random(2026)
    known = {entry["id"] for entry in data.examples}
    used = {entry["id"] for entry in data.corpus if entry["id"] in known and (not half or dice.random() < 0.5)}
    rounds = choices(data.examples, wrong, used, dice)
    with tempfile.TemporaryDirectory() as folder:
        catalog = Catalog(data.corpus, Path(folder))
        learned, tried = 0, 0
        for number in range(len(rounds) + 1):
            if number:
                tried += len(rounds[number - 1])
                learned += catalog.choose(rounds[number - 1])
            if number in (*USES, len(rounds)):
                means = _means(catalog.measure(data), data.gains, used)
                yield {"uses": number, "sent": tried, "learned": learned, **means}
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
    parser.add_argument("--intents", action="store_true", help="send and measure the queries of data/intents.jsonl")
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    data = read_data(arguments.data, of_intents=arguments.intents)
    results: dict[str, list[dict[str, Any]]] = {}
    for name, options in {"right": {}, "fifth wrong": {"wrong": WRONG}, "half used": {"half": True}}.items():
        table = Table("uses", "sent", "learned", "all", "used", "unused", title=f"{data.name}: {name}, nDCG@10")
        results[name] = []
        for figures in run(data, **options):  # type: ignore[arg-type]
            results[name].append(figures)
            shown = [f"{100 * figures[part]:.1f}" if part in figures else "" for part in ("all", "used", "unused")]
            table.add_row(*(str(figures[part]) for part in ("uses", "sent", "learned")), *shown)
        Console().print(table)
    keep(arguments.json, {"data": data.name, "results": results})


if __name__ == "__main__":
    main()
