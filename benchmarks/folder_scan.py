"""The scan of a folder of skills: the first, and one after which nothing has changed.

    python benchmarks/folder_scan.py [--corpus corpus.jsonl] [--sizes 1000 10000] [--collections FOLDER ...]
        [--baseline SRC] [--json OUT]

The first scan reads, checks and stores every skill; the command `scan` does it, and its start is part of the figure.
Its lower bound is a program that reads the same files and takes their SHA-256. Processor seconds stand beside the
seconds of a clock, because other processes hardly change them.

With collections, which are trees of skills, the listing of each as a source is measured too. With a baseline, the
folder `src` of another commit (with those of packages that only it needs, joined by colons), both versions do the same
work in turns. The figures are medians, and so is the ratio: that of the medians of their processor seconds.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import corpora
from results_file import keep

READ_ALL = """
import hashlib, pathlib, sys
for path in pathlib.Path(sys.argv[1]).rglob("*"):
    if path.is_file():
        hashlib.sha256(path.read_bytes()).digest()
"""

LIST_TREE = """
import sys, time
from pathlib import Path
from registry.domain.origins import LocalOrigin
from registry.sources.tree import read_tree
start = time.process_time()
read_tree(Path(sys.argv[1]), lambda place: LocalOrigin(path=place))
print(time.process_time() - start)
"""

OWN = str(Path(__file__).resolve().parents[1] / "src")
TURNS = 5
"""How often each version scans if there are two."""

LISTINGS = 10
"""How often each version lists a tree, which is short work."""


def write(folder: Path, corpus: Path | None, count: int) -> None:
    """Write skills, each in a folder of its own."""
    for number, (_, entry) in enumerate(corpora.grown(corpora.entries(corpus), count)):
        skill = folder / f"skill-{number}"
        skill.mkdir(parents=True)
        head = f"---\nname: skill-{number}\ndescription: {json.dumps(entry.description)}\n---\n\n"
        (skill / "SKILL.md").write_text(head + entry.body, encoding="utf-8", errors="replace")


def timed(*command: str, source: str = OWN) -> dict[str, float]:
    """Return the seconds that a program takes, and its processor seconds."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    environment = {**os.environ, "PYTHONPATH": source}
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    seconds, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": round(seconds, 2), "processor seconds": round(busy, 2)}


def measure(corpus: Path | None, count: int, sources: Sequence[str]) -> dict[str, Any]:
    """Return the figures of one size, and the ratios of those of the first source to those of the second, if any."""
    with tempfile.TemporaryDirectory() as temporary:
        skills = Path(temporary, "skills")
        write(skills, corpus, count)
        os.sync()
        scans: list[dict[str, dict[str, float]]] = []
        for turn in range(TURNS if len(sources) > 1 else 1):
            for number, source in enumerate(sources):
                command = scan(skills, Path(temporary, f"data-{turn}-{number}"))
                scans.append({name: timed(*command, source=source) for name in ("first scan", "second scan")})
        own = scans[:: len(sources)]
        figures: dict[str, Any] = {"read and hash": timed(sys.executable, "-c", READ_ALL, str(skills))}
        figures |= {name: medians([scan[name] for scan in own]) for name in scans[0]}
        if len(sources) > 1:
            busy = {name: [each[name]["processor seconds"] for each in scans] for name in scans[0]}
            figures["ratios"] = {name: ratio(seconds) for name, seconds in busy.items()}
        return figures


def scan(skills: Path, data: Path) -> list[str]:
    """Return the command that scans a folder of skills."""
    options = ["--embedding-provider", "none", "--skills-dir", str(skills), "--data-dir", str(data)]
    return [sys.executable, "-m", "registry", "scan", "--json", *options]


def listing(tree: Path, sources: Sequence[str]) -> dict[str, float]:
    """Return the processor seconds of the listing of a tree, and their ratio to those of the second source, if any."""
    busy = []
    for _ in range(LISTINGS):
        for source in sources:
            command = (sys.executable, "-c", LIST_TREE, str(tree))
            environment = {**os.environ, "PYTHONPATH": source}
            listed = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
            busy.append(float(listed.stdout))
    figures = {"processor seconds": round(statistics.median(busy[:: len(sources)]), 2)}
    return figures | {"ratio": ratio(busy)} if len(sources) > 1 else figures


def ratio(seconds: Sequence[float]) -> float:
    """Return the median of the first, third … to that of the others: two versions took turns."""
    return round(statistics.median(seconds[::2]) / statistics.median(seconds[1::2]), 2)


def medians(times: Sequence[dict[str, float]]) -> dict[str, float]:
    """Return the median of each figure."""
    return {name: statistics.median(each[name] for each in times) for name in times[0]}


def main() -> None:
    """Measure each size."""
    parser = argparse.ArgumentParser(description="Measure the scan of a folder of skills.")
    parser.add_argument("--corpus", type=Path, help="corpus.jsonl with the skills; generated ones without it")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--json", type=Path, help="file for the results")
    parser.add_argument("--collections", type=Path, nargs="*", default=[], help="trees of skills to list as sources")
    parser.add_argument("--baseline", help="folder src of another commit, to compare with")
    arguments = parser.parse_args()
    sources = [OWN, *([arguments.baseline] if arguments.baseline else [])]
    results: dict[str, Any] = {}
    for size in arguments.sizes:
        results[str(size)] = measure(arguments.corpus, size, sources)
        for name, figures in results[str(size)].items():
            print(f"{size} skills, {name}: {figures}")
    listings = {tree.name: listing(tree, sources) for tree in arguments.collections}
    for name, figures in listings.items():
        print(f"listing of {name}: {figures}")
    keep(arguments.json, {"sizes": results, "listings": listings})


if __name__ == "__main__":
    main()
