"""How near and how fast pgvector answers, in a PostgreSQL server with the service's own tables, queries and index.

    python benchmarks/postgres_vectors.py --database postgresql://USER@HOST/EMPTY --queries queries.jsonl
        [--corpus corpus.jsonl] [--size 100000] [--links 16 24] [--breadth 200] [--search 100 200 300] [--json OUT]

The vectors are those of `scale.py`: drawn round the real ones of a corpus. Recall is against exact search over them as
they are stored. Medians and 95th percentiles of single searches with real queries, one client, each the median of
several rounds. What the encoder takes for one of them, before and after, says how quick the machine was meanwhile.
How the server is set up is kept with the figures: huge pages alone take a fifth off the time.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import corpora
import scale_steps
from embeddings import Embedder
from embeddings.base import Matrix
from latency_http import median_ms
from registry.database import hnsw_indexes
from registry.database.dialect import vector as stored
from registry.database.hnsw_indexes import HnswIndexes
from registry.database.pg_vectors import PgVectors
from registry.database.postgres import PostgresDatabase
from results_file import keep
from search.service import CANDIDATES
from search.types import Keys

SPACE = "benchmark"
ROUNDS = 5
SHARES = (0.001, 0.01, 0.1, 0.5, 0.99)
SERVER = ("server_version", "shared_buffers", "huge_pages", "huge_pages_status")


def made(corpus: Path | None, size: int, model: Embedder) -> Matrix:
    """Return vectors as a catalog of `size` skills has them, shape (size, dimension)."""
    texts = [f"{entry.name}: {entry.description}" for entry in corpora.entries(corpus)]
    return corpora.vectors_near(model.documents(texts), [number % len(texts) for number in range(size)], seed=2)


def encoder_ms(model: Embedder, texts: Sequence[str]) -> float:
    """Return how many milliseconds the model takes for a query, at the median."""
    return round(median_ms(lambda text: model.queries([text]), texts), 2)


def fill(database: PostgresDatabase, vectors: Matrix) -> None:
    """Store the vectors as the service does."""
    for first in range(0, len(vectors), 1000):
        with database.write() as transaction:
            number = transaction.next_revision(1000) - 1000
            rows = [
                (SPACE, first + at, "hash", one, number + at) for at, one in enumerate(vectors[first : first + 1000])
            ]
            transaction.execute_many("insert into vectors values (?, ?, ?, ?, ?)", rows)


def exact(vectors: Matrix, queries: Matrix, allowed: Keys | None = None) -> list[Keys]:
    """Return the ten nearest to each query."""
    keys = np.arange(len(vectors)) if allowed is None else allowed
    near = vectors[keys]
    return [keys[np.argsort(-(near @ query))[:10]] for query in queries]


def measured(index: PgVectors, queries: Matrix, truth: Sequence[Keys], allowed: Keys | None = None) -> dict[str, float]:
    """Return how long searches take (the medians of several rounds), and which share of the nearest they find."""
    rounds, hits = [], 0
    for _ in range(ROUNDS):
        times = []
        for query, nearest in zip(queries, truth, strict=True):
            started = time.perf_counter()
            found = index.search(query[np.newaxis], CANDIDATES, allowed)
            times.append((time.perf_counter() - started) * 1000)
            hits += len(np.intersect1d(found.keys[:10], nearest))
        rounds.append(np.percentile(times, (50, 95)))
    p50, p95 = np.median(rounds, axis=0).tolist()
    there = ROUNDS * sum(len(nearest) for nearest in truth)
    return {"p50_ms": round(p50, 2), "p95_ms": round(p95, 2), "recall_at_10": round(hits / there, 4)}


@contextmanager
def opened(url: str, search: int | None = None) -> Iterator[tuple[PostgresDatabase, PgVectors]]:
    """Open the database and the index, searched with `hnsw.ef_search` = `search`."""
    tuned = f"{url}{'&' if '?' in url else '?'}options=-c%20hnsw.ef_search%3D{search}" if search else url
    database = PostgresDatabase(tuned)
    yield database, PgVectors(database, SPACE, 384, lambda space, dim: True)
    database.close()


def build(url: str, links: int, breadth: int) -> float:
    """Build the index with these parameters and return how many seconds that takes."""
    hnsw_indexes.M, hnsw_indexes.EF_CONSTRUCTION = links, breadth
    with opened(url) as (database, _):
        HnswIndexes(database, list, lambda: None).build("none", 384)  # of spaces in use: the one before goes
        started = time.perf_counter()
        HnswIndexes(database, lambda: [SPACE], lambda: None).build(SPACE, 384)
        return time.perf_counter() - started


def unfiltered(arguments: argparse.Namespace, queries: Matrix, truth: Sequence[Keys]) -> Iterator[dict[str, Any]]:
    """Measure every choice of parameters."""
    for links in arguments.links:
        for breadth in arguments.breadth:
            seconds = round(build(arguments.database, links, breadth), 1)
            for search in arguments.search:
                with opened(arguments.database, search) as (_, index):
                    figures = measured(index, queries, truth)
                yield {"m": links, "ef_construction": breadth, "build_s": seconds, "ef_search": search, **figures}


def filtered(arguments: argparse.Namespace, vectors: Matrix, queries: Matrix) -> Iterator[dict[str, Any]]:
    """Measure filters that let a share of the documents through, anywhere, with the index built last."""
    drawn = np.random.default_rng(3)
    with opened(arguments.database) as (_, index):
        for share in SHARES:
            allowed = np.sort(drawn.choice(len(vectors), int(share * len(vectors)), replace=False))
            yield {"share": share, **measured(index, queries, exact(vectors, queries, allowed), allowed)}


def show(console: Console, title: str, rows: Sequence[dict[str, Any]]) -> None:
    """Print a table."""
    table = Table(*rows[0], title=title)
    for row in rows:
        table.add_row(*map(str, row.values()))
    console.print(table)


def main() -> None:
    """Fill the database if it is empty, measure, print, and write JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--database", required=True)
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--corpus", type=Path, help="corpus.jsonl of real skills; made-up ones without it")
    parser.add_argument("--queries", type=Path, required=True, help="queries.jsonl with short queries")
    parser.add_argument("--links", type=int, nargs="+", default=[hnsw_indexes.M])
    parser.add_argument("--breadth", type=int, nargs="+", default=[hnsw_indexes.EF_CONSTRUCTION])
    parser.add_argument("--search", type=int, nargs="+", default=[100, 200, 300])
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    model = scale_steps.embedder()
    texts = scale_steps.short_queries(arguments.queries)
    encoder = [encoder_ms(model, texts)]
    vectors = made(arguments.corpus, arguments.size, model)
    queries = model.queries(texts)
    with opened(arguments.database) as (database, _):
        if not database.read("select 1 from vectors limit 1"):
            fill(database, vectors)
        setup = database.read("select name, setting from pg_settings where name = any (?)", (list(SERVER),))
        version = database.read("select extversion from pg_extension where extname = 'vector'")[0][0]
    kept = np.stack([stored(one.tobytes()) for one in vectors])
    graph = list(unfiltered(arguments, queries, exact(kept, queries)))
    filters = list(filtered(arguments, kept, queries))
    encoder.append(encoder_ms(model, texts))
    console = Console()
    show(console, f"{arguments.size} vectors of 384 dimensions", graph)
    show(console, "under a filter", filters)
    console.print(f"encoder, ms a query: {encoder}")
    facts = {"vectors": arguments.size, "pgvector": version, "server": dict(setup), "encoder_p50_ms": encoder}
    keep(arguments.json, {**facts, "unfiltered": graph, "filtered": filters})


if __name__ == "__main__":
    main()
