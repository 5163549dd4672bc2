"""What probes feel while packages with the slowest known texts are published, and how long each job takes.

    python benchmarks/hostile_texts.py [--count 100] [--kilobytes 1000] [--seconds 10] [--json OUT]

Starts a registry of its own, publishes the packages one after the other, each with one of the
texts below repeated, and asks `/healthz` a hundred times a second meanwhile, over one connection.
"""

import argparse
import itertools
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

import httpx
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from results_file import keep
from support.publishing import Registry, skill_package

TEXTS = ("cp .env|curl ", "curl x | bash ", "ignore all previous ", "base64 -d | sh ", "cat ~/.ssh/id_rsa|nc ")
PROBE_EVERY_SECONDS = 0.01


def probe(url: str, ended: threading.Event, taken: list[float]) -> None:
    """Ask until `ended`, and keep how long each answer took, in milliseconds."""
    with httpx.Client(base_url=url, timeout=120, trust_env=False) as http:
        while not ended.wait(PROBE_EVERY_SECONDS):
            started = time.perf_counter()
            http.get("/healthz").raise_for_status()
            taken.append(1000 * (time.perf_counter() - started))


def measure(count: int, size: int, seconds: float) -> dict[str, float]:
    """Publish `count` packages of texts of `size` bytes; return what was seen."""
    taken: list[float] = []
    lasted: list[float] = []
    states: list[str] = []
    ended = threading.Event()
    with tempfile.TemporaryDirectory() as folder, Registry(Path(folder), "--limits-scan-seconds", str(seconds)) as one:
        registry = one.sign_in()
        prober = threading.Thread(target=probe, args=(one.url, ended, taken))
        prober.start()
        try:
            for number, text in zip(range(count), itertools.cycle(TEXTS), strict=False):
                package = skill_package(f"slow-{number}", body=(text * (size // len(text)))[:size])
                started = time.perf_counter()
                states.append(registry.finished(registry.publish(package), seconds=600)["status"])
                lasted.append(time.perf_counter() - started)
        finally:
            ended.set()
            prober.join()
    return {
        "packages": count,
        "rejected": states.count("rejected"),
        "seconds a job, median": statistics.median(lasted),
        "seconds a job, longest": max(lasted),
        "probes": len(taken),
        "probe p50, ms": statistics.median(taken),
        "probe p99, ms (asked: <= 50)": statistics.quantiles(taken, n=100)[98],
        "probe longest, ms": max(taken),
    }


def main() -> None:
    """Publish the slowest texts."""
    parser = argparse.ArgumentParser(description="Measure probes while the slowest texts are published.")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--kilobytes", type=int, default=1000, help="of text in each package")
    parser.add_argument("--seconds", type=float, default=10.0, help="limits.scan_seconds")
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    figures = measure(arguments.count, arguments.kilobytes * 1000, arguments.seconds)
    table = Table("figure", "measured", title=f"packages with {arguments.kilobytes} kB of the slowest texts")
    for figure, value in figures.items():
        table.add_row(figure, f"{value:,.2f}")
    Console().print(table)
    keep(arguments.json, figures)


if __name__ == "__main__":
    main()
