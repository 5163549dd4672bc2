"""How the status and lists of skills grow with the catalog, over HTTP, all sizes in turns.

    python benchmarks/lists.py --folder KEPT [--sizes 1000,10000,100000] [--turns 60] [--json OUT]

The catalogs are those that `scale.py --folder KEPT` leaves: `KEPT/SIZE/skill-registry.db`. Each size has a service of
its own, and each turn asks all of them, so a busy machine slows all of them.
"""

import argparse
import http.client
import re
import statistics
import sys
import time
from collections import defaultdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from latency_http import Served
from results_file import keep

_NEXT = re.compile(r"<http://[^/]+(.*)>; rel=\"next\"")


class Service:
    """A service over the catalog of one size."""

    def __init__(self, folder: Path, size: int) -> None:
        command = [
            str(Path(sys.executable).with_name("skill-registry")), "serve", "--host", "127.0.0.1", "--port", "{port}",
            "--skills-dir", str(folder / "skills"), "--data-dir", str(folder), "--log-level", "error",
            "--embedding-provider", "none",
        ]  # fmt: skip
        self.served = Served(command, "/api/v1/search?q=first")
        self.connection = http.client.HTTPConnection("127.0.0.1", self.served.port)
        self.paths = {
            "status": "/api/v1/status",
            "first page": "/api/v1/skills",
            "offset in the middle": f"/api/v1/skills?offset={size // 2}",
            "offset of the last page": f"/api/v1/skills?offset={size - 20}",
            "offset in the middle, enabled only": f"/api/v1/skills?enabled=true&offset={size // 2}",
        }
        if linked := _NEXT.match(self.get(f"/api/v1/skills?offset={size // 2 - 20}")[1]):
            self.paths["cursor in the middle"] = linked[1]
        self.connection.close()  # it opens again; the service closes it while the next one starts

    def get(self, path: str) -> tuple[float, str]:
        """Return the milliseconds until the answer was read, and its `Link` header."""
        started = time.perf_counter()
        self.connection.request("GET", path)
        answer = self.connection.getresponse()
        answer.read()
        return (time.perf_counter() - started) * 1000, answer.headers.get("Link", "")


def measure(folder: Path, sizes: list[int], turns: int) -> dict[str, dict[str, float]]:
    """Return the median milliseconds of each call, by call and size."""
    services = {size: Service(folder / str(size), size) for size in sizes}
    times: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for _ in range(turns):
        for size, service in services.items():
            for name, path in service.paths.items():
                times[name][size].append(service.get(path)[0])
    for service in services.values():
        service.served.stop()
    return {name: {str(size): statistics.median(one) for size, one in found.items()} for name, found in times.items()}


def main() -> None:
    """Measure, and show each call by size."""
    parser = argparse.ArgumentParser(description="Measure how the status and lists grow with the catalog.")
    parser.add_argument("--folder", type=Path, required=True, help="where scale.py left its catalogs")
    parser.add_argument("--sizes", default="1000,10000,100000", help="numbers of skills")
    parser.add_argument("--turns", type=int, default=60, help="how often each call is made")
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    sizes = [int(size) for size in arguments.sizes.split(",")]
    figures = measure(arguments.folder, sizes, arguments.turns)
    table = Table("call", *(f"{size:,}" for size in sizes), "last / first", title="median ms, by number of skills")
    for name, found in figures.items():
        values = list(found.values())
        table.add_row(name, *(f"{value:.2f}" for value in values), f"{values[-1] / values[0]:.2f}")
    Console(width=120).print(table)
    keep(arguments.json, {"milliseconds": figures})


if __name__ == "__main__":
    main()
