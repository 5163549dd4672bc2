"""How long after a publication each protocol's search finds the skill.

    python benchmarks/found.py --skills DIR [--rounds 20] [--json OUT]

A registry without a model holds the skills below DIR that it accepts. A skill with a new word is published. From the
end of its job, a protocol is asked for the word until its answer has the skill. Times count from the upload and from
the end of the job.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
from rich.console import Console

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from results_file import keep
from support.publishing import Registry, skill_package
from support.zips import plain_zip

LIMIT_SECONDS = 1.0
Ask = Callable[[str], dict[str, Any]]

SEARCHES: dict[str, Ask] = {
    "POST /api/v1/search": lambda query: {"method": "POST", "url": "/api/v1/search", "json": {"query": query}},
    "clawhub": lambda query: {"method": "GET", "url": "/clawhub/api/v1/search", "params": {"q": query}},
    "npx skills find": lambda query: {"method": "GET", "url": "/find/api/search", "params": {"q": query}},
    "hf discover": lambda query: {"method": "POST", "url": "/ard/search", "json": {"query": {"text": query}}},
    "MCP": lambda query: {"method": "POST", "url": "/mcp", "json": _call(query)},
}


def _call(query: str) -> dict[str, Any]:
    params = {"name": "search_skills", "arguments": {"query": query}}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def packages(skills: Path) -> Iterator[bytes]:
    """Yield a package of each skill below a folder, of its SKILL.md alone."""
    for file in sorted(skills.rglob("SKILL.md")):
        yield plain_zip({"SKILL.md": file.read_bytes()})


def fill(registry: Registry, skills: Path) -> int:
    """Publish the skills and return how many there are."""
    caller = registry.caller()
    uploads = [registry.publish(package, caller) for package in packages(skills)]
    for upload in [one for one in uploads if one.status_code == httpx.codes.ACCEPTED][-1:]:
        registry.finished(upload, seconds=3600)
    return int(registry.get("/api/v1/status").json()["data"]["skills"])


def measure(registry: Registry, rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Return the seconds from the upload, and from the end of the job, until each search has the skill."""
    caller, reader = registry.caller(), registry.caller("reader", "user")
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in SEARCHES}
    for number in range(rounds):
        for place, (name, ask) in enumerate(SEARCHES.items()):
            word = f"zyx{number}q{place}"
            uploaded = time.perf_counter()
            job = registry.finished(registry.publish(skill_package(f"found-{word}", body=f"# {word}\n"), caller))
            if job["status"] != "accepted":
                raise RuntimeError(f"The skill was not accepted: {job}")
            ended = time.perf_counter()
            while f"found-{word}" not in registry.http.request(headers=reader, **ask(word)).text:
                time.sleep(0.001)
            now = time.perf_counter()
            taken[name].append((now - uploaded, now - ended))
    return taken


def main() -> None:
    """Measure; exit with 1 if a search took longer than the limit."""
    parser = argparse.ArgumentParser(description="Measure when searches find what is published.")
    parser.add_argument("--skills", type=Path, required=True, help="folder of real skills")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Registry(Path(folder)) as registry:
        held = fill(registry, arguments.skills)
        taken = measure(registry, arguments.rounds)
    figures = {
        name: {
            "from the upload, median ms": round(statistics.median(both[0] for both in values) * 1000, 1),
            "from the end of the job, median ms": round(statistics.median(both[1] for both in values) * 1000, 1),
            "from the end of the job, longest ms": round(max(both[1] for both in values) * 1000, 1),
        }
        for name, values in taken.items()
    }
    results = {"skills": held, "rounds": arguments.rounds, "load average of the machine": os.getloadavg()[0], **figures}
    Console().print_json(json.dumps(results))
    keep(arguments.json, results)
    sys.exit(max(seconds for values in taken.values() for _, seconds in values) > LIMIT_SECONDS)


if __name__ == "__main__":
    main()
