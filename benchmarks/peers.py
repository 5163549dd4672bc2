"""Search here and in vector databases, over the same corpus, with the same encoder, asked in turns.

    pip install --target DIR chromadb lancedb
    python benchmarks/peers.py --packages DIR --data DATA [--queries 250] [--json OUT]

DATA has the files of `skill-registry dev eval`. Chroma searches vectors, LanceDB vectors and words (its hybrid search,
with reciprocal rank fusion), PostgreSQL both in one SQL statement (pgvector, tsvector with a GIN index, reciprocal rank
fusion). All run on this machine, with their defaults, and return ten ids. Each query goes to all, one after the other,
and who is first rotates, so that whatever else the machine does slows all alike. A search includes the encoding of its
query, whose own time is reported beside the others. nDCG@10 says what the time buys.
"""

import argparse
import os
import re
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from embeddings import EmbeddingSettings, choose
from embeddings.base import Embedder, Matrix
from registry.evaluation.corpus_index import CorpusIndex, corpus_index
from registry.evaluation.dataset import Entry, read_dataset
from registry.evaluation.measures import DEPTH, ndcg
from registry.evaluation.rankings import rankings
from results_file import keep
from support.postgres_server import PostgresServer

CANDIDATES = 100
WARM_UP = [f"prepare number {number}" for number in range(10)]
os.environ |= {"LANCE_LOG": "error", "RUST_LOG": "error"}
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
        found = collection.query(query_embeddings=model.queries([query]), n_results=DEPTH, include=[])
        return list(found["ids"][0])

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
        asked = made.search(query_type="hybrid").vector(model.queries([query])[0]).text(query)
        return [str(row["id"]) for row in asked.limit(DEPTH).select(["id"]).to_list()]

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
        asked = {"vector": str(model.queries([query])[0].tolist()), "words": words}
        return [str(row[0]) for row in connection.execute(HYBRID_SQL.encode(), asked).fetchall()]

    return search


def encoder_of(index: CorpusIndex) -> Search:
    """Return a search that encodes the query and finds nothing."""

    def search(query: str) -> list[str]:
        assert index.embedder is not None
        index.embedder.queries([query])
        return []

    return search


def in_turns(searches: dict[str, Search], queries: Sequence[str]) -> dict[str, list[float]]:
    """Return the milliseconds of each search; who is first rotates. No query comes twice: the engine remembers some."""
    names = list(searches)
    took = defaultdict(list)
    for number, query in enumerate(queries):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            start = time.perf_counter()
            searches[name](query)
            took[name].append(1000 * (time.perf_counter() - start))
    return took


def everybody(stack: ExitStack, folder: Path, corpus: Sequence[Entry], index: CorpusIndex) -> dict[str, Search]:
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
        "skill-registry, hybrid": rankings(index)["hybrid"],
        "Chroma, vectors": chroma(folder / "chroma", ids, vectors, model),
        "LanceDB, hybrid": lance(folder / "lance", ids, texts, vectors, model),
        "PostgreSQL, hybrid": postgresql(connection, ids, texts, vectors, model),
    }


def main() -> None:
    """Measure all of them."""
    parser = argparse.ArgumentParser(description="Compare search here with vector databases.")
    parser.add_argument("--packages", type=Path, required=True, help="folder with chromadb and lancedb")
    parser.add_argument("--data", type=Path, required=True, help="folder with corpus, queries and qrels")
    parser.add_argument("--queries", type=int, default=250)
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    sys.path.append(str(arguments.packages))  # behind the packages of this environment
    data = read_dataset(arguments.data)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        cache = Path(tempfile.gettempdir()) / "skill-registry-models"
        model = choose(EmbeddingSettings(provider="local", cache_dir=cache))
        (folder / "index").mkdir()
        index = stack.enter_context(corpus_index(data.corpus, folder / "index", model))
        searches = everybody(stack, folder, data.corpus, index)
        asked = data.queries[: arguments.queries]
        timed = {**searches, "encoder alone": encoder_of(index)}
        in_turns(timed, WARM_UP)
        took = in_turns(timed, [query.text for query in asked])
        quality = {
            name: statistics.mean(ndcg(search(query.text), data.gains[query.id]) for query in asked)
            for name, search in searches.items()
        }
    ours = statistics.median(took["skill-registry, hybrid"])
    results = {}
    for name, times in took.items():
        median = statistics.median(times)
        p95 = statistics.quantiles(times, n=20)[-1]
        results[name] = {"p50 ms": round(median, 2), "p95 ms": round(p95, 2), "ratio of p50": round(median / ours, 2)}
        if name in quality:
            results[name]["ndcg@10"] = round(100 * quality[name], 1)
        print(f"{name}: {results[name]}")
    keep(arguments.json, {"documents": len(data.corpus), "queries": len(asked), "results": results})


if __name__ == "__main__":
    main()
