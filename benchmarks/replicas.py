"""Replicas on one PostgreSQL and one S3 under a mixed load, while they are killed: nothing acknowledged is lost.

    python benchmarks/replicas.py [--seconds 120] [--replicas 3] [--kill-every 5] [--vectors milvus] [--json OUT]

Callers create, change, delete, publish, yank, read and search through any replica. One replica is killed every few
seconds and started again, and the database once, half-way. Each caller remembers what was acknowledged, reads it back
at once, looks for some of it through every replica, and compares everything in the end. With `--vectors milvus`, all
replicas also embed with a small random model and search one Milvus Lite, a server in one process, which is killed too.
"""

import argparse
import contextlib
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from rich.console import Console

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from results_file import keep
from support.bert_folder import write_bert_folder
from support.milvus_server import MilvusServer
from support.mixed_load import MixedLoad
from support.postgres_server import PostgresServer
from support.registry_stores import RegistryStores
from support.s3 import SeaweedFS

_WITHIN_MS = 200
_AWAY_SECONDS = 3


def run(seconds: float, replicas: int, every: float, vectors: str) -> dict[str, Any]:
    """Load and disturb; return what was seen. Raises AssertionError where anything acknowledged is lost."""
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as servers:
        folder = Path(name)
        milvus = servers.enter_context(MilvusServer(folder / "milvus")) if vectors == "milvus" else None
        with (
            PostgresServer() as postgres,
            SeaweedFS(folder / "s3") as bucket,
            RegistryStores(folder, postgres, bucket, _search(folder, milvus) if milvus else None) as stores,
        ):
            load = MixedLoad(stores, replicas, writers=3, publishers=1, readers=2)
            crash = threading.Timer(seconds / 4, _crash, (milvus,)) if milvus else None
            if crash:
                crash.start()
            kills = load.run(postgres, seconds, every)
            if crash:
                crash.join()
            compared, ends = load.check()
            return figures(load, kills) | {
                "vectors": "one Milvus Lite server, killed once for 3 s" if milvus else "none",
                "searches for a write by mode": dict(load.callers.modes),
                "jobs by their one end": dict(ends),
                "skills and versions compared in the end": compared,
                "acknowledged writes lost": 0,
            }


def _search(folder: Path, milvus: MilvusServer) -> dict[str, str]:
    """Return the settings of the model and of Milvus."""
    return {
        "SKILL_REGISTRY_EMBEDDING_PROVIDER": "local",
        "SKILL_REGISTRY_EMBEDDING_MODEL": str(write_bert_folder(folder / "model")),
        "SKILL_REGISTRY_SEARCH_VECTORS": "milvus",
        "SKILL_REGISTRY_SEARCH_MILVUS_URI": milvus.uri,
    }


def _crash(milvus: MilvusServer) -> None:
    milvus.kill()
    time.sleep(_AWAY_SECONDS)
    milvus.start()


def figures(load: MixedLoad, kills: int) -> dict[str, Any]:
    """Return what the callers saw."""
    found, outcomes = load.callers.found_ms, load.callers.outcomes
    cuts = statistics.quantiles(found, n=100)
    return {
        "kills of a replica": kills,
        "crashes of the database": 1,
        "answers": {f"{method} {status or 'none'}": count for (method, status), count in sorted(outcomes.items())},
        "a write is found, ms after it is acknowledged": {
            "looked for": len(found),
            "p50": round(cuts[49], 1),
            "p95": round(cuts[94], 1),
            "p99": round(cuts[98], 1),
            "worst": round(max(found), 1),
            f"within {_WITHIN_MS}, %": round(100 * sum(one <= _WITHIN_MS for one in found) / len(found), 2),
            "by the first search, %": round(100 * load.callers.searches[1] / load.callers.searches.total(), 2),
        },
    }


def main() -> None:
    """Run it once."""
    parser = argparse.ArgumentParser(description="Load replicas that are killed, and compare with what was promised.")
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--replicas", type=int, default=3)
    parser.add_argument("--kill-every", type=float, default=5, help="seconds between kills, on average")
    parser.add_argument("--vectors", choices=("none", "milvus"), default="none", help="where the vectors are")
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    results = run(arguments.seconds, arguments.replicas, arguments.kill_every, arguments.vectors)
    Console().print(results)
    keep(arguments.json, results)


if __name__ == "__main__":
    main()
