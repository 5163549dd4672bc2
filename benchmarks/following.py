"""The delay until replicas find a write of another one, and the start time of a new replica.

    python benchmarks/following.py [--skills 4000] [--writes 60] [--json OUT]

Starts its own PostgreSQL server (`pip install 'skill-registry[dev]'`). First, three replicas with the local model write
skills in turn, and the others search until they find each one, by keyword and by vector. Then, for a large catalog, the
time until the indexes of a starting replica are ready: built from the database, fetched as the leader's snapshot, and
opened from its own disk. Medians of several starts.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

import numpy as np
from rich.console import Console

sys.path.append(str(Path(__file__).parents[1] / "tests"))

import corpora
from embeddings import Embedder, EmbeddingSettings, choose
from registry.blobs import FolderStore
from registry.catalog.documents import CatalogDocuments
from registry.database.postgres import PostgresDatabase
from registry.indexing.snapshots import IndexSnapshots
from results_file import keep
from search.engine import Engine
from support.postgres_server import PostgresServer
from support.replicas import replica
from support.servers import RunningServer, new_skill

STARTS = 5
MODELS = Path(tempfile.gettempdir()) / "skill-registry-models"
LIMITS = ("--limits-reads-per-minute", "1000000", "--limits-writes-per-minute", "100000")
LOCAL = ("--embedding-provider", "local", "--embedding-models-dir", str(MODELS), *LIMITS)


def until_found(server: RunningServer, query: str, mode: str, skill_id: str) -> float:
    """Return the seconds until a search finds a skill."""
    started = time.perf_counter()
    while True:
        answer = server.api("POST", "/search", json={"query": query, "mode": mode, "limit": 100}).json()
        if skill_id in [hit["skill"]["id"] for hit in answer.get("data", {}).get("skills", ())]:
            return time.perf_counter() - started
        assert time.perf_counter() - started < 120


def found_elsewhere(url: str, folder: Path, writes: int) -> dict[str, float]:
    """Return the milliseconds from the response to a write until the other replicas find it."""
    words, meaning = [], []
    with ExitStack() as stack:
        running = [
            stack.enter_context(replica(folder / name, url, "--profile", "registry", *LOCAL)).sign_in()
            for name in ("one", "two", "three")
        ]
        for number in range(-1, writes):  # the first round loads the models
            writer, *others = running[number % 3 :] + running[: number % 3]
            skill_id, text = f"care-{number + 1}", f"Groom the aardvark named a{number}b and feed it ants."
            assert writer.api("POST", "/skills", json=new_skill(skill_id, description=text)).status_code == 201
            words += [until_found(other, f"a{number}b", "keyword", skill_id) for other in others]
            meaning += [until_found(other, text, "semantic", skill_id) for other in others]
            if number < 0:
                until_found(writer, text, "semantic", skill_id)
                words, meaning = [], []
    return {
        f"{kind} {name}, ms": round(1000 * value, 1)
        for kind, times in (("by words", words), ("by meaning", meaning))
        for name, value in (("median", statistics.median(times)), ("p95", quantile(times)), ("worst", max(times)))
    }


def quantile(times: Sequence[float]) -> float:
    """Return the 95th percentile."""
    return float(np.quantile(times, 0.95))


def starts(url: str, folder: Path, skills: int) -> dict[str, float]:
    """Return the seconds until the indexes of a starting replica are ready, in this process."""
    embedder = choose(EmbeddingSettings(provider="local", cache_dir=MODELS))
    assert embedder is not None
    originals = corpora.entries(None)
    of_originals = embedder.documents([entry.description for entry in originals])
    with closing(PostgresDatabase(url)) as target:
        for _ in corpora.fill(target, originals, skills, embedder, of_originals):
            pass
        documents, store = CatalogDocuments(target), FolderStore(folder / "blobs")
        times: dict[str, list[float]] = {"built, s": [], "from a snapshot, s": [], "its own, s": []}
        for number in range(STARTS):
            built, fetched = folder / f"built-{number}", folder / f"fetched-{number}"
            times["built, s"].append(_seconds(lambda: _open_indexes(documents, built, embedder)))  # noqa: B023
            snapshots = IndexSnapshots(target, store, documents.catalog_id, fetched)
            if not number:
                engine = Engine(documents, built, embedder, indexing=False)
                IndexSnapshots(target, store, documents.catalog_id, built).publish(engine.index_sync.copy)
                engine.index_sync.close()
            times["from a snapshot, s"].append(
                _seconds(lambda: (snapshots.fetch(), _open_indexes(documents, fetched, embedder)))  # noqa: B023
            )
            times["its own, s"].append(_seconds(lambda: _open_indexes(documents, built, embedder)))  # noqa: B023
    return {name: round(statistics.median(measured), 3) for name, measured in times.items()}


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _open_indexes(documents: CatalogDocuments, indexes: Path, embedder: Embedder) -> None:
    engine = Engine(documents, indexes, embedder, indexing=False)
    engine.changed()
    engine.index_sync.close()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--skills", type=int, default=4000)
    parser.add_argument("--writes", type=int, default=60)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with PostgresServer() as postgres, tempfile.TemporaryDirectory() as name:
        figures = {
            "found elsewhere": found_elsewhere(postgres.new_database(), Path(name), arguments.writes),
            f"indexes of {arguments.skills} skills": starts(postgres.new_database(), Path(name), arguments.skills),
        }
    Console().print_json(data=figures)
    keep(arguments.json, figures)


if __name__ == "__main__":
    main()
