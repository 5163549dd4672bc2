"""Keyword search alone: ours, PostgreSQL's in two ways, and Milvus's, by quality and by time.

    python benchmarks/keyword_engines.py [--data DATA…] [--times DATA --sizes 4000 100000 --kept FOLDER]
        [--all-ranks] [--milvus] [--json OUT]

DATA has the files of `skill-registry dev eval`. nDCG@10 is that of all queries of each. For times, the skills of one
are made into catalogs of the given sizes as `scale.py` makes them; `--kept` has those that it has left in its
`--folder`. The short queries of the set go to each program in turn, on one connection without parallel workers.
`lexical_engines.py` says how each program searches.
"""

import argparse
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import corpora
import lexical_engines as engines
import scale_steps
from peers import in_turns
from registry.catalog.documents import CatalogDocuments
from registry.database.sqlite import SqliteDatabase
from registry.evaluation.corpus_index import CorpusIndex, corpus_index
from registry.evaluation.dataset import Dataset, Entry, read_dataset
from registry.evaluation.measures import DEPTH, ndcg
from registry.evaluation.rankings import rankings
from results_file import keep
from search.types import Document, Filter
from support.milvus_server import MilvusServer
from support.postgres_server import PostgresServer

WARM_UP = 10
MILVUS_SKILLS = 4000
"""Milvus Lite is written in Python, so its times say nothing of a server, and less with more skills."""

OURS = "ours"
Rank = Callable[[str], list[str]]


def documents_of(corpus: Sequence[Entry]) -> list[Document]:
    """Return the documents as our index has them, with their positions as keys."""
    return [
        Document(
            key=number,
            id=f"skill-{number}",
            name=entry.name,
            description=entry.description or "",
            tags=tuple(entry.tags or ()),
            body=entry.text or "",
        )
        for number, entry in enumerate(corpus)
    ]


def ours(index: CorpusIndex) -> dict[str, Rank]:
    """Return our keyword search, and its BM25 alone: without names, spelling, identifiers and sentences."""
    reader = index.engine.index_sync.lexical.reader

    def bm25(query: str) -> list[str]:
        terms = {term: weight for term, weight in reader.terms(query).items() if term not in reader.identifiers(query)}
        return [index.ids[key] for key in reader.search(terms, DEPTH, Filter()).keys.tolist()]

    return {OURS: rankings(index)["keyword"], "ours, BM25 alone": bm25}


def named(search: engines.Search, corpus: Sequence[Entry]) -> Rank:
    """Return a search that returns ids of the corpus instead of positions."""
    return lambda query: [corpus[key].id for key in search(query)]


@contextmanager
def kept_index(folder: Path, size: int) -> Iterator[CorpusIndex]:
    """Yield the index of a catalog that `scale.py` has left in a folder."""
    with ExitStack() as stack:
        database = stack.enter_context(closing(SqliteDatabase(folder / "skill-registry.db")))
        engine = stack.enter_context(closing(scale_steps.open_engine(CatalogDocuments(database), folder, None)))
        engine.start()
        yield CorpusIndex(engine, {number + 1: f"skill-{number}" for number in range(size)}, None, None, None)


@contextmanager
def built(
    corpus: Sequence[Entry], server: PostgresServer, *, all_ranks: bool, milvus: bool, kept: Path | None = None
) -> Iterator[tuple[dict[str, Rank], dict[str, dict[str, float]]]]:
    """Yield the search of each program over a corpus, and what it took to build: seconds and megabytes."""
    documents = documents_of(corpus)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        index = stack.enter_context(kept_index(kept, len(corpus)) if kept else corpus_index(corpus, folder, None))
        connection = stack.enter_context(psycopg.connect(server.new_database(), autocommit=True))
        connection.execute("set max_parallel_workers_per_gather = 0")
        connection.execute("set work_mem = '64MB'")
        connection.execute("set jit = off")
        parts = {
            "PostgreSQL full text": engines.full_text(connection, documents, all_ranks=all_ranks),
            "PostgreSQL table of terms": engines.term_table(connection, documents),
        }
        if milvus:
            (folder / "milvus").mkdir()
            uri = stack.enter_context(MilvusServer(folder / "milvus")).uri
            parts["Milvus Lite, its analyzer"] = engines.milvus(uri, documents, our_terms=False)
            parts["Milvus Lite, our terms"] = engines.milvus(uri, documents, our_terms=True)
        searches = {name: search for part in parts.values() for name, search in part.searches.items()}
        costs = {name: {"seconds": round(part.seconds, 1)} for name, part in parts.items()}
        for name, part in parts.items():
            if part.megabytes is not None:
                costs[name]["MB"] = round(part.megabytes, 1)
        words = sum(file.stat().st_size for file in (kept or folder).glob("indexes/words-*/*")) / 1e6
        costs["tantivy"] = {"MB": round(words, 1)}
        yield ours(index) | {name: named(search, corpus) for name, search in searches.items()}, costs


def quality(data: Dataset, server: PostgresServer, *, all_ranks: bool, milvus: bool) -> dict[str, float]:
    """Return 100 times the nDCG@10 of each program, highest first."""
    with built(data.corpus, server, all_ranks=all_ranks, milvus=milvus) as (searches, _):
        means = {
            name: statistics.mean(ndcg(search(query.text), data.gains[query.id]) for query in data.queries)
            for name, search in searches.items()
        }
    return {name: round(100 * mean, 1) for name, mean in sorted(means.items(), key=lambda item: -item[1])}


def times(size: int, server: PostgresServer, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the milliseconds of each program over a catalog of `size` skills, and what it took to build."""
    originals = corpora.entries(arguments.times / "corpus.jsonl")
    corpus = [
        Entry(f"skill-{number}", entry.name, entry.description, [], entry.body)
        for number, (_, entry) in enumerate(corpora.grown(originals, size))
    ]
    queries = scale_steps.short_queries(arguments.times / "queries.jsonl")[: arguments.queries]
    kept = arguments.kept and arguments.kept / str(size)
    milvus = arguments.milvus and size <= MILVUS_SKILLS
    with built(corpus, server, all_ranks=False, milvus=milvus, kept=kept) as (searches, costs):
        in_turns(searches, [entry.description[:100] for entry in originals[:WARM_UP]])
        runs = in_turns(searches, queries)
    measured = {}
    for name, run in runs.items():
        p95 = statistics.quantiles(run.milliseconds, n=20)[-1]
        measured[name] = {"p50 ms": round(statistics.median(run.milliseconds), 2), "p95 ms": round(p95, 2)}
    return {"skills": size, "queries": len(queries), "times": measured, "building": costs}


def show(title: str, columns: dict[str, dict[str, Any]]) -> None:
    """Print a table with a row for each program."""
    table = Table("program", *columns, title=title)
    names = dict.fromkeys(name for column in columns.values() for name in column)
    for name in names:
        table.add_row(name, *(str(column.get(name, "")) for column in columns.values()))
    Console(width=160).print(table)


def main() -> None:
    """Measure quality over all sets, then times."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, nargs="*", default=[], help="folders with corpus, queries and qrels")
    parser.add_argument("--times", type=Path, help="the folder whose skills are made into catalogs")
    parser.add_argument("--sizes", type=int, nargs="*", default=[4000, 100_000])
    parser.add_argument("--kept", type=Path, help="the --folder of scale.py, with catalogs of these sizes")
    parser.add_argument("--queries", type=int, default=60, help="queries whose time is measured")
    parser.add_argument("--all-ranks", action="store_true", help="with every ranking of PostgreSQL's full text")
    parser.add_argument("--milvus", action="store_true", help=f"with Milvus Lite, up to {MILVUS_SKILLS:,} skills")
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, PostgresServer(folder=Path(name)) as server:
        found = {data.name: data for data in map(read_dataset, arguments.data)}
        qualities = {
            name: quality(data, server, all_ranks=arguments.all_ranks, milvus=arguments.milvus)
            for name, data in found.items()
        }
        if qualities:
            show("nDCG@10", qualities)
        sizes = [times(size, server, arguments) for size in (arguments.sizes if arguments.times else ())]
    for one in sizes:
        rows = one["times"] | one["building"]
        columns = ("p50 ms", "p95 ms", "seconds", "MB")
        show(f"{one['skills']:,} skills", {key: {name: rows[name].get(key, "") for name in rows} for key in columns})
    queries = {name: len(data.queries) for name, data in found.items()}
    keep(arguments.json, {"queries": queries, "ndcg@10": qualities, "sizes": sizes})


if __name__ == "__main__":
    main()
