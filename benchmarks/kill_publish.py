"""kill -9 at every step of a publish: what is published afterwards is there once, everywhere, and nothing else is.

    python benchmarks/kill_publish.py [--kills 100] [--database sqlite postgresql] [--packages folder s3] [--json OUT]

`strace` tells each step a server takes: a file, a message to its database, its store or git. It is killed, with all it
has started, right after one, through the steps of a publish in turn, and started again; then all jobs must end. At the
end rows, packages, lines of the index and entries of the log are compared.
"""

import argparse
import contextlib
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from rich.console import Console

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from results_file import keep
from support.postgres_server import PostgresServer
from support.publish_kills import PublishKills
from support.registry_stores import RegistryStores
from support.s3 import SeaweedFS

_PLACES = {
    "the upload on disk": "/publish/.skill-registry-upload-",
    "the package of a job": ".zip",
    "the package unpacked": "/unpacked-",
    "the blob": "/.skill-registry-blob-",
    "a message to the database, the store or git's remote": "sendto ",
    "an answer to a caller": "writev ",
    "the database's file": "skill-registry.db",
    "the indexes of search": "write indexes",
    "the file of the index": "/registry-index/acme",
    "git": ".git/",
}


def place(step: str | None) -> str:
    """Return what a step was done to."""
    if step is None:
        return "after the end"
    return next((name for name, word in _PLACES.items() if word in step), "elsewhere")


def run(kills: int, database: str, packages: str) -> dict[str, Any]:
    """Kill a server over these stores; return what was seen. Raises AssertionError where anything is lost or twice."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        postgres = stack.enter_context(PostgresServer()) if database == "postgresql" else None
        bucket = stack.enter_context(SeaweedFS(folder / "s3")) if packages == "s3" else None
        stores = stack.enter_context(RegistryStores(folder, postgres, bucket))
        killing = PublishKills(stores)
        places = Counter(place(killing.kill(1 + number * killing.steps // kills)) for number in range(kills))
        killing.settle()
        ends = stores.check(killing.jobs)
        return {
            "kills": kills,
            "steps of a publish": killing.steps,
            "killed after": dict(places.most_common()),
            "jobs by their one end": dict(ends),
            "lost, twice or left over": 0,
        }


def main() -> None:
    """Kill over each pair of stores."""
    parser = argparse.ArgumentParser(description="Kill a server at every step of a publish.")
    parser.add_argument("--kills", type=int, default=100, help="how often, for each pair of stores")
    parser.add_argument("--database", nargs="+", default=["sqlite", "postgresql"])
    parser.add_argument("--packages", nargs="+", default=["folder", "s3"])
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    results: dict[str, Any] = {}
    for database in arguments.database:
        for packages in arguments.packages:
            results[f"{database}, {packages}"] = run(arguments.kills, database, packages)
            Console().print(f"{database}, {packages}:", results[f"{database}, {packages}"])
    keep(arguments.json, results)


if __name__ == "__main__":
    main()
