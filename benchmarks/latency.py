"""The latency of search, compared with its lower bound on the same machine.

    python benchmarks/latency.py --auth [--json OUT]
    python benchmarks/latency.py [--corpus corpus.jsonl] [--queries queries.jsonl] [--sizes 1000 10000] [--json OUT]

Each figure is compared with its lower bound, measured in the same run: for a search, its parts called directly
(encoder, flat FAISS, tantivy); for HTTP, a bare Litestar route that returns the same bytes. All figures are medians,
with one client unless stated.
"""

import registry.__main__  # noqa: I001, F401 - limits the threads of numpy and FAISS as it does for the service
import argparse
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import faiss
import numpy as np
from rich.console import Console
from rich.table import Table

import corpora
import guard_cost
from embeddings import Embedder, EmbeddingSettings, choose
from embeddings.base import Matrix
from latency_http import CLIENTS, Figures, Served, median_ms, over_http
from registry.catalog.documents import CatalogDocuments
from registry.database.sqlite import SqliteDatabase
from results_file import keep
from search.engine import Engine
from search.requests import SearchRequest
from search.service import CANDIDATES, KEYWORD_CANDIDATES
from search.types import Filter
from search.vectors.query_vectors import embed_query

SEARCHES = 400
ENABLED = Filter((), ("enabled:false",))


def parts(engine: Engine, embedder: Embedder, queries: Sequence[str]) -> tuple[Figures, Callable[[str], None]]:
    """Return median times of the parts and of whole searches in this process, and a function that calls all parts."""
    reader, index = engine.index_sync.lexical.reader, engine._target.vectors
    # The work of one search: a vector of the query, and of each sentence if it has several.
    vectors = {query: embed_query(embedder, query) for query in queries}
    state = index._state
    flat = faiss.IndexFlatIP(embedder.dim)
    flat.add(state.vectors_of(state.keys()))
    terms = {query: reader.terms(query) for query in queries}
    figures = {
        "encoder": median_ms(lambda query: embed_query(embedder, query), queries),
        "faiss": median_ms(lambda query: flat.search(vectors[query], CANDIDATES), queries),
        "tantivy": median_ms(lambda query: reader.search(terms[query], KEYWORD_CANDIDATES, Filter()), queries),
        "words search": median_ms(
            lambda query: engine.search.search(SearchRequest(query, mode="keyword", allowed=ENABLED)), queries
        ),
        "hybrid search, cached vector": 0.0,
        "hybrid search": median_ms(
            lambda query: engine.search.search(SearchRequest(f"{query} ", allowed=ENABLED)), queries
        ),
    }
    figures["hybrid search, cached vector"] = median_ms(
        lambda query: engine.search.search(SearchRequest(query, allowed=ENABLED)), queries
    )

    def directly(query: str) -> None:
        flat.search(embed_query(embedder, query), CANDIDATES)
        reader.search(reader.terms(query), KEYWORD_CANDIDATES, Filter())

    return figures, directly


def reindex_rate(originals: Sequence[corpora.Entry], embedder: Embedder, folder: Path) -> tuple[float, float]:
    """Return the documents per second of a forced reindex, and of the encoder called directly on the same texts."""
    count = min(1000, len(originals))
    database = SqliteDatabase(folder / "rate.db")
    for _ in corpora.fill(database, originals, count, embedder, np.ones((len(originals), embedder.dim), np.float32)):
        pass
    documents = CatalogDocuments(database)
    engine = Engine(documents, folder / "rate-indexes", embedder)
    engine.start()
    texts = [f"{entry.name}: {entry.description}" for _, entry in corpora.grown(originals, count)]
    started = time.perf_counter()
    embedder.documents(texts)
    raw = count / (time.perf_counter() - started)
    result = engine.reindex(force=True)
    engine.close()
    database.close()
    return result.reindexed / result.duration_ms * 1000, raw


def measure(size: int, originals: Sequence[corpora.Entry], near: Matrix, embedder: Embedder, models: Path,
            queries: Sequence[str]) -> dict[str, Any]:  # fmt: skip
    """Measure a catalog of `size` skills."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        database = SqliteDatabase(folder / "skill-registry.db")
        for _ in corpora.fill(database, originals, size, embedder, near):
            pass
        engine = Engine(CatalogDocuments(database), folder / "indexes", embedder, fallback_seconds=60)
        started = time.perf_counter()
        engine.start()
        built = time.perf_counter() - started
        in_process, directly = parts(engine, embedder, queries)
        engine.close()
        database.close()
        http, limit = over_http(folder, models, queries, directly)
    return {"skills": size, "index build, seconds": built, "in process, ms": in_process, "http": http, "bare": limit}


def ratios(result: dict[str, Any]) -> dict[str, tuple[float, str]]:
    """Return the judged figures, most of them divided by their lower bound, each with its target."""
    inner, http, limit = result["in process, ms"], result["http"], result["bare"]
    answer = {
        "hybrid p50 over HTTP / sum of its parts": (http["hybrid p50"] / http["parts in turn"], "<= 1.5"),
        "words part, ms": (inner["tantivy"], "<= 0.3 at 4,000"),
        "second start, seconds": (http["second start, seconds"], "<= 2 at 10,000"),
        "RSS, MB": (http["RSS, MB"], "<= 450 at 10,000"),
    }
    for clients in CLIENTS:
        most = limit[f"requests/s at {clients}"]
        for label in ("words", "cached hybrid"):
            ratio = http[f"{label}, requests/s at {clients}"] / most
            answer[f"{label} / bare route, {clients} clients"] = (ratio, ">= 0.4")
    return answer


def show(result: dict[str, Any]) -> None:
    """Print the figures of one size."""
    table = Table("figure", "measured", "asked", title=f"{result['skills']:,} skills")
    for part in ("in process, ms", "http", "bare"):
        for name, value in result[part].items():
            table.add_row(f"{part}: {name}", f"{value:,.3f}", "")
    for name, (value, asked) in ratios(result).items():
        table.add_row(f"[bold]{name}", f"[bold]{value:.2f}", asked)
    Console(width=110).print(table)


def measure_guard(results: Path | None) -> None:
    """Measure, print and save the cost of the guard."""
    with tempfile.TemporaryDirectory() as name:
        found = guard_cost.measure(Path(name), Served)
    table = Table("route", *found, title="throughput with the guard / without (asked: > 0.9)")
    for route in next(iter(found.values())):
        table.add_row(route, *(f"{ratios[route]:.2f}" for ratios in found.values()))
    Console(width=110).print(table)
    keep(results, {"with the guard / without": found})


def main() -> None:
    """Measure every requested size."""
    parser = argparse.ArgumentParser(description="Measure the speed of search beside its own limits.")
    parser.add_argument("--corpus", type=Path, help="corpus.jsonl of real skills; made-up ones without it")
    parser.add_argument("--queries", type=Path, help="queries.jsonl; descriptions of skills without it")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 4000, 10_000])
    parser.add_argument("--auth", action="store_true", help="measure what the guard of the registry profile costs")
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    if arguments.auth:
        measure_guard(arguments.json)
        return
    models = Path(tempfile.gettempdir()) / "skill-registry-models"
    embedder = choose(EmbeddingSettings(provider="local", cache_dir=models))
    assert embedder is not None
    originals = corpora.entries(arguments.corpus)[: max(arguments.sizes)]
    if arguments.queries:
        texts = [json.loads(line)["text"] for line in arguments.queries.read_text().splitlines()]
    else:
        texts = [entry.description[:80] for entry in originals]
    queries = list(dict.fromkeys(" ".join(text.split())[:2000] for text in texts))[:SEARCHES]
    near = embedder.documents([f"{entry.name}: {entry.description}" for entry in originals])
    results = []
    for size in arguments.sizes:
        results.append(measure(size, originals, near, embedder, models, queries))
        show(results[-1])
    with tempfile.TemporaryDirectory() as name:
        rate, raw = reindex_rate(originals, embedder, Path(name))
    Console().print(f"[bold]reindex {rate:.0f}/s, raw encoder {raw:.0f}/s: {rate / raw:.2f} (>= 0.85)")
    judged = [{**one, "ratios": {name: value for name, (value, _) in ratios(one).items()}} for one in results]
    reindex = {"documents/s": rate, "raw encoder": raw, "ratio": rate / raw}
    keep(arguments.json, {"results": judged, "reindex": reindex})


if __name__ == "__main__":
    main()
