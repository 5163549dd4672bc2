"""Two versions of the service side by side, asked in turns: what each request takes in one and in the other.

    python benchmarks/in_turns.py 25f67f6 [--new .] [--skills 2000] [--requests 300] [--models DIR] [--json OUT]

The first argument is a commit, which is checked out into a temporary folder; the other version is the working tree, or
a commit too. Both serve catalogs of the same skills, with the same interpreter and libraries. Each request goes to
both, one right after the other, and which is first alternates. So whatever else the machine does slows both alike. The
median counts, and beside it the processor time of the whole process, which other processes hardly change.

Searches use keywords alone. With a folder of models (`embedding.models_dir`), new searches are also hybrid.
"""

import argparse
import contextlib
import itertools
import json
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from corpora import Entry, entries
from latency_http import Served
from results_file import keep
from support.publishing import bare_repository, skill_package
from support.servers import new_skill

ROOT = Path(__file__).parents[1]
WARM_UP = 30
_CLOCK_OF_PROCESS = 2  # CPUCLOCK_SCHED (linux/posix-timers.h)

Ask = Callable[[httpx.Client, int], httpx.Response]
"""Sends request number n of a row, and returns the answer."""


class Version:
    """One version of the service, running on a catalog of its own in both profiles."""

    def __init__(self, source: Path, folder: Path, skills: list[Entry], models: Path | None) -> None:
        self._environment = {**os.environ, "PYTHONPATH": str(source / "src")}
        local = folder / "local"
        for number, skill in enumerate(skills):
            _write_skill(local / "skills" / f"skill-{number}", skill)
        embedding = ("--embedding-provider", "local") if models else ("--embedding-provider", "none")
        if models:
            self._environment["SKILL_REGISTRY_EMBEDDING_MODELS_DIR"] = str(models)
        self._servers = [self._serve(local, *embedding)]
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
            lambda http, n: http.post("/api/v1/skills", json=new_skill(f"made-{n}", description=words[n])),
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
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    skills = entries(arguments.corpus)[: arguments.skills]
    results: dict[str, Any] = {"skills": len(skills), "requests of each kind and version": arguments.requests}
    with contextlib.ExitStack() as stack:
        versions = []
        for number, revision in enumerate((arguments.old, arguments.new)):
            source = stack.enter_context(checked_out(revision))
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            versions.append(Version(source, folder, skills, arguments.models))
            stack.callback(versions[number].stop)
        for name, (profile, ask) in rows(skills, hybrid=bool(arguments.models)).items():
            if not arguments.only or name in arguments.only:
                results[name] = measure(*versions, profile, ask, arguments.requests)
                print(name, results[name], flush=True)
    keep(arguments.json, results)


if __name__ == "__main__":
    main()
