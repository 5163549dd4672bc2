"""Replicas on one PostgreSQL and one S3 under a mixed load, while they are killed: nothing acknowledged is lost.

    python benchmarks/replicas.py [--seconds 120] [--replicas 3] [--kill-every 5] [--json OUT]

Callers create, change, delete, publish, yank, read and search through any replica. One replica is killed every few
seconds and started again, and the database once, half-way. Each caller remembers what was acknowledged, reads it back
at once, looks for some of it through every replica, and compares everything in the end.
"""

import argparse
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from results_file import keep
from support.mixed_load import MixedLoad
from support.postgres_server import PostgresServer
from support.registry_stores import RegistryStores
from support.s3 import SeaweedFS

_WITHIN_MS = 200


def run(seconds: float, replicas: int, every: float) -> dict[str, Any]:
    """Load and disturb; return what was seen. Raises AssertionError where anything acknowledged is lost."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (
            PostgresServer() as postgres,
            SeaweedFS(folder / "s3") as bucket,
            RegistryStores(folder, postgres, bucket) as stores,
        ):
            load = MixedLoad(stores, replicas, writers=3, publishers=1, readers=2)
            kills = load.run(postgres, seconds, every)
            compared, ends = load.check()
            return figures(load, kills) | {
                "jobs by their one end": dict(ends),
                "skills and versions compared in the end": compared,
                "acknowledged writes lost": 0,
            }


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
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    results = run(arguments.seconds, arguments.replicas, arguments.kill_every)
    Console().print(results)
    keep(arguments.json, results)


if __name__ == "__main__":
    main()
