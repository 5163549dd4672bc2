"""What reading and checking a package costs, beside decompressing and hashing the same bytes.

    python benchmarks/packages.py [--megabytes 10] [--json OUT]

The package holds text as skills have it: front matter and prose. Both sides unpack every entry; ours also checks names,
records, sizes and contents, looks into the texts for what is dangerous, writes the files and hashes the tree. Medians
of several rounds, in one run.
"""

import argparse
import hashlib
import json
import random
import resource
import statistics
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from registry.findings.engine import scan_folder
from registry.packages import Limits, read_zip

ROUNDS = 9
FILE_BYTES = 64 << 10


def write_package(target: Path, size: int, seed: int = 1) -> None:
    """Write a zip of `size` bytes of text, in files of 64 KiB."""
    drawn = random.Random(seed)
    words = ["".join(drawn.choices("abcdefghijklmnopqrstuvwxyz", k=drawn.randint(2, 11))) for _ in range(8000)]
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        front = "---\nname: large-package\ndescription: A package that is as large as packages get.\n---\n# Steps\n"
        archive.writestr("SKILL.md", front)
        for number in range(size // FILE_BYTES):
            lines = []
            while sum(map(len, lines)) < FILE_BYTES:
                lines.append(" ".join(drawn.choices(words, k=12)) + "\n")
            archive.writestr(f"references/part-{number:03}.md", "".join(lines)[:FILE_BYTES])


def decompress_and_hash(package: Path) -> None:
    """Do what cannot be left out: unpack every entry, and hash what comes out."""
    with zipfile.ZipFile(package) as archive:
        for entry in archive.infolist():
            digest = hashlib.sha256()
            with archive.open(entry) as stream:
                while chunk := stream.read(64 << 10):
                    digest.update(chunk)


def median_seconds(call: Callable[[], None]) -> float:
    """Return the median of how long a call takes."""
    times = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def main() -> None:
    """Measure one package."""
    parser = argparse.ArgumentParser(description="Measure reading a package beside unpacking it.")
    parser.add_argument("--megabytes", type=int, default=10)
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        package = folder / "package.zip"
        write_package(package, arguments.megabytes << 20)
        limit = median_seconds(lambda: decompress_and_hash(package))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        places = iter(folder / f"unpacked-{number}" for number in range(ROUNDS))
        ours = median_seconds(lambda: consume(package, next(places)))
        looking = median_seconds(lambda: consume_findings(folder / "unpacked-0"))
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    figures = {
        "decompress and hash, ms": limit * 1000,
        "read and check, ms": ours * 1000,
        "of that: looking into the texts, ms": looking * 1000,
        "ratio": ours / limit,
        "ratio without looking into the texts (asked: <= 2)": (ours - looking) / limit,
        "memory grown, MB": grown,
    }
    table = Table("figure", "measured", title=f"a package of {arguments.megabytes} MB")
    for figure, value in figures.items():
        table.add_row(figure, f"{value:,.2f}")
    Console().print(table)
    if arguments.json:
        kept = {"command": " ".join([Path(sys.executable).name, *sys.argv]), **figures}
        arguments.json.write_text(json.dumps(kept, indent=2) + "\n")


def consume_findings(folder: Path) -> None:
    """Look into the texts of an unpacked package."""
    scan_folder(folder)


def consume(package: Path, place: Path) -> None:
    """Read a package into a fresh folder."""
    read_zip(package, place, Limits())


if __name__ == "__main__":
    main()
