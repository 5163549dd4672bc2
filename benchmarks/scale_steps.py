"""The steps of `scale.py` for one size, each run in its own process: fill, build, search, serve."""

import registry.__main__  # noqa: I001, F401 - limits the threads of numpy and FAISS as it does for the service
import argparse
import json
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import corpora
import load
from embeddings import Embedder, EmbeddingSettings, choose
from latency_http import Served
from nearest import Nearest
from registry.catalog.documents import CatalogDocuments
from registry.catalog.store import Catalog
from registry.database.sqlite import SqliteDatabase
from registry.db import Database
from registry.domain.models import Skill, now
from search.engine import Engine, text_space
from search.requests import SearchRequest
from search.service import CANDIDATES
from search.types import Embedded, Filter
from search.vectors.query_vectors import embed_query

QUERIES = 200
PROMPTS = 50
WRITES = 20
STARTING = 300
LONG_PROMPT = 1500  # characters
MODELS = Path(tempfile.gettempdir()) / "skill-registry-models"
ENABLED = Filter((), ("enabled:false",))
Figures = dict[str, float]


def embedder() -> Embedder:
    """Return the local model."""
    chosen = choose(EmbeddingSettings(provider="local", cache_dir=MODELS))
    assert chosen is not None
    return chosen


def short_queries(path: Path) -> list[str]:
    """Return the first short queries of a `queries.jsonl`."""
    with path.open(encoding="utf-8") as lines:
        texts = [" ".join(json.loads(line)["text"].split()) for line in lines]
    return list(dict.fromkeys(text for text in texts if len(text) <= 150))[:QUERIES]


def long_prompts(originals: Sequence[corpora.Entry]) -> list[str]:
    """Return the beginnings of bodies, as long as the longest prompts that agents send."""
    return [entry.body[:LONG_PROMPT] for entry in originals[:: len(originals) // PROMPTS]][:PROMPTS]


def open_database(folder: Path, url: str | None) -> Database:
    """Open the catalog to measure."""
    if url is None:
        return SqliteDatabase(folder / "skill-registry.db")
    from registry.database.postgres import PostgresDatabase  # noqa: PLC0415 - an extra

    return PostgresDatabase(url)


def open_engine(documents: CatalogDocuments, folder: Path, model: Embedder | None) -> Engine:
    """Return the engine of the service, without background embedding, which is measured separately."""
    return Engine(documents, folder / "indexes", model, fallback_seconds=60, indexing=False)


def memory(which: str = "VmRSS") -> float:
    """Return the memory of this process in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(which)).split()[1]) / 1024


def fill(arguments: argparse.Namespace) -> Figures:
    """Create the catalog, and save the results of exact vector search."""
    originals, model = corpora.entries(arguments.corpus), embedder()
    of_originals = model.documents([f"{entry.name}: {entry.description}" for entry in originals])
    nearest = Nearest(model.queries(short_queries(arguments.queries)))
    database = open_database(arguments.folder, arguments.database)
    started = time.perf_counter()
    for keys, vectors in corpora.fill(database, originals, arguments.size, model, of_originals):
        nearest.add(keys, vectors)
    seconds = time.perf_counter() - started
    database.close()
    nearest.save(arguments.folder / "nearest.npz")
    return {"making: seconds": seconds}


def build(arguments: argparse.Namespace) -> Figures:
    """Build both indexes from the database."""
    database = open_database(arguments.folder, arguments.database)
    started, busy = time.perf_counter(), time.process_time()
    keyword_engine = open_engine(CatalogDocuments(database), arguments.folder, None)
    keyword_engine.start()
    keyword_engine.close()
    middle, busy_middle = time.perf_counter(), time.process_time()
    hybrid_engine = open_engine(CatalogDocuments(database), arguments.folder, embedder())
    hybrid_engine.start()
    hybrid_engine._target.vectors.wait_for_merge()  # as a service does before it is stopped
    hybrid_engine.close()
    ended, busy_ended = time.perf_counter(), time.process_time()
    database.close()
    return {
        "building: words, seconds": middle - started,
        "building: words, processor seconds": busy_middle - busy,
        "building: vectors, seconds": ended - middle,
        "building: vectors, processor seconds": busy_ended - busy_middle,
        "building: greatest RSS, MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "files: words, MB": _megabytes(arguments.folder.glob("indexes/words-*/*")),
        "files: vectors, MB": _megabytes(arguments.folder.glob("indexes/vectors-*")),
        "files: database, MB": _megabytes(arguments.folder.glob("skill-registry.db*")),
    }


def _megabytes(paths: Iterator[Path]) -> float:
    return sum(path.stat().st_size for path in paths) / 1e6


def search(arguments: argparse.Namespace) -> Figures:
    """Start from the snapshots, then measure searches and writes."""
    figures: Figures = {}
    started = time.perf_counter()
    database = open_database(arguments.folder, arguments.database)
    model = embedder()
    engine = open_engine(CatalogDocuments(database), arguments.folder, model)
    engine.start()
    figures["start: indexes, seconds"] = time.perf_counter() - started
    originals = corpora.entries(arguments.corpus)
    short, long = short_queries(arguments.queries), long_prompts(originals)
    ask: Callable[[str], object] = lambda text: engine.search.search(SearchRequest(text, allowed=ENABLED))  # noqa: E731
    ask("the first search")
    figures["start: RSS, MB"] = memory()
    others = [entry.description[:100] for entry in originals[:: len(originals) // STARTING]][:STARTING]
    figures |= _percentiles("hybrid, short, just started", ask, others)  # the files are read for the first time
    for kind, texts in (("short", short), ("long", long)):
        figures |= _searches(engine, model, kind, texts)
    figures |= _filters(engine, short, arguments.folder)
    figures |= _writes(engine, model, database)
    figures["searching: RSS, MB"], figures["of that in no file, MB"] = memory(), memory("RssAnon")
    engine.close()
    database.close()
    return figures


def _searches(engine: Engine, model: Embedder, kind: str, texts: Sequence[str]) -> Figures:
    reader, index = engine.index_sync.lexical.reader, engine._target.vectors
    vectors = {text: embed_query(model, text) for text in texts}
    terms = {text: reader.terms(text) for text in texts}
    return {
        **_percentiles(
            f"hybrid, {kind}", lambda text: engine.search.search(SearchRequest(text, allowed=ENABLED)), texts
        ),
        **_percentiles(
            f"words, {kind}",
            lambda text: engine.search.search(SearchRequest(text, mode="keyword", allowed=ENABLED)),
            texts,
        ),
        f"part: model, {kind}: p50 ms": _median(lambda text: embed_query(model, text), texts),
        f"part: vectors, {kind}: p50 ms": _median(lambda text: index.search(vectors[text], CANDIDATES), texts),
        f"part: tantivy, {kind}: p50 ms": _median(lambda text: reader.search(terms[text], CANDIDATES, ENABLED), texts),
    }


def _filters(engine: Engine, short: Sequence[str], folder: Path) -> Figures:
    """Measure the recall of vector search and the time of hybrid search for each filter."""
    exact = np.load(folder / "nearest.npz")
    index, reader = engine._target.vectors, engine.index_sync.lexical.reader
    vectors = engine._target.embedder.queries(short)
    figures: Figures = {}
    for tag in ("", *corpora.TAGS):
        allowed = Filter(((f"tag:{tag}",),)) if tag else Filter()
        keys = reader.keys(allowed) if tag else None
        found = [index.search(vectors[row : row + 1], 10, keys).keys for row in range(len(short))]
        hits = [
            len(set(keys.tolist()) & set(best.tolist())) for keys, best in zip(found, exact[tag or "all"], strict=True)
        ]
        figures[f"recall@10, {tag or 'all'}"] = sum(hits) / exact[tag or "all"].size
        if tag:
            ask = partial(_search, engine, allowed)
            started = time.perf_counter()
            ask(short[0])
            figures[f"hybrid, {tag}: first, ms"] = (time.perf_counter() - started) * 1000
            figures |= _percentiles(f"hybrid, {tag}", ask, short)
    return figures


def _search(engine: Engine, allowed: Filter, text: str) -> object:
    return engine.search.search(SearchRequest(text, allowed=allowed))


def _writes(engine: Engine, model: Embedder, database: Database) -> Figures:
    """Measure the time from a write until keyword search finds it, and from its vector until vector search does."""
    catalog, documents, space = Catalog(database, now), CatalogDocuments(database), text_space(model)
    keyword_times, busy_times, vector_times, stale_times = [], [], [], []
    for number in range(WRITES):
        skill = Skill(id=f"new-{number}", name="new", description=f"A skill just written: {number}", version="1.0.0")
        before = documents.revision()
        started, busy = time.perf_counter(), time.process_time()
        with database.write() as transaction:
            catalog.save(transaction, skill, " ".join(f"word{word * number}" for word in range(100)))
        engine.changed()
        keyword_times.append(time.perf_counter() - started)
        busy_times.append(time.process_time() - busy)
        started = time.perf_counter()
        stale = documents.stale(space, 256, since=before)
        stale_times.append(time.perf_counter() - started)
        vectors = model.documents([document.text for document in stale])
        started = time.perf_counter()
        embedded = [Embedded(*document[:2], vector) for document, vector in zip(stale, vectors, strict=True)]
        documents.put_vectors(space, embedded)
        engine.changed()
        vector_times.append(time.perf_counter() - started)
    with database.write() as transaction:
        for number in range(WRITES):
            written = catalog.find(transaction, f"new-{number}")
            assert written is not None
            catalog.delete(transaction, written.key)
    engine.changed()
    return {
        "write: until words find it, p50 ms": statistics.median(keyword_times) * 1000,
        "write: until words find it, p50 ms of processor time": statistics.median(busy_times) * 1000,
        "write: vector, until found, p50 ms": statistics.median(vector_times) * 1000,
        "write: looking for what is stale, p50 ms": statistics.median(stale_times) * 1000,
        "status: p50 ms": _median(lambda _: engine.status(), ("",) * 3),
    }


def serve(arguments: argparse.Namespace) -> Figures:
    """Start the service and send it searches over HTTP."""
    if not (arguments.folder / "models").exists():
        (arguments.folder / "models").symlink_to(MODELS)
    (arguments.folder / "skills").mkdir(exist_ok=True)
    command = [
        str(Path(sys.executable).with_name("skill-registry")), "serve", "--host", "127.0.0.1", "--port", "{port}",
        "--skills-dir", str(arguments.folder / "skills"), "--data-dir", str(arguments.folder), "--log-level", "error",
        *(["--database-url", arguments.database] if arguments.database else []),
    ]  # fmt: skip
    server = Served(command, "/api/v1/search?q=first")
    figures = {"serving: start to first answer, seconds": server.seconds_to_ready}
    figures["serving: checks of the database after the start, seconds"] = server.wait_until_idle()
    texts = short_queries(arguments.queries)
    for mode in ("hybrid", "keyword"):
        bodies = [json.dumps({"query": f"{text} ", "mode": mode}).encode() for text in texts]
        for clients in (1, 8):
            requests = [load.request("/api/v1/search", server.port, body) for body in bodies[clients > 1 :: 2]]
            took = load.run(server.port, requests, clients)
            figures[f"serving: {mode}, requests/s at {clients}"] = took.throughput
            if clients == 1:
                figures[f"serving: {mode}: p95 ms"] = took.p95
    figures["serving: RSS, MB"] = server.rss_mb()
    server.stop()
    return figures


def _percentiles(name: str, call: Callable[[str], object], texts: Sequence[str]) -> Figures:
    """Return percentiles of the time of a call. Those of the processor time hold on a busy machine too."""
    times, busy = zip(*_times(call, texts), strict=True)
    percentiles = {f"{name}: p{cut} ms": float(np.percentile(times, cut)) for cut in (50, 95, 99)}
    processor = {f"{name}: p{cut} ms of processor time": float(np.percentile(busy, cut)) for cut in (50, 95)}
    return percentiles | processor


def _median(call: Callable[[str], object], texts: Sequence[str]) -> float:
    return statistics.median(time for time, _ in _times(call, texts))


def _times(call: Callable[[str], object], texts: Sequence[str]) -> list[tuple[float, float]]:
    """Return the wall time and the processor time of each call, in milliseconds."""
    times = []
    for text in texts:
        started, busy = time.perf_counter(), time.process_time()
        call(text)
        times.append(((time.perf_counter() - started) * 1000, (time.process_time() - busy) * 1000))
    return times


STEPS: dict[str, Callable[[argparse.Namespace], Figures]] = {
    "fill": fill,
    "build": build,
    "search": search,
    "serve": serve,
}


def main() -> None:
    """Run one step and write its figures to the folder."""
    parser = argparse.ArgumentParser(description="One step of scale.py.")
    parser.add_argument("step", choices=STEPS)
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--queries", type=Path, required=True)
    parser.add_argument("--database")
    arguments = parser.parse_args()
    figures: dict[str, Any] = STEPS[arguments.step](arguments)
    (arguments.folder / f"{arguments.step}.json").write_text(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
