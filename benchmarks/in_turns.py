"""Two versions of the service side by side, asked in turns: what each request takes in one and in the other.

    python benchmarks/in_turns.py 25f67f6 [--new .] [--skills 2000] [--requests 300] [--models DIR] [--json OUT]
    python benchmarks/in_turns.py 25f67f6 --load [--workers 2] [--rounds 10] [--models DIR] [--json OUT]

The first argument is a commit, which is checked out into a temporary folder; the other version is the working tree, or
a commit too. Both serve catalogs of the same skills, with the same interpreter and libraries. Each request goes to
both, one right after the other, and which is first alternates. So whatever else the machine does slows both alike. The
median counts, and beside it the processor time of the whole process, which other processes hardly change.

Searches use keywords alone. With a folder of models (`embedding.models_dir`), new searches are also hybrid.

`--load` sends new searches of mixed lengths to every route that searches, from 1, 8 and 32 clients at a time. The
versions take turns: in every round, each answers the same number of searches.
"""

import argparse
import contextlib
import itertools
import json
import os
import re
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import load
from corpora import Entry, entries
from latency_http import Served
from results_file import keep
from support.publishing import bare_repository, skill_package
from support.servers import new_skill

ROOT = Path(__file__).parents[1]
WARM_UP = 30
_WORD = re.compile(r"\w+")
_CLOCK_OF_PROCESS = 2  # CPUCLOCK_SCHED (linux/posix-timers.h)

Ask = Callable[[httpx.Client, int], httpx.Response]
"""Sends request number n of a row, and returns the answer."""


class Version:
    """One version of the service, running on a catalog of its own in both profiles."""

    def __init__(self, source: Path, folder: Path, skills: list[Entry], models: Path | None, workers: int) -> None:
        self._environment = {**os.environ, "PYTHONPATH": str(source / "src")}
        local = folder / "local"
        for number, skill in enumerate(skills):
            _write_skill(local / "skills" / f"skill-{number}", skill)
        embedding = ("--embedding-provider", "local") if models else ("--embedding-provider", "none")
        several = ("--workers", str(workers)) if workers > 1 else ()
        if models:
            self._environment["SKILL_REGISTRY_EMBEDDING_MODELS_DIR"] = str(models)
        self._servers = [self._serve(local, *embedding, *several)]
        self.local_port = self._servers[0].port
        store = ("--enable-registry", "--blobs-dir", str(folder / "packages"), "--embedding-provider", "none")
        index = bare_repository(folder / "index.git")
        limits = [f"--limits-{what}-per-minute=1000000" for what in ("reads", "writes", "publishes")]
        self._servers.append(self._serve(folder / "registry", *store, "--registry-index-url", str(index), *limits))
        self.local, self.registry = (
            httpx.Client(base_url=f"http://127.0.0.1:{server.port}", timeout=120, trust_env=False)
            for server in self._servers
        )
        token = self.registry.post("/auth/token", json={"username": "acme/ann", "role": "manager"}).json()
        self.registry.headers["Authorization"] = f"Bearer {token['data']['token']}"

    def _serve(self, folder: Path, *flags: str) -> Served:
        (folder / "skills").mkdir(parents=True, exist_ok=True)
        command = [
            str(Path(sys.executable).with_name("skill-registry")), "serve", "--host", "127.0.0.1", "--port", "{port}",
            "--skills-dir", str(folder / "skills"), "--data-dir", str(folder / "data"), "--log-level", "error", *flags,
        ]  # fmt: skip
        before = dict(os.environ)
        os.environ.update(self._environment)
        try:
            return Served(command, "/readyz")
        finally:
            os.environ.clear()
            os.environ.update(before)

    def processor_seconds(self) -> float:
        """Return the processor time that both services have taken."""
        return sum(time.clock_gettime((~server.process.pid << 3) | _CLOCK_OF_PROCESS) for server in self._servers)

    def stop(self) -> None:
        """End the services."""
        for server in self._servers:
            server.stop()


def _write_skill(folder: Path, skill: Entry) -> None:
    folder.mkdir(parents=True)
    description = json.dumps(skill.description)
    text = f"---\nname: {folder.name}\ndescription: {description}\n---\n# {skill.name}\n\n{skill.body}\n"
    (folder / "SKILL.md").write_text(text)


def plain(text: str) -> str:
    """Return a text as a description that every version accepts."""
    return " ".join(_WORD.findall(text))[:300] or "nothing"


def rows(skills: list[Entry], *, hybrid: bool) -> Mapping[str, tuple[str, Ask]]:
    """Return each kind of request: the profile that answers it, and how to ask."""
    words = list(itertools.islice(itertools.cycle(skill.description for skill in skills), 100_000))

    def search(mode: str) -> Ask:
        return lambda http, n: http.post(
            "/api/v1/search", json={"query": f"{' '.join(words[n].split()[:6])} {n}", "mode": mode}
        )

    def publish(http: httpx.Client, n: int) -> httpx.Response:
        package = skill_package("published", f"1.0.{n}")
        answer = http.post("/api/registry/publish", files={"package": ("package.zip", package, "application/zip")})
        path = f"/api/registry/publish/{answer.raise_for_status().json()['data']['job_id']}/status"
        while not (job := http.get(path)).json()["data"]["completed_at"]:
            time.sleep(0.001)
        return job

    repeated = {"query": skills[0].description[:60], "mode": "keyword"}
    found: dict[str, tuple[str, Ask]] = {"new search, keywords": ("local", search("keyword"))}
    if hybrid:
        found["new search, hybrid"] = ("local", search("hybrid"))
    return found | {
        "cached search": ("local", lambda http, n: http.post("/api/v1/search", json=repeated)),
        "GET search": (
            "local",
            lambda http, n: http.get("/api/v1/search", params={"q": f"{words[n][:40]} {n}", "mode": "keyword"}),
        ),
        "GET a skill": ("local", lambda http, n: http.get(f"/api/v1/skills/skill-{n % len(skills)}")),
        "GET a list": ("local", lambda http, n: http.get("/api/v1/skills", params={"offset": n % len(skills)})),
        "GET status": ("local", lambda http, n: http.get("/api/v1/status")),
        "GET healthz": ("local", lambda http, n: http.get("/healthz")),
        "create": (
            "local",
            lambda http, n: http.post("/api/v1/skills", json=new_skill(f"made-{n}", description=plain(words[n]))),
        ),
        "delete": ("local", lambda http, n: http.delete(f"/api/v1/skills/made-{n}")),
        "publish": ("registry", publish),
    }


def measure(old: Version, new: Version, profile: str, ask: Ask, requests: int) -> dict[str, float]:
    """Return what a request takes in each version, the second divided by the first, in percent more."""
    versions = (old, new)
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(WARM_UP):
        for version in versions:
            ask(getattr(version, profile), number).raise_for_status()
    used = [version.processor_seconds() for version in versions]
    for number in range(WARM_UP, WARM_UP + requests):
        for one in (0, 1) if number % 2 else (1, 0):
            started = time.perf_counter()
            ask(getattr(versions[one], profile), number).raise_for_status()
            times[one].append((time.perf_counter() - started) * 1000)
    used = [version.processor_seconds() - before for version, before in zip(versions, used, strict=True)]
    medians = [statistics.median(some) for some in times]
    pairs = statistics.median(second / first for first, second in zip(*times, strict=True))
    return {
        "old, median ms": round(medians[0], 3),
        "new, median ms": round(medians[1], 3),
        "change of the median, percent": round((medians[1] / medians[0] - 1) * 100, 1),
        "median change of a pair, percent": round((pairs - 1) * 100, 1),
        "old, processor ms": round(used[0] / requests * 1000, 3),
        "new, processor ms": round(used[1] / requests * 1000, 3),
        "change of processor time, percent": round((used[1] / used[0] - 1) * 100, 1),
    }


Make = Callable[[int, str], bytes]
"""Returns the request for a port and a query."""

SEARCH_ROUTES: Mapping[str, Make] = {
    "POST search": lambda port, text: load.request("/api/v1/search", port, json.dumps({"query": text}).encode()),
    "GET search": lambda port, text: load.request(f"/api/v1/search?{urlencode({'q': text, 'limit': 10})}", port),
    "resolve": lambda port, text: load.request(
        "/api/v1/resolve", port, json.dumps({"prompt": text, "limit": 10}).encode()
    ),
}
SEARCHES_OF_A_ROUND = 64
SEARCHES_OF_A_CLIENT = 8
CLIENTS = (1, 8, 32)
WORDS = (4, 8, 8, 12, 12, 20, 40, 80)
"""The lengths of the searches, which take turns."""


def mixed_queries(skills: list[Entry]) -> Iterator[str]:
    """Yield texts of mixed lengths, no two alike."""
    for number in itertools.count():
        skill = skills[number % len(skills)]
        words = f"{skill.description} {skill.body}".split()
        yield f"{' '.join(words[: WORDS[number % len(WORDS)]])} {number}"[:1900]


def wait_until_embedded(version: Version) -> None:
    """Return once every skill has its vector."""
    while version.local.get("/api/v1/status").json()["data"]["pending"]:
        time.sleep(0.5)


def measure_load(old: Version, new: Version, make: Make, queries: Iterator[str], clients: int, rounds: int) -> Any:
    """Let both versions answer new searches of as many clients in turns, and return the figures of each."""
    loads: tuple[list[load.Load], list[load.Load]] = ([], [])
    several = max(SEARCHES_OF_A_ROUND, clients * SEARCHES_OF_A_CLIENT)
    for number in range(rounds):
        for one in (number % 2, 1 - number % 2):
            port = (old, new)[one].local_port
            requests = [make(port, query) for query in itertools.islice(queries, several)]
            loads[one].append(load.run(port, requests, clients))
    return {
        "old": _of_rounds(loads[0]),
        "new": _of_rounds(loads[1]),
        "searches a second, new / old": _ratio(loads, lambda one: one.throughput),
        "p50, new / old": _ratio(loads, lambda one: one.p50),
        "p99, new / old": _ratio(loads, lambda one: one.p99),
    }


def _of_rounds(loads: list[load.Load]) -> dict[str, float]:
    """Return the medians of the rounds. The speed of a shared machine changes from one round to the next."""
    figures: Mapping[str, Callable[[load.Load], float]] = {
        "p50": lambda one: one.p50,
        "p95": lambda one: one.p95,
        "p99": lambda one: one.p99,
        "p99 / p50": lambda one: one.p99 / one.p50,
        "searches a second": lambda one: one.throughput,
    }
    return {name: round(statistics.median(map(figure, loads)), 2) for name, figure in figures.items()}


def _ratio(loads: Sequence[list[load.Load]], figure: Callable[[load.Load], float]) -> float:
    """Return the median of the ratios of each round, new to old."""
    return round(statistics.median(figure(new) / figure(old) for old, new in zip(*loads, strict=True)), 3)


def load_rows(versions: list[Version], skills: list[Entry], arguments: argparse.Namespace) -> Iterator[tuple[str, Any]]:
    """Yield the figures of every route and number of clients."""
    queries = mixed_queries(skills)
    for (name, make), clients in itertools.product(SEARCH_ROUTES.items(), CLIENTS):
        row = f"{name}, {clients} clients"
        if not arguments.only or row in arguments.only or name in arguments.only:
            yield row, measure_load(*versions, make, queries, clients, arguments.rounds)


@contextlib.contextmanager
def checked_out(revision: str) -> Iterator[Path]:
    """Provide the files of a commit in a temporary folder; `.` is the working tree."""
    if revision == ".":
        yield ROOT
        return
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "archive.tar"
        subprocess.run(["git", "-C", str(ROOT), "archive", "-o", str(archive), revision], check=True)
        with tarfile.open(archive) as opened:
            opened.extractall(folder, filter="data")
        yield Path(folder)


def request_rows(
    versions: list[Version], skills: list[Entry], arguments: argparse.Namespace
) -> Iterator[tuple[str, Any]]:
    """Yield the figures of every kind of request."""
    for name, (profile, ask) in rows(skills, hybrid=bool(arguments.models)).items():
        if not arguments.only or name in arguments.only:
            yield name, measure(*versions, profile, ask, arguments.requests)


@contextlib.contextmanager
def both_versions(
    revisions: Sequence[str], skills: Sequence[Entry], models: Path | None, workers: int
) -> Iterator[list[Version]]:
    """Run a version of the service for each revision, over catalogs of the same skills, until the end of the block."""
    with contextlib.ExitStack() as stack:
        versions = []
        for revision in revisions:
            source = stack.enter_context(checked_out(revision))
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            versions.append(version := Version(source, folder, skills, models, workers))
            stack.callback(version.stop)
        yield versions


def main() -> None:
    """Measure every kind of request."""
    parser = argparse.ArgumentParser(description="Ask two versions of the service in turns.")
    parser.add_argument("old", help="a commit")
    parser.add_argument("--new", default=".", help="the other commit; default: the working tree")
    parser.add_argument("--corpus", type=Path, help="a corpus.jsonl of skills; default: generated ones")
    parser.add_argument("--skills", type=int, default=2000)
    parser.add_argument("--requests", type=int, default=300)
    parser.add_argument("--models", type=Path, help="folder of local models, for hybrid searches")
    parser.add_argument("--only", nargs="*", help="the kinds of requests to measure; default: all; delete needs create")
    parser.add_argument("--load", action="store_true", help="measure searches of several clients instead")
    parser.add_argument("--rounds", type=int, default=10, help="rounds of a row of the load")
    parser.add_argument("--workers", type=int, default=1, help="worker processes of each service")
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    skills = entries(arguments.corpus)[: arguments.skills]
    results: dict[str, Any] = {"skills": len(skills), "requests of each kind and version": arguments.requests}
    revisions = (arguments.old, arguments.new)
    with both_versions(revisions, skills, arguments.models, arguments.workers) as versions:
        for version in versions:
            wait_until_embedded(version)
        figures = load_rows if arguments.load else request_rows
        for name, row in figures(versions, skills, arguments):
            results[name] = row
            print(name, row, flush=True)
    keep(arguments.json, results)


if __name__ == "__main__":
    main()
