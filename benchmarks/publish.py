"""How fast real skills are published, where the time goes, and what searching feels of it meanwhile.

    python benchmarks/publish.py --skills DIR [--count 1000] [--json OUT] [-- FLAG OF SERVE ...]

Starts a registry of its own: the service, SeaweedFS for packages, a git repository behind HTTP for the index, all on
this machine. Two clients upload skills of a folder one after the other, while a third searches twenty times a second,
each time for something else; it goes on for a while when all is done, with the same catalog, for comparison.
The times of the steps are the service's own, from `GET /metrics`; its own part is every step but the store's.
"""

import argparse
import io
import itertools
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

import httpx
from prometheus_client.parser import text_string_to_metric_families
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from registry.packages.package import peek
from registry.packages.packing import pack
from registry.packages.refusal import PackageRefused
from registry.skill_folder import find_skill_folders
from results_file import keep
from support.git_server import GitServer
from support.publishing import Registry, bare_repository
from support.s3 import KEYS, SeaweedFS

UPLOADERS = 2
SEARCH_EVERY_SECONDS = 0.05
IDLE_SECONDS = 30.0
OWN_STEPS = ("submit", "read", "record", "show")
Figures = dict[str, float]


class Upload(NamedTuple):
    """A package to publish, and what its skill says it is for."""

    data: bytes
    description: str


def packages(folder: Path) -> Iterator[Upload]:
    """Yield the skills below a folder that pack, one of each name, without a scope of their own."""
    known = set()
    for skill in sorted(find_skill_folders(folder)):
        file = io.BytesIO()
        try:
            pack(skill, file)
            said = peek(file)
        except PackageRefused:
            continue
        if said.name not in known and said.scope is None:
            known.add(said.name)
            yield Upload(file.getvalue(), said.description)


class Searcher:
    """Searches at a steady pace in a process of its own, and keeps how long each search took, in milliseconds."""

    def __init__(self, url: httpx.URL, headers: dict[str, str], queries: Sequence[str]) -> None:
        processes = multiprocessing.get_context("spawn")
        self._pipe, theirs = processes.Pipe()
        self._process = processes.Process(target=_search, args=(str(url), headers, queries, theirs), daemon=True)
        self._process.start()
        while not self.taken():  # the first search loads the model
            time.sleep(SEARCH_EVERY_SECONDS)

    def taken(self) -> list[float]:
        """Return the times since the last call."""
        self._pipe.send("taken")
        taken: list[float] = self._pipe.recv()
        return taken

    def stop(self) -> None:
        """Search no more."""
        self._pipe.send("stop")
        self._process.join()


def _search(url: str, headers: dict[str, str], queries: Sequence[str], pipe: Connection) -> None:
    taken: list[float] = []
    with httpx.Client(base_url=url, headers=headers, timeout=60) as http:
        for number, query in enumerate(itertools.cycle(queries)):
            if pipe.poll(SEARCH_EVERY_SECONDS):
                if pipe.recv() == "stop":
                    return
                pipe.send(taken)
                taken = []
            started = time.perf_counter()
            http.post("/api/v1/search", json={"query": f"{query[:120]} {number}"}).raise_for_status()
            taken.append(1000 * (time.perf_counter() - started))


def yield_processors(pid: int) -> None:
    """Let a process have only the processor time that nobody else wants: it stands in for one on another machine."""
    for task in Path(f"/proc/{pid}/task").iterdir():
        os.sched_setscheduler(int(task.name), os.SCHED_IDLE, os.sched_param(0))


def samples(registry: Registry, headers: dict[str, str]) -> Figures:
    """Return the service's figures: `name`, or `name:step`."""
    text = registry.http.get("/metrics", headers=headers).text
    return {
        sample.name + "".join(f":{value}" for value in sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        if family.name.startswith(("skill_registry_publish", "skill_registry_index", "skill_registry_embed"))
        for sample in family.samples
        if not sample.name.endswith("_bucket")
    }


def publish(registry: Registry, uploads: Sequence[Upload], headers: dict[str, str]) -> Figures:
    """Upload everything, and return the seconds until all was accepted, in the index, and embedded."""
    started = time.perf_counter()
    with ThreadPoolExecutor(UPLOADERS) as clients:
        answers = list(clients.map(lambda one: registry.publish(one.data, headers), uploads))
    sent = time.perf_counter() - started
    jobs = [answer.json()["data"]["job_id"] for answer in answers if answer.status_code == 202]
    states = [registry.finished(answer, seconds=600)["status"] for answer in answers if answer.status_code == 202]
    accepted = time.perf_counter() - started
    wanted = states.count("accepted")
    wait(registry, headers, lambda found: found.get("skill_registry_index_pushed_files_total", 0) >= wanted)
    pushed = time.perf_counter() - started
    wait(registry, headers, lambda found: found["skill_registry_index_pending"] == 0)
    return {
        "uploads taken": len(jobs),
        "packages accepted": wanted,
        "seconds until uploaded": sent,
        "seconds until accepted": accepted,
        "seconds until in the index": pushed,
        "seconds until embedded": time.perf_counter() - started,
    }


def wait(registry: Registry, headers: dict[str, str], condition: object) -> None:
    """Wait until the service's figures are as they should be."""
    registry.wait_for(lambda: condition(samples(registry, headers)), seconds=1200)  # type: ignore[operator]


def quantiles(name: str, taken: Sequence[float]) -> Figures:
    """Return the median and the 99th percentile of searches, in milliseconds."""
    return {
        f"searches {name}": len(taken),
        f"search {name} p50, ms": statistics.median(taken),
        f"search {name} p99, ms": statistics.quantiles(taken, n=100)[98],
    }


def shares(found: Figures, count: float, seconds: float) -> Figures:
    """Return what each step took of a package, and what others took, of the service's own figures."""
    steps = {
        name.rpartition(":")[2]: value
        for name, value in found.items()
        if name.startswith("skill_registry_publish_seconds_sum")
    }
    own = 1000 * sum(steps[step] for step in OWN_STEPS) / count
    pushes = found["skill_registry_index_push_seconds_count"]
    git, embedding = found["skill_registry_index_push_seconds_sum"], found["skill_registry_embedding_seconds_total"]
    return {
        "packages a second": count / seconds,
        **{f"{step}, ms a package": 1000 * value / count for step, value in steps.items()},
        "the service's own part, ms a package (asked: < 25)": own,
        "of the time in S3": steps["store"] / seconds,
        "of the time in git": git / seconds,
        "of the time embedding": embedding / seconds,
        "index pushes": pushes,
        "changes a push": found["skill_registry_index_pushed_files_total"] / pushes,
    }


def measure(folder: Path, uploads: Sequence[Upload], flags: Sequence[str]) -> Figures:
    """Publish everything into a fresh registry and return the figures."""
    with SeaweedFS(folder / "s3") as bucket, GitServer(folder / "hub") as hub:
        remote = bare_repository(folder / "hub" / "index" / ".git")
        subprocess.run(["git", "-C", str(remote), "config", "http.receivepack", "true"], check=True)
        args = (*bucket.flags(), "--registry-index-url", hub.url("index"), *flags)
        with Registry(folder, *args, env=KEYS) as registry:
            headers = registry.caller()
            searcher = Searcher(registry.http.base_url, headers, [one.description for one in uploads])
            for pid in (os.getpid(), bucket.pid):
                yield_processors(pid)
            figures = publish(registry, uploads, headers)
            meanwhile = searcher.taken()
            time.sleep(IDLE_SECONDS)
            idle = searcher.taken()
            with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
                time.sleep(IDLE_SECONDS)
                busy.kill()
            beside = searcher.taken()
            searcher.stop()
            found = samples(registry, headers)
    figures |= shares(found, figures["packages accepted"], figures["seconds until accepted"])
    figures |= quantiles("meanwhile", meanwhile) | quantiles("idle", idle)
    figures |= quantiles("beside a busy process", beside)
    figures["p99 meanwhile / idle (asked: <= 2)"] = figures["search meanwhile p99, ms"] / figures["search idle p99, ms"]
    return figures


def main() -> None:
    """Publish the skills of a folder."""
    parser = argparse.ArgumentParser(description="Measure publishing real skills, end to end.")
    parser.add_argument("--skills", type=Path, required=True, help="folder with skills below it")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--json", type=Path, help="file for the results")
    parser.add_argument("flags", nargs="*", help="flags for the service, after --")
    arguments = parser.parse_args()
    uploads = list(itertools.islice(packages(arguments.skills), arguments.count))
    flags = arguments.flags or ["--embedding-provider", "local"]
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(Path(folder), uploads, flags)
    table = Table("figure", "measured", title=f"{len(uploads)} skills, {sum(len(one.data) for one in uploads):,} bytes")
    for figure, value in figures.items():
        table.add_row(figure, f"{value:,.2f}")
    Console().print(table)
    keep(arguments.json, figures)


if __name__ == "__main__":
    main()
