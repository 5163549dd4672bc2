"""What deprecated skills cost a search, in this process: none, as before there were any, and 40 of them, in turns.

    python benchmarks/deprecated.py [--corpus corpus.jsonl] [--queries queries.jsonl] [--skills 4000] [--json OUT]

Three engines search the same skills: one that knows nothing of deprecation, the shipped one, and the shipped one with
some 40 deprecated skills. Each query goes to all of them, one right after the other, in every order in turn. What
counts are the medians, and the medians of the ratios of each query's time to that of the first engine.
"""

import argparse
import contextlib
import itertools
import json
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec
from rich.console import Console

import corpora
from embeddings import Embedder, EmbeddingSettings, choose
from embeddings.base import Matrix
from registry.catalog.document_rows import DEPRECATED
from registry.catalog.documents import CatalogDocuments
from registry.catalog.store import Catalog
from registry.database.sqlite import SqliteDatabase
from registry.domain.models import now, timestamp
from registry.domain.withdrawals import Withdrawn
from results_file import keep
from search.engine import Engine
from search.requests import SearchRequest
from search.types import Filter

SEARCHES = 400
DEPRECATIONS = 40
MODES: tuple[Literal["keyword", "auto"], ...] = ("keyword", "auto")
ENABLED = Filter((), ("enabled:false",))
LOWERED = Filter((), (DEPRECATED,))


def _engine(
    folder: Path, originals: Sequence[corpora.Entry], near: Matrix, size: int, embedder: Embedder, *,
    deprecated: int = 0, lowered: Filter | None = LOWERED,
) -> Engine:  # fmt: skip
    """Return an engine of a new catalog, of which the first skills are deprecated."""
    folder.mkdir()
    database = SqliteDatabase(folder / "skill-registry.db")
    for _ in corpora.fill(database, originals, size, embedder, near):
        pass
    catalog = Catalog(database, now)
    with database.write() as transaction:
        for number in range(0, len(originals), len(originals) // deprecated) if deprecated else ():
            stored = catalog.find(transaction, f"skill-{number}")
            assert stored is not None
            marked = msgspec.structs.replace(stored.skill, withdrawn=Withdrawn(state="deprecated", at=timestamp(now())))
            catalog.save(transaction, marked, originals[number].body)
    engine = Engine(CatalogDocuments(database), folder / "indexes", embedder, fallback_seconds=60, lowered=lowered)
    engine.start()
    return engine


def measure(engines: dict[str, Engine], queries: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return the median milliseconds of each engine and its median ratio to the first, by mode."""
    results = {}
    for mode in MODES:
        times: dict[str, list[float]] = defaultdict(list)
        orders = itertools.cycle(itertools.permutations(engines))
        for number, query in enumerate((*queries[:50], *queries)):
            for name in next(orders):
                request = SearchRequest(query + " " * number, mode=mode, allowed=ENABLED)
                started = time.perf_counter()
                engines[name].search.search(request)
                if number >= 50:
                    times[name].append((time.perf_counter() - started) * 1000)
        first = times[next(iter(engines))]
        results[mode] = {f"{name}, ms": statistics.median(values) for name, values in times.items()} | {
            f"{name}, ratio": statistics.median(map(float.__truediv__, values, first)) for name, values in times.items()
        }
    return results


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(description="Measure what deprecated skills cost a search.")
    parser.add_argument("--corpus", type=Path, help="corpus.jsonl of real skills; made-up ones without it")
    parser.add_argument("--queries", type=Path, help="queries.jsonl; descriptions of skills without it")
    parser.add_argument("--skills", type=int, default=4000)
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    models = Path(tempfile.gettempdir()) / "skill-registry-models"
    embedder = choose(EmbeddingSettings(provider="local", cache_dir=models))
    assert embedder is not None
    originals = corpora.entries(arguments.corpus)[: arguments.skills]
    texts = [entry.description[:80] for entry in originals]
    if arguments.queries:
        texts = [json.loads(line)["text"] for line in arguments.queries.read_text().splitlines()]
    queries = list(dict.fromkeys(" ".join(text.split())[:500] for text in texts))[:SEARCHES]
    near = embedder.documents([f"{entry.name}: {entry.description}" for entry in originals])
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        made = (originals, near, arguments.skills, embedder)
        engines = {
            "before": _engine(Path(name) / "before", *made, lowered=None),
            "none": _engine(Path(name) / "none", *made),
            "40": _engine(Path(name) / "40", *made, deprecated=DEPRECATIONS),
        }
        for engine in engines.values():
            stack.callback(engine.close)
        results = measure(engines, queries)
    Console().print(results)
    keep(arguments.json, results)


if __name__ == "__main__":
    main()
