"""What probes feel while packages with the slowest texts are published, and how long each job takes.

    python benchmarks/hostile_texts.py [--count 100] [--kilobytes 1000] [--seconds 10] [--random 300] [--json OUT]

First looks for the texts that take today's inspection longest: packages with the words of the rules repeated, combined
and nested, and the texts that were slow once. Then starts a registry of its own, publishes packages with the five worst
in turn, repeated to the asked size, one after the other, and asks `/healthz` a hundred times a second meanwhile, over
one connection.
"""

import argparse
import contextlib
import itertools
import statistics
import sys
import tempfile
import threading
import time
from io import BytesIO
from pathlib import Path

import httpx
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from registry.packages.package import read_zip
from registry.packages.refusal import PackageRefused
from registry.packages.update_diff import Footprint
from results_file import keep
from support.hostile_texts import hostile_texts
from support.publishing import Registry, skill_package

SLOW_ONCE = ("cp .env|curl ", "curl x | bash ", "ignore all previous ", "base64 -d | sh ", "cat ~/.ssh/id_rsa|nc ")
"""What earlier rules took longest for."""
SAMPLE_BYTES = 16_000
"""The size of the texts among which the worst are searched."""
WORST = 5
PROBE_EVERY_SECONDS = 0.01


def worst_texts(random_ones: int) -> list[tuple[float, str]]:
    """Return the slowest texts of SAMPLE_BYTES, each with its processor time in ms for each kB, the slowest first."""
    candidates = [repeated(text, SAMPLE_BYTES) for text in SLOW_ONCE]
    candidates += [one.text[:SAMPLE_BYTES] for one in hostile_texts(SAMPLE_BYTES, random_ones, seed=18)]
    return sorted(((inspection_cost(text), text) for text in candidates), reverse=True)[:WORST]


def inspection_cost(text: str) -> float:
    """Return the processor time of inspecting a package with a text, in ms for each kB: the least of three times.

    A refused package costs too.
    """
    package = skill_package("sample", body=text)
    return 1000 * min(inspection_seconds(package) for _ in range(3)) / (len(text.encode()) / 1000)


def inspection_seconds(package: bytes) -> float:
    """Return the processor time of one inspection."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.process_time()
        with contextlib.suppress(PackageRefused):
            Footprint.of(read_zip(BytesIO(package), Path(folder) / "package").folder)
        return time.process_time() - started


def repeated(text: str, size: int) -> str:
    """Return a text repeated to a size in bytes."""
    whole = text.encode()
    return (whole * (size // len(whole) + 1))[:size].decode(errors="ignore")


def probe(url: str, ended: threading.Event, taken: list[float]) -> None:
    """Ask until `ended`, and keep how long each answer took, in milliseconds."""
    with httpx.Client(base_url=url, timeout=120, trust_env=False) as http:
        while not ended.wait(PROBE_EVERY_SECONDS):
            started = time.perf_counter()
            http.get("/healthz").raise_for_status()
            taken.append(1000 * (time.perf_counter() - started))


def measure(texts: list[str], count: int, seconds: float) -> dict[str, float]:
    """Publish `count` packages of these texts in turn; return what was seen."""
    taken: list[float] = []
    lasted: list[float] = []
    states: list[str] = []
    ended = threading.Event()
    with tempfile.TemporaryDirectory() as folder, Registry(Path(folder), "--limits-scan-seconds", str(seconds)) as one:
        registry = one.sign_in()
        prober = threading.Thread(target=probe, args=(one.url, ended, taken))
        prober.start()
        try:
            for number, text in zip(range(count), itertools.cycle(texts), strict=False):
                package = skill_package(f"slow-{number}", body=text)
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
    parser.add_argument("--random", type=int, default=300, help="random combinations to search the worst texts among")
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    worst = worst_texts(arguments.random)
    texts = [repeated(text, arguments.kilobytes * 1000) for _, text in worst]
    figures = {"ms a kB of the worst text": worst[0][0], **measure(texts, arguments.count, arguments.seconds)}
    table = Table("figure", "measured", title=f"packages with {arguments.kilobytes} kB of the slowest texts")
    for figure, value in figures.items():
        table.add_row(figure, f"{value:,.2f}")
    Console().print(table)
    keep(arguments.json, figures)


if __name__ == "__main__":
    main()
