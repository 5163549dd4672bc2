"""How fast a service reads another registry as a source, the first time and when nothing changed, and in what memory.

    python benchmarks/registry_source.py [--skills DIR] [--count 1000] [--made 20000] [--json OUT]

Publishes the skills below a folder on a registry, or made ones, and adds the registry to a service. Both run on this
machine, without an embedding model. Then it refreshes several times without a change, and measures from the response
that reports a skill as published until the service finds it. With `--made`, it does the first part again with so many
made skills, which are written into the database of the registry directly, without packages.

Memory is the resident memory of the service: before it adds the source, its highest value until the source is read, and
the value after that. A full collection of skills also makes the catalog and its index larger.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from rich.console import Console

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from publish import packages
from registry.catalog.store import Catalog
from registry.database.sqlite import SqliteDatabase
from registry.domain.findings import SkillFindings
from registry.domain.models import now, timestamp
from registry.findings.engine import ENGINE
from registry.packages.update_diff import Footprint
from registry.publish.published import PublishedRecord, PublishedVersion, PublishedVersions
from registry.transparency.log import TransparencyLog
from results_file import keep
from support.publishing import Registry, skill_package
from support.servers import RunningServer

UPLOADERS = 4
ROUNDS = 9
LIMITS = ("--auth-anonymous-read",)
Figures = dict[str, Any]


class Measured(RunningServer):
    """A service whose memory is measured."""

    def memory(self, field: str) -> float:
        """Return a field of the process's status, in MiB."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:")) / 1024

    def forget_peak(self) -> None:
        """Begin to measure the highest value anew."""
        Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")


def service(folder: Path) -> Measured:
    """Return a service that may read from this machine, to be started."""
    return Measured(folder, "--outbound-allowed-host", "127.0.0.1", "--limits-source-wait-seconds", "600")


def publish(registry: Registry, uploads: Sequence[bytes]) -> int:
    """Publish packages and return how many were accepted."""
    caller = registry.caller()
    with ThreadPoolExecutor(UPLOADERS) as clients:
        answers = list(clients.map(lambda package: registry.publish(package, caller), uploads))
    taken = [answer for answer in answers if answer.status_code == 202]
    return [registry.finished(answer, seconds=600)["status"] for answer in taken].count("accepted")


def first_refresh(reader: Measured, registry: Registry, count: int) -> Figures:
    """Add the registry as a source, and return the time and the memory."""
    before = reader.memory("VmRSS")
    reader.forget_peak()
    started = time.perf_counter()
    answer = reader.api("POST", "/registry/sources", json={"name": "hub", "url": registry.url}, timeout=600)
    seconds = time.perf_counter() - started
    source = answer.json()["data"]
    assert (source["skills"], source["error"]) == (count, None), source
    return {
        "skills": count,
        "first refresh, s": round(seconds, 2),
        "memory before, MiB": round(before, 1),
        "highest memory meanwhile, MiB": round(reader.memory("VmHWM"), 1),
        "memory after, MiB": round(reader.memory("VmRSS"), 1),
    }


def unchanged_refreshes(reader: Measured) -> Figures:
    """Return the times of refreshes without a change: the request, which also lists all skills, and the refresh."""
    times = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        reader.api("POST", "/registry/refresh").raise_for_status()
        times.append(time.perf_counter() - started)
    return {
        "unchanged refresh, median s": round(statistics.median(times), 3),
        "unchanged refresh, worst s": round(max(times), 3),
    }


def until_found(reader: Measured, registry: Registry) -> Figures:
    """Return the times from a publish that is reported as done until the service finds the skill."""
    times = []
    for number in range(ROUNDS):
        registry.finished(registry.publish(skill_package(f"xyzzy{number}")))
        started = time.perf_counter()
        while f"hub/acme.xyzzy{number}" not in reader.found(f"xyzzy{number}"):
            time.sleep(0.005)
        times.append(time.perf_counter() - started)
    return {
        "published until found, median s": round(statistics.median(times), 3),
        "published until found, worst s": round(max(times), 3),
    }


def real(folder: Path, uploads: Sequence[bytes]) -> Figures:
    """Measure with real skills."""
    with Registry(folder / "registry", *LIMITS) as registry, service(folder / "service") as reader:
        count = publish(registry, uploads)
        figures = first_refresh(reader, registry, count)
        return figures | unchanged_refreshes(reader) | until_found(reader, registry)


def record_made(data_dir: Path, count: int) -> None:
    """Write made versions into the database of a registry that does not run."""
    database = SqliteDatabase(data_dir / "skill-registry.db")
    versions = PublishedVersions(database, Catalog(database, now), TransparencyLog(database, now))
    for start in range(0, count, 500):
        with database.write() as transaction:
            for number in range(start, min(count, start + 500)):
                versions.add(transaction, _made(number))
    database.close()


def _made(number: int) -> PublishedVersion:
    text = f"Step {number}: turn the file into a table and check every row of it.\n" * 60
    record = PublishedRecord(
        title=f"Made skill {number}",
        description=f"Does the things that made skill {number} is for.",
        author="acme",
        license=None,
        tags=["made", f"tag-{number % 100}"],
        capabilities=[],
        tree="sha256:" + "0" * 64,
        findings=SkillFindings(risk="none", engine=ENGINE, findings=[]),
        files=[("SKILL.md", len(text))],
        footprint=Footprint([], {}),
    )
    return PublishedVersion(
        skill_id=f"acme/made-{number:06d}",
        version="1.0.0",
        checksum="sha256:" + "0" * 64,
        size=1,
        published_at=timestamp(now()),
        record=record,
        skill_file=f"---\nname: made-{number:06d}\n---\n{text}",
    )


def made(folder: Path, count: int) -> Figures:
    """Measure the first refresh with made skills."""
    registry = Registry(folder / "registry", *LIMITS)
    with registry:
        pass  # it creates the database and the key of its log
    record_made(registry.data_dir, count)
    with registry, service(folder / "service") as reader:
        return first_refresh(reader, registry, count) | unchanged_refreshes(reader)


def main() -> None:
    """Measure, print and keep the figures."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--skills", type=Path)
    arguments.add_argument("--count", type=int, default=1000)
    arguments.add_argument("--made", type=int, default=0)
    arguments.add_argument("--json", type=Path)
    chosen = arguments.parse_args()
    if chosen.skills:
        uploads = [upload.data for _, upload in zip(range(chosen.count), packages(chosen.skills), strict=False)]
    else:
        uploads = [skill_package(f"made-{number}", body="# Body\n" * 500) for number in range(chosen.count)]
    figures: Figures = {}
    with tempfile.TemporaryDirectory() as folder:
        figures["published"] = real(Path(folder), uploads)
    if chosen.made:
        with tempfile.TemporaryDirectory() as folder:
            figures["made"] = made(Path(folder), chosen.made)
    Console().print(figures)
    keep(chosen.json, figures)


if __name__ == "__main__":
    main()
