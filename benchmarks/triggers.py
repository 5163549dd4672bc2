"""What the occasions and phrases that authors put beside a description are worth: nDCG@10 with and without them.

    python benchmarks/triggers.py --data ../shared/data/eval/prompts --skills ../shared/data/skills [--json OUT]

SKILLS has the folders of some skills of the corpus; `collection:path` in the corpus is `collection/path` there. The
queries are those of both parts of `data/intents.jsonl`, once for the skills with triggers and once for others, which
must not lose. Nothing was fitted to them but the number of characters that are embedded, to which the figures of the
part `train` are indifferent.
"""

import argparse
import random
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import intents
from quality import fill, read_jsonl
from registry.evaluation.measures import DEPTH, ndcg
from registry.parsing.frontmatter import read
from registry.skill_folder.reading import runtime_needs
from results_file import keep
from search.engine import Engine
from search.modes import Mode
from search.requests import SearchRequest

_OTHERS = 1_000
_DRAWS = 2_000
_MODES: tuple[Mode, ...] = ("keyword", "hybrid")
Queries = Sequence[tuple[str, str]]


def triggers_in(skills: Path, corpus: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return the triggers of the skills of a corpus that have any, by corpus id."""
    found = {}
    for entry in corpus:
        path = skills / str(entry["id"]).replace(":", "/", 1) / "SKILL.md"
        if path.is_file():
            needs = runtime_needs(read(path.read_text("utf-8", "replace")).fields, {})
            if needs.triggers:
                found[str(entry["id"])] = needs.triggers
    return found


def gains(engine: Engine, keys: Mapping[int, str], queries: Queries, mode: Mode) -> list[float]:
    """Return the nDCG@10 of each query, a text and the corpus id of its skill."""
    pages = [engine.search.search(SearchRequest(text, limit=DEPTH, mode=mode)).hits for text, _ in queries]
    return [
        ndcg([keys[hit.key] for hit in page], {skill: 1.0}) for page, (_, skill) in zip(pages, queries, strict=True)
    ]


def interval(differences: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % interval of a mean, by a paired bootstrap."""
    draw, count = random.Random(1), len(differences)
    means = sorted(statistics.fmean(draw.choices(differences, k=count)) for _ in range(_DRAWS))
    return means[int(0.025 * _DRAWS)], means[int(0.975 * _DRAWS)]


def main() -> None:
    """Measure both, over the same corpus."""
    parser = argparse.ArgumentParser(description="Measure what triggers are worth.")
    parser.add_argument("--data", type=Path, required=True, help="folder with the corpus")
    parser.add_argument("--skills", type=Path, required=True, help="folder with the folders of its skills")
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    corpus = read_jsonl(arguments.data / "corpus.jsonl")
    triggers = triggers_in(arguments.skills, corpus)
    known = {entry["id"] for entry in corpus}
    parts = [entry for part in ("train", "dev") for entry in intents.read(part) if entry.skill in known]
    asked = [(text, entry.skill) for entry in parts for text in entry.queries]
    others = [query for query in asked if query[1] not in triggers]
    sets = {
        "skills with triggers": [query for query in asked if query[1] in triggers],
        "others": random.Random(1).sample(others, min(_OTHERS, len(others))),
    }
    measured: list[dict[tuple[str, Mode], list[float]]] = []
    for with_them in (False, True):
        entries = [entry | {"triggers": triggers.get(entry["id"], []) if with_them else []} for entry in corpus]
        with tempfile.TemporaryDirectory() as folder:
            engine, keys = fill(entries, Path(folder))
            measured.append({(n, mode): gains(engine, keys, q, mode) for n, q in sets.items() for mode in _MODES})
            engine.close()
    table = Table("queries of", "search", "n", "without", "with", "difference", "95 %")
    results = []
    for (name, mode), before in measured[0].items():
        after = measured[1][name, mode]
        low, high = interval([new - old for new, old in zip(after, before, strict=True)])
        means = [round(100 * statistics.fmean(values), 2) for values in (before, after)]
        bounds = [round(100 * low, 2), round(100 * high, 2)]
        results.append({"queries": name, "mode": mode, "n": len(before), "ndcg": means, "interval": bounds})
        table.add_row(name, mode, str(len(before)), *map(str, means), f"{means[1] - means[0]:+.2f}", str(bounds))
    Console().print(table)
    keep(arguments.json, {"documents": len(corpus), "with triggers": len(triggers), "results": results})


if __name__ == "__main__":
    main()
