"""Two servers on one PostgreSQL and one S3 share publishes while one of them is killed again and again.

    python benchmarks/shared_publish.py [--publishes 500] [--seconds 3] [--json OUT]

Callers go to either server, and with the same key to the other one where no answer comes. In the end every promised job
must have ended once, and rows, packages, lines of the index and entries of the log are compared.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rich.console import Console

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from results_file import keep
from support.postgres_server import PostgresServer
from support.publish_kills import share
from support.registry_stores import RegistryStores
from support.s3 import SeaweedFS


def run(publishes: int, seconds: float) -> dict[str, Any]:
    """Publish and kill; return what was seen. Raises AssertionError where anything is lost or twice."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (
            PostgresServer() as postgres,
            SeaweedFS(folder / "s3") as bucket,
            RegistryStores(folder, postgres, bucket) as stores,
        ):
            jobs, kills = share(stores, publishes, seconds)
            ends = stores.check(jobs)
    return {
        "publishes": publishes,
        "kills of one server": kills,
        "jobs by their one end": dict(ends),
        "lost, twice or left over": 0,
        "seconds": round(time.monotonic() - started),
    }


def main() -> None:
    """Run it once."""
    parser = argparse.ArgumentParser(description="Publish through two servers, one of which is killed.")
    parser.add_argument("--publishes", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=3.0, help="between kills, on average")
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    results = run(arguments.publishes, arguments.seconds)
    Console().print(results)
    keep(arguments.json, results)


if __name__ == "__main__":
    main()
