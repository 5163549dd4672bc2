"""Search here and in vector databases, over the same corpus, with the same encoder, in turns.

    pip install --target DIR chromadb lancedb
    python benchmarks/peers.py --packages DIR --data DATA [--queries 250] [--busy] [--json OUT]

DATA has the files of `skill-registry dev eval`. Chroma searches vectors, LanceDB vectors and words (its hybrid search,
with reciprocal rank fusion), PostgreSQL both in one SQL statement (pgvector, tsvector with a GIN index, reciprocal rank
fusion). All run on this machine, with their defaults, and return ten ids. Each query goes to all, one after the other,
and who is first rotates, so that whatever else the machine does slows all alike. A search includes the encoding of its
query, whose own time is reported beside the others. nDCG@10 says what the time buys. numpy and FAISS have one thread,
as in the service.

With `--busy`, everything is built and measured a second time, with the same queries, while two processes burn a core
each. A machine with nothing else to do gives the true figures of the first run.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import registry.__main__  # noqa: F401 - limits the threads of numpy and FAISS as it does for the service
from embeddings import EmbeddingSettings, choose
from embeddings.base import Embedder, Matrix
from registry.evaluation.corpus_index import CorpusIndex, corpus_index
from registry.evaluation.dataset import Dataset, Entry, read_dataset
from registry.evaluation.measures import DEPTH, ndcg
from registry.evaluation.rankings import rankings
from results_file import keep
from support.postgres_server import PostgresServer

OURS = "skill-registry, hybrid"
ENCODER = "encoder alone"
CANDIDATES = 100
BURNERS = 2
_BURN = "import os, sys\nwhile os.getppid() == int(sys.argv[1]):\n    sum(range(1_000_000))"
WARM_UP = [f"prepare number {number}" for number in range(10)]
os.environ |= {"LANCE_LOG": "error", "LANCEDB_LOG": "error", "RUST_LOG": "error"}
_WORD = re.compile(r"\w+")

HYBRID_SQL = f"""
with near as (
    select id, row_number() over (order by distance) as rank
    from (select id, embedding <=> %(vector)s::vector as distance from documents order by 2 limit {CANDIDATES}) v
), worded as (
    select id, row_number() over (order by score desc) as rank
    from (
        select id, ts_rank(words, query) as score
        from documents, to_tsquery('english', %(words)s) query where words @@ query order by 2 desc limit {CANDIDATES}
    ) w
)
select id from near full join worded using (id)
order by coalesce(1.0 / (60 + near.rank), 0) + coalesce(1.0 / (60 + worded.rank), 0) desc limit {DEPTH}
"""

Search = Callable[[str], list[str]]


def text_of(entry: Entry) -> str:
    """Return all words of a skill as one text."""
    return "\n".join([entry.name, entry.description or "", *(entry.tags or []), entry.text or ""])


def chroma(folder: Path, ids: Sequence[str], vectors: Matrix, model: Embedder) -> Search:
    """Return the search of a Chroma collection."""
    import chromadb  # noqa: PLC0415 - only this benchmark needs it

    client = chromadb.PersistentClient(str(folder), settings=chromadb.Settings(anonymized_telemetry=False))
    collection = client.create_collection("skills", embedding_function=None, metadata={"hnsw:space": "cosine"})
    for first in range(0, len(ids), 1000):
        part = slice(first, first + 1000)
        collection.add(ids=list(ids[part]), embeddings=vectors[part])

    def search(query: str) -> list[str]:
        hits = collection.query(query_embeddings=model.queries([query]), n_results=DEPTH, include=[])
        return list(hits["ids"][0])

    return search


def lance(folder: Path, ids: Sequence[str], texts: Sequence[str], vectors: Matrix, model: Embedder) -> Search:
    """Return the hybrid search of a LanceDB table."""
    import lancedb  # noqa: PLC0415 - only this benchmark needs it
    import pyarrow  # noqa: PLC0415 - comes with lancedb

    rows = {"id": list(ids), "text": list(texts)}
    width = vectors.shape[1]
    table = pyarrow.table(
        {
            **rows,
            "vector": pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(vectors.ravel(), pyarrow.float32()), width),
        }
    )
    made = lancedb.connect(str(folder)).create_table("skills", table)
    made.create_fts_index("text")

    def search(query: str) -> list[str]:
        hits = made.search(query_type="hybrid").vector(model.queries([query])[0]).text(query).limit(DEPTH)
        return [str(row["id"]) for row in hits.select(["id"]).to_list()]

    return search


def postgresql(
    connection: psycopg.Connection[Any], ids: Sequence[str], texts: Sequence[str], vectors: Matrix, model: Embedder
) -> Search:
    """Return a hybrid search in SQL, with pgvector."""
    width = vectors.shape[1]
    connection.execute("create extension vector")
    connection.execute(f"create table documents (id text, words tsvector, embedding vector({width}))".encode())
    for key, text, vector in zip(ids, texts, vectors, strict=True):
        plain = text.replace("\0", " ")[:200_000]
        values = (key, plain, str(vector.tolist()))
        connection.execute("insert into documents values (%s, to_tsvector('english', %s), %s)", values)
    connection.execute("create index on documents using gin (words)")
    connection.execute("create index on documents using hnsw (embedding vector_cosine_ops)")
    connection.execute("analyze documents")

    def search(query: str) -> list[str]:
        words = " | ".join(_WORD.findall(query)[:64])
        parameters = {"vector": str(model.queries([query])[0].tolist()), "words": words}
        return [str(row[0]) for row in connection.execute(HYBRID_SQL.encode(), parameters).fetchall()]

    return search


def encoder_of(index: CorpusIndex) -> Search:
    """Return a search that encodes the query and finds nothing."""

    def search(query: str) -> list[str]:
        assert index.embedder is not None
        index.embedder.queries([query])
        return []

    return search


class Run(NamedTuple):
    """The milliseconds and the hits of each query, in the order of the queries."""

    milliseconds: list[float]
    hits: list[list[str]]


def in_turns(searches: dict[str, Search], queries: Sequence[str]) -> dict[str, Run]:
    """Return the run of each search; who is first rotates. No query comes twice: the engine remembers some."""
    names = list(searches)
    runs = {name: Run([], []) for name in names}
    for number, query in enumerate(queries):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            start = time.perf_counter()
            hits = searches[name](query)
            runs[name].milliseconds.append(1000 * (time.perf_counter() - start))
            runs[name].hits.append(hits)
    return runs


@contextmanager
def burning(count: int) -> Iterator[None]:
    """Keep `count` processes busy, each with a core. They also end when this process is killed."""
    command = [sys.executable, "-c", _BURN, str(os.getpid())]
    burners = [subprocess.Popen(command) for _ in range(count)]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


def searches_over(stack: ExitStack, folder: Path, corpus: Sequence[Entry], index: CorpusIndex) -> dict[str, Search]:
    """Return the search of each program."""
    model, keys, vectors = index.embedder, index.vector_keys, index.vectors
    assert model is not None
    assert keys is not None
    assert vectors is not None
    texts_by_id = {entry.id: text_of(entry) for entry in corpus}
    ids = [index.ids[key] for key in keys.tolist()]
    texts = [texts_by_id[one] for one in ids]
    server = stack.enter_context(PostgresServer())
    connection = stack.enter_context(psycopg.connect(server.new_database(), autocommit=True))
    return {
        OURS: rankings(index)["hybrid"],
        "Chroma, vectors": chroma(folder / "chroma", ids, vectors, model),
        "LanceDB, hybrid": lance(folder / "lance", ids, texts, vectors, model),
        "PostgreSQL, hybrid": postgresql(connection, ids, texts, vectors, model),
        ENCODER: encoder_of(index),
    }


def measured(data: Dataset, limit: int, burners: int) -> dict[str, dict[str, float]]:
    """Build everything, and return the figures of each search beside so many busy processes."""
    queries = data.queries[:limit]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        cache = Path(tempfile.gettempdir()) / "skill-registry-models"
        model = choose(EmbeddingSettings(provider="local", cache_dir=cache))
        (folder / "index").mkdir()
        index = stack.enter_context(corpus_index(data.corpus, folder / "index", model))
        searches = searches_over(stack, folder, data.corpus, index)
        with burning(burners):
            in_turns(searches, WARM_UP)
            runs = in_turns(searches, [query.text for query in queries])
    ours = statistics.median(runs[OURS].milliseconds)
    figures = {}
    for name, run in runs.items():
        p50 = statistics.median(run.milliseconds)
        p95 = statistics.quantiles(run.milliseconds, n=20)[-1]
        figures[name] = {"p50 ms": round(p50, 2), "p95 ms": round(p95, 2), "ratio of p50": round(p50 / ours, 2)}
        if name != ENCODER:
            gains = [ndcg(hits, data.gains[query.id]) for hits, query in zip(run.hits, queries, strict=True)]
            figures[name]["ndcg@10"] = round(100 * statistics.mean(gains), 1)
    return figures


def show(results: dict[str, dict[str, dict[str, float]]]) -> None:
    """Print a row for each search, with the figures of each load side by side."""
    columns = ("p50 ms", "p95 ms", "ratio of p50", "ndcg@10")
    table = Table("search", *(f"{load}: {column}" for load in results for column in columns))
    for name in next(iter(results.values())):
        table.add_row(name, *(str(figures[name].get(column, "")) for figures in results.values() for column in columns))
    Console(width=180).print(table)


def main() -> None:
    """Measure all of them, on the machine as it is and, if asked for, on a busy one."""
    parser = argparse.ArgumentParser(description="Compare search here with vector databases.")
    parser.add_argument("--packages", type=Path, required=True, help="folder with chromadb and lancedb")
    parser.add_argument("--data", type=Path, required=True, help="folder with corpus, queries and qrels")
    parser.add_argument("--queries", type=int, default=250)
    parser.add_argument("--busy", action="store_true", help="measure again beside two processes that burn a core each")
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    sys.path.append(str(arguments.packages))  # behind the packages of this environment
    data = read_dataset(arguments.data)
    loads = {"quiet": 0, "busy": BURNERS} if arguments.busy else {"quiet": 0}
    results = {load: measured(data, arguments.queries, burners) for load, burners in loads.items()}
    show(results)
    queries = len(data.queries[: arguments.queries])
    keep(arguments.json, {"documents": len(data.corpus), "queries": queries, "results": results})


if __name__ == "__main__":
    main()
