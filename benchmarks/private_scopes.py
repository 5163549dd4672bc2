"""What private scopes cost: memory, threads and processor of an idle service, and the time of its searches.

    python benchmarks/private_scopes.py [--scopes 20] [--requests 300] [--json OUT]

Two services run side by side, one without private scopes. Each has the same published skills, and each turn searches
both, and a scope, so a busy machine slows all of them.
"""

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from latency_http import processor_seconds
from results_file import keep

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.publishing import Registry, skill_package
from support.waiting import wait_until

_SKILLS = 40
_IDLE_SECONDS = 10.0


class Measured(Registry):
    """A service with skills in the scope `open`, and private scopes."""

    def fill(self, scopes: int) -> None:
        """Publish the skills, and one in each new private scope."""
        for number in range(_SKILLS):
            self.finished(self.publish(skill_package(f"skill-{number}"), self.caller("open/ann")))
        admin, una = self.caller("root", "admin"), self.caller("una", "user")
        for number in range(scopes):
            body = {"scope": f"s{number}", "owner": "una"}
            self.http.post("/api/v1/private-scopes", json=body, headers=admin).raise_for_status()
            files = {"package": ("p.zip", skill_package("hidden"), "application/zip")}
            path = f"/scopes/s{number}/api"
            self.http.post(f"{path}/registry/publish", files=files, headers=una).raise_for_status()
            place = f"{path}/v1/skills/s{number}/hidden"
            wait_until(lambda place=place: self.http.get(place, headers=una).status_code == 200)

    def process_figures(self) -> dict[str, float]:
        """Return the resident memory in MB, the threads, and the seconds of processor that ten idle seconds take."""
        folder = Path(f"/proc/{self.process.pid}")
        before = processor_seconds(self.process.pid)
        time.sleep(_IDLE_SECONDS)
        idle = processor_seconds(self.process.pid) - before
        resident = next(line for line in (folder / "status").read_text().splitlines() if line.startswith("VmRSS"))
        return {
            "megabytes": int(resident.split()[1]) / 1024,
            "threads": len(list((folder / "task").iterdir())),
            "idle_processor_percent": 100 * idle / _IDLE_SECONDS,
        }


def measure(scopes: int, requests: int) -> dict[str, Any]:
    """Return the figures of both services, and the median milliseconds of searches."""
    folder = Path(tempfile.mkdtemp())
    with Measured(folder / "without") as without, Measured(folder / "with") as has_scopes:
        without.fill(0)
        has_scopes.fill(scopes)
        places = {
            "without private scopes": (without, "/api/v1/search", without.caller("open/ann")),
            "beside private scopes": (has_scopes, "/api/v1/search", has_scopes.caller("open/ann")),
            "within a private scope": (has_scopes, "/scopes/s0/api/v1/search", has_scopes.caller("una", "user")),
        }
        times: dict[str, list[float]] = {name: [] for name in places}
        for turn in range(requests):
            for name, (service, path, headers) in places.items():
                started = time.perf_counter()
                service.http.post(path, json={"query": f"skill {turn} with care"}, headers=headers)
                times[name].append((time.perf_counter() - started) * 1000)
        figures = {"without": without.process_figures(), "with": has_scopes.process_figures()}
    shutil.rmtree(folder)
    medians = {name: statistics.median(found) for name, found in times.items()}
    each = {name: (value - figures["without"][name]) / scopes for name, value in figures["with"].items()}
    return {"scopes": scopes, "processes": figures, "each_scope": each, "search_milliseconds": medians}


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description="Measure what private scopes cost.")
    parser.add_argument("--scopes", type=int, default=20, help="number of private scopes")
    parser.add_argument("--requests", type=int, default=300, help="searches of each kind")
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    figures = measure(arguments.scopes, arguments.requests)
    for name, value in figures.items():
        print(name, value)
    keep(arguments.json, figures)


if __name__ == "__main__":
    main()
