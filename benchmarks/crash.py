"""Kills, hangs, memory and disks that run out, torn pages: what a registry has promised is there afterwards, once.

    python benchmarks/crash.py [--minutes 10 | --faults 1000] [--seed 1] [--database sqlite postgresql] [--bucket]
        [--json OUT]

A server is under a load of writes, publications and reads while its machine fails in every way, one fault after the
other: `kill -9`, SIGSTOP for a while, a limit of memory, a full disk (as root), an overwritten page in a copy of the
SQLite database, a PostgreSQL that crashes, cuts its connections or takes no writes, and with --bucket an S3 service
that loses, halves or changes what it says it has stored. The seed decides which faults come, and when. At the end all
stores are compared with what callers were promised, and with each other; `fsck` must find no difference. Exits with 1
if anything is lost, there twice, or signed twice.
"""

import argparse
import contextlib
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from results_file import keep
from support.crasher import Crasher, small_disk
from support.lying_bucket import LyingBucket
from support.postgres_server import PostgresServer
from support.registry_stores import RegistryStores
from support.s3 import SeaweedFS


def run(database: str, seed: int, faults: int | None, seconds: float | None, *, in_bucket: bool) -> dict[str, Any]:
    """Inject faults; return what was seen. Raises AssertionError where anything is lost or twice."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        postgres = stack.enter_context(PostgresServer()) if database == "postgresql" else None
        disk = stack.enter_context(small_disk(folder / "server-0"))
        bucket = None
        if in_bucket:
            bucket = stack.enter_context(LyingBucket(stack.enter_context(SeaweedFS(folder / "bucket"))))
        stores = stack.enter_context(RegistryStores(folder, postgres, bucket))
        crasher = Crasher(stores, seed, postgres, disk, bucket)
        try:
            crasher.run(faults, seconds)
            compared, ends = crasher.check()
        except BaseException:
            print(f"seed {seed}, after {dict(crasher.seen)}; warnings and the last lines of the log:", file=sys.stderr)
            lines = stores.servers[0].log.read_text().splitlines()
            print(*[line for line in lines if " INFO " not in line][-200:], *lines[-20:], sep="\n", file=sys.stderr)
            print(*stores.read("select * from publish_jobs where completed_at is null"), sep="\n", file=sys.stderr)
            raise
        return {
            "seed": seed,
            "faults": dict(crasher.seen.most_common()),
            "torn pages with changed rows": crasher.torn,
            "skills and versions compared": compared,
            "jobs by their one end": dict(ends),
            "lost, twice or signed twice": 0,
        }


def main() -> None:
    """Run on each database."""
    parser = argparse.ArgumentParser(description="Let the machine of a registry fail again and again.")
    parser.add_argument("--minutes", type=float, help="how long, for each database; 10 without --faults")
    parser.add_argument("--faults", type=int, help="how many faults, for each database")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--database", nargs="+", default=["sqlite", "postgresql"])
    parser.add_argument("--bucket", action="store_true", help="keep packages in an S3 service, which also lies")
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    seconds = (arguments.minutes or 10) * 60 if arguments.minutes or not arguments.faults else None
    results: dict[str, Any] = {}
    for database in arguments.database:
        results[database] = run(database, arguments.seed, arguments.faults, seconds, in_bucket=arguments.bucket)
        Console().print(f"{database}:", results[database])
    keep(arguments.json, results)


if __name__ == "__main__":
    main()
