"""What the passages of hits cost a search, in this process.

    python benchmarks/snippets.py --corpus corpus.jsonl --queries queries.jsonl [--size 4000] [--json OUT]

Each query is searched by words and meaning, and the passages of its ten hits are found five times. Figures are medians
over the queries, in milliseconds, of the fastest of the five.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import corpora
from embeddings import EmbeddingSettings, choose
from registry.catalog.documents import CatalogDocuments
from registry.database.sqlite import SqliteDatabase
from registry.services.snippets import find_snippets
from results_file import keep
from search.engine import Engine
from search.requests import SearchRequest

_LIMIT = 10
_TURNS = 5


def _median_of(calls: Sequence[Callable[[], object]], turns: int = 1) -> tuple[float, float]:
    """Return the median and the 95th percentile of the milliseconds of calls, each the fastest of some turns."""
    times = []
    for call in calls:
        taken = []
        for _ in range(turns):
            started = time.perf_counter()
            call()
            taken.append((time.perf_counter() - started) * 1000)
        times.append(min(taken))
    return statistics.median(times), statistics.quantiles(times, n=20)[-1]


def measure(originals: list[corpora.Entry], queries: list[str], size: int, models: Path) -> dict[str, float]:
    """Return the median milliseconds of searches and of the passages of their hits."""
    embedder = choose(EmbeddingSettings(provider="local", cache_dir=models))
    near = embedder.documents([f"{entry.name}: {entry.description}" for entry in originals])
    with tempfile.TemporaryDirectory() as name:
        database = SqliteDatabase(Path(name) / "skill-registry.db")
        documents = CatalogDocuments(database)
        for _ in corpora.fill(database, originals, size, embedder, near):
            pass
        engine = Engine(documents, Path(name) / "indexes", embedder)
        engine.start()
        requests = [SearchRequest(query, limit=_LIMIT) for query in queries]
        search, _ = _median_of([partial(engine.search.search, request) for request in requests])
        hits = [engine.search.search(request).hits for request in requests]
        found = [partial(find_snippets, documents, query, of) for query, of in zip(queries, hits, strict=True)]
        passages, slow = _median_of(found, _TURNS)
        engine.close()
        database.close()
    return {"search": search, "passages": passages, "passages, p95": slow}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure what the passages of hits cost a search.")
    parser.add_argument("--corpus", type=Path, required=True, help="corpus.jsonl of real skills")
    parser.add_argument("--queries", type=Path, required=True, help="queries.jsonl")
    parser.add_argument("--size", type=int, default=4000)
    parser.add_argument("--models", type=Path, default=Path(".skill-registry/models"))
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    originals = corpora.entries(arguments.corpus)[: arguments.size]
    lines = arguments.queries.read_text(encoding="utf-8").splitlines()
    queries = list(dict.fromkeys(json.loads(line)["text"] for line in lines))[:400]
    figures = measure(originals, queries, arguments.size, arguments.models)
    for label, value in figures.items():
        print(f"{label}: {value:.3f} ms")
    keep(arguments.json, {"skills": arguments.size, "ms": figures})


if __name__ == "__main__":
    main()
