"""The three places for vectors side by side, by size: FAISS in the process, pgvector, and Milvus Lite.

    python benchmarks/vector_engines.py --queries queries.jsonl [--corpus corpus.jsonl] [--sizes 4000 20000 100000]
        [--json OUT]

Each holds the same vectors, those of `scale.py`: drawn round the real ones of a corpus. Each is filled, searched and
written to through `VectorIndex`, as the service does it. Each query goes to all of them in turns, so what else the
machine does meets all. Times are medians and 95th percentiles of single searches of one client. Recall is against exact
search over the same vectors. Milvus Lite is one process and no cluster: its figures are no figures of Milvus, and above
20,000 vectors, where one search takes seconds, it is left out.
"""

import registry.__main__  # noqa: I001, F401 - limits the threads of numpy and FAISS as it does for the service
import argparse
import contextlib
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import scale_steps
from embeddings.base import Matrix
from postgres_vectors import SPACE, exact, fill, made, show
from registry.database.file_claims import hold
from registry.database.hnsw_indexes import HnswIndexes
from registry.database.pg_vectors import PgVectors
from registry.database.postgres import PostgresDatabase
from registry.milvus.vectors import MilvusVectors
from results_file import keep
from search.service import CANDIDATES
from search.types import Keys, VectorPut
from search.vectors.base import VectorIndex
from search.vectors.memory_index import MemoryVectors
from support.milvus_server import MilvusServer
from support.postgres_server import PostgresServer
from support.vectors import VectorFeed

SIZES = (4_000, 20_000, 100_000)
SHARE = 0.01
MOST_IN_LITE = 20_000
WRITES = 20
QUERIES = 50
WARM_UP = 5
_BATCH = 5_000


class Engine(NamedTuple):
    """An index that is filled, how to write one vector to it, and what filling has cost."""

    name: str
    index: VectorIndex
    write: Callable[[int, Matrix], None]
    filled_s: float


def apply_all(index: VectorIndex, vectors: Matrix) -> None:
    """Put all vectors into an index, in batches as at a start of the service."""
    for first in range(0, len(vectors), _BATCH):
        batch = vectors[first : first + _BATCH]
        index.apply([VectorPut(first + at + 1, first + at, one) for at, one in enumerate(batch)], first + len(batch))


def apply_one(index: VectorIndex, key: int, vector: Matrix) -> None:
    """Put one vector into an index."""
    index.apply([VectorPut(index.revision + 1, key, vector)], index.revision + 1)


def in_memory(folder: Path, vectors: Matrix) -> Engine:
    """Return FAISS as the service has it: exact below 20,000 vectors, inverted lists above."""
    started = time.perf_counter()
    index = MemoryVectors(folder / "vectors.faiss", "catalog", SPACE, vectors.shape[1])
    apply_all(index, vectors)
    index.wait_for_merge()
    return Engine("FAISS", index, partial(apply_one, index), time.perf_counter() - started)


def in_postgresql(database: PostgresDatabase, vectors: Matrix) -> Engine:
    """Return pgvector with its HNSW index, over the table of vectors of the service."""
    started = time.perf_counter()
    fill(database, vectors)
    HnswIndexes(database, lambda: [SPACE], lambda: None).build(SPACE, vectors.shape[1])
    seconds = time.perf_counter() - started

    def write(key: int, vector: Matrix) -> None:
        with database.write() as transaction:
            row = (SPACE, key, "hash", vector, transaction.next_revision(1))
            transaction.execute("insert into vectors values (?, ?, ?, ?, ?)", row)

    index = PgVectors(database, SPACE, vectors.shape[1], lambda space, dim: True)
    return Engine("pgvector", index, write, seconds)


def in_milvus(server: MilvusServer, folder: Path, vectors: Matrix) -> Engine:
    """Return Milvus Lite with the index that it chooses, as the service asks for it."""
    started = time.perf_counter()
    feed = VectorFeed(str(folder))
    index = MilvusVectors(server.connection(), feed, SPACE, vectors.shape[1], partial(hold, folder / "claims"))
    apply_all(index, vectors)
    return Engine("Milvus Lite", index, partial(apply_one, index), time.perf_counter() - started)


def searched(
    engines: list[Engine], queries: Matrix, truth: list[Keys], allowed: Keys | None
) -> Iterator[dict[str, Any]]:
    """Send each query to each engine in turns; yield the times and the recall of each engine."""
    times: dict[str, list[float]] = {engine.name: [] for engine in engines}
    hits = dict.fromkeys(times, 0)
    for engine in engines:
        for query in queries[:WARM_UP]:
            engine.index.search(query[np.newaxis], CANDIDATES, allowed)
    for query, nearest in zip(queries, truth, strict=True):
        for name, index, *_ in engines:
            started = time.perf_counter()
            match = index.search(query[np.newaxis], CANDIDATES, allowed)
            times[name].append((time.perf_counter() - started) * 1000)
            hits[name] += len(np.intersect1d(match.keys[:10], nearest))
    for name, each in times.items():
        p50, p95 = np.percentile(each, (50, 95)).tolist()
        recall = hits[name] / sum(len(nearest) for nearest in truth)
        yield {"p50_ms": round(p50, 2), "p95_ms": round(p95, 2), "recall_at_10": round(recall, 4)}


def written(engine: Engine, vectors: Matrix, key: int) -> float:
    """Return how many milliseconds pass until a search finds a vector that is written, at the median.

    `vectors` are new ones. Raises AssertionError if the first search does not find it.
    """
    times = []
    for number, vector in enumerate(vectors):
        started = time.perf_counter()
        engine.write(key + number, vector)
        match = engine.index.search(vector[np.newaxis], 1)
        times.append((time.perf_counter() - started) * 1000)
        assert match.keys.tolist() == [key + number], engine.name
    return round(float(np.median(times)), 2)


def measured(size: int, vectors: Matrix, queries: Matrix, folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the figures of each engine with `size` vectors."""
    there, new = vectors[:size], vectors[size : size + WRITES]
    allowed = np.sort(np.random.default_rng(3).choice(size, int(SHARE * size), replace=False))
    with contextlib.ExitStack() as servers:
        database = PostgresDatabase(servers.enter_context(PostgresServer()).new_database())
        servers.callback(database.close)
        engines = [in_memory(folder, there), in_postgresql(database, there)]
        if size <= MOST_IN_LITE:
            engines.append(in_milvus(servers.enter_context(MilvusServer(folder / "milvus")), folder, there))
        of_all = list(searched(engines, queries, exact(there, queries), None))
        of_few = list(searched(engines, queries, exact(there, queries, allowed), allowed))
        for engine, everything, few in zip(engines, of_all, of_few, strict=True):
            filtered = {f"one in {round(1 / SHARE)}: {name}": figure for name, figure in few.items()}
            write = {"write_until_hit_ms": written(engine, new, size)}
            yield (
                {"vectors": size, "engine": engine.name, "fill_s": round(engine.filled_s, 1)}
                | everything
                | filtered
                | write
            )


def main() -> None:
    """Measure each size, print a table, and write JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--corpus", type=Path, help="corpus.jsonl of real skills; made-up ones without it")
    parser.add_argument("--queries", type=Path, required=True, help="queries.jsonl with short queries")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    model = scale_steps.embedder()
    queries = model.queries(scale_steps.short_queries(arguments.queries)[:QUERIES])
    vectors = made(arguments.corpus, max(arguments.sizes) + WRITES, model)
    rows: list[dict[str, Any]] = []
    for size in arguments.sizes:
        with tempfile.TemporaryDirectory() as folder:
            rows += measured(size, vectors, queries, Path(folder))
        keep(arguments.json, {"dimension": vectors.shape[1], "engines": rows})
    show(Console(width=200), f"vectors of {vectors.shape[1]} dimensions", rows)


if __name__ == "__main__":
    main()
