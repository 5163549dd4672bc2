"""What clones of the git view take, with a folder of real skills.

    python benchmarks/git_view.py --skills DIR [--json OUT]

A service serves a copy of the folder, without a model. `git clone` and the two requests that it sends are timed for a
skill and for the marketplace: the first time, again, and after one skill has changed. Memory is measured before the
first clone, after it, and after a round of clones.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from latency_http import Served
from results_file import keep

SINGLE_CLONES = 200
ASKED = {"a skill, p95 ms": 20.0, "first marketplace, s": 5.0, "next marketplace, s": 0.5, "memory grown, %": 3.0}


def serve(folder: Path) -> Served:
    """Start a service over a folder with `skills`, and wait for its first scan."""
    command = [
        str(Path(sys.executable).with_name("skill-registry")), "serve", "--host", "127.0.0.1", "--port", "{port}",
        "--skills-dir", str(folder / "skills"), "--data-dir", str(folder / "data"),
        "--project-file", str(folder / "skill-project.toml"), "--embedding-provider", "none", "--log-level", "warning",
    ]  # fmt: skip
    server = Served(command, "/healthz")
    before = -1
    while (now := len(ids(server))) == 0 or now != before:
        before = now
        time.sleep(3)
    return server


def ids(server: Served) -> list[str]:
    """Return the ids of the skills that have files."""
    listed: list[str] = json.loads(server.get("/tree/index.json"))["skills"]
    return listed


def requests(server: Served, repository: str) -> tuple[float, int]:
    """Send the requests of a clone; return their seconds and the bytes of the pack."""
    started = time.perf_counter()
    refs = server.get(f"/git/{repository}.git/info/refs?service=git-upload-pack")
    head = refs.split(b"\n")[1][8:48].decode()
    want = f"want {head} side-band-64k\n"
    body = f"{len(want) + 4:04x}{want}00000009done\n".encode()
    url = f"http://127.0.0.1:{server.port}/git/{repository}.git/git-upload-pack"
    with urllib.request.urlopen(urllib.request.Request(url, body), timeout=600) as answer:
        size = len(answer.read())
    assert size > 100, f"{repository}: no pack"
    return time.perf_counter() - started, size


def clone(server: Served, repository: str, into: Path) -> float:
    """Clone a repository and return the seconds."""
    shutil.rmtree(into, ignore_errors=True)
    started = time.perf_counter()
    url = f"http://127.0.0.1:{server.port}/git/{repository}.git"
    subprocess.run(["git", "clone", "--quiet", "--depth", "1", url, str(into)], check=True)
    return time.perf_counter() - started


def measure(skills: Path) -> dict[str, Any]:
    """Return the figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(skills, folder / "skills")
        server = serve(folder)
        try:
            return figures(server, folder)
        finally:
            server.stop()


def figures(server: Served, folder: Path) -> dict[str, Any]:
    """Measure a running service."""
    listed = ids(server)
    before = server.rss_mb()
    first, size = requests(server, "marketplace")
    after_first = server.rss_mb()
    again = [requests(server, "marketplace")[0] for _ in range(5)]
    cloned = [clone(server, "marketplace", folder / "clone") for _ in range(3)]
    names = [path.name for path in sorted((folder / "clone/plugins").iterdir()) if path.name in set(listed)]
    singles = sorted(
        requests(server, names[number * len(names) // SINGLE_CLONES])[0] for number in range(SINGLE_CLONES)
    )
    changed = next((folder / "skills").rglob("SKILL.md"))
    changed.write_text(f"{changed.read_text()}\nChanged.\n")
    time.sleep(3)
    after_change, _ = requests(server, "marketplace")
    return {
        "load average of the machine": os.getloadavg()[0],
        "skills": len(listed),
        "plugins": len(list((folder / "clone/plugins").iterdir())),
        "pack, MB": size / 1e6,
        "first marketplace, s": first,
        "next marketplace, s": statistics.median(again),
        "marketplace after a change, s": after_change,
        "git clone of the marketplace, s": statistics.median(cloned),
        "a skill, p50 ms": statistics.median(singles) * 1000,
        "a skill, p95 ms": singles[int(len(singles) * 0.95)] * 1000,
        "git clone of a skill, s": clone(server, names[0], folder / "one"),
        "memory before, MB": before,
        "memory after the first, MB": after_first,
        "memory at the end, MB": server.rss_mb(),
        "memory grown, %": (after_first / before - 1) * 100,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure clones of the git view.")
    parser.add_argument("--skills", type=Path, required=True, help="a folder with skills")
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    result = measure(arguments.skills)
    table = Table("figure", "measured", "asked")
    for what, value in result.items():
        table.add_row(what, f"{value:,.2f}", f"<= {ASKED[what]:g}" if what in ASKED else "")
    Console().print(table)
    keep(arguments.json, result)


if __name__ == "__main__":
    main()
