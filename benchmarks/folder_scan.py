"""The scan of a folder of skills: the first, and one after which nothing has changed.

    python benchmarks/folder_scan.py [--corpus corpus.jsonl] [--sizes 1000 10000] [--json OUT]

The first scan reads, checks and stores every skill; the command `scan` does it, and its start is part of the figure.
Its lower bound is a program that reads the same files and takes their SHA-256. Processor seconds stand beside the
seconds of a clock, because other processes hardly change them.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
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


def write(folder: Path, corpus: Path | None, count: int) -> None:
    """Write skills, each in a folder of its own."""
    for number, (_, entry) in enumerate(corpora.grown(corpora.entries(corpus), count)):
        skill = folder / f"skill-{number}"
        skill.mkdir(parents=True)
        head = f"---\nname: skill-{number}\ndescription: {json.dumps(entry.description)}\n---\n\n"
        (skill / "SKILL.md").write_text(head + entry.body, encoding="utf-8", errors="replace")


def timed(*command: str) -> dict[str, float]:
    """Return the seconds that a program takes, and its processor seconds."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    seconds, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": round(seconds, 2), "processor seconds": round(busy, 2)}


def measure(corpus: Path | None, count: int) -> dict[str, dict[str, float]]:
    """Return the figures of one size."""
    with tempfile.TemporaryDirectory() as temporary:
        skills, data = Path(temporary, "skills"), Path(temporary, "data")
        write(skills, corpus, count)
        os.sync()
        command = (str(Path(sys.executable).with_name("skill-registry")), "scan", "--embedding-provider", "none")
        command += ("--skills-dir", str(skills), "--data-dir", str(data))
        return {
            "read and hash": timed(sys.executable, "-c", READ_ALL, str(skills)),
            "first scan": timed(*command),
            "second scan": timed(*command),
        }


def main() -> None:
    """Measure each size."""
    parser = argparse.ArgumentParser(description="Measure the scan of a folder of skills.")
    parser.add_argument("--corpus", type=Path, help="corpus.jsonl with the skills; generated ones without it")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    results: dict[str, Any] = {}
    for size in arguments.sizes:
        results[str(size)] = measure(arguments.corpus, size)
        for name, figures in results[str(size)].items():
            print(f"{size} skills, {name}: {figures}")
    keep(arguments.json, {"sizes": results})


if __name__ == "__main__":
    main()
