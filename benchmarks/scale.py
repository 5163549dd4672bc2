"""How search grows with the catalog: from 1,000 to 1,000,000 skills made out of real ones.

    python benchmarks/scale.py --corpus corpus.jsonl --queries queries.jsonl \
        [--sizes 1000,10000,100000,1000000] [--folder KEPT] [--database postgresql://…] [--json OUT]

Every size is filled, indexed, searched and served by processes of its own, so that memory and start-up are true.
Searches run through the engine the service uses, with the real model; the catalog lies in a SQLite file, or in an empty
database at `--database`. Recall is that of the vectors alone, against all cosines computed while the catalog was made.
What was made is left in `--folder` and used again.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import registry.__main__  # noqa: F401 - limits threads as the command does, also those of the steps
import scale_steps
from results_file import keep

STEPS = ("fill", "build", "search", "serve")
ASKED = {
    100_000: {"hybrid, short: p95 ms": 10.0},
    1_000_000: {"hybrid, short: p95 ms": 20.0, "serving: RSS, MB": 4096.0},
}
"""What is asked for at most, by size; of recall at least 0.97."""


def measure(size: int, folder: Path, arguments: argparse.Namespace) -> dict[str, float]:
    """Run every step for a catalog of `size` skills, each in a process of its own; return all figures."""
    figures: dict[str, float] = {}
    folder.mkdir(parents=True, exist_ok=True)
    for step in STEPS:
        result = folder / f"{step}.json"
        if not (step in ("fill", "build") and result.exists()):
            more = ["--database", arguments.database] if arguments.database else []
            subprocess.run(
                [sys.executable, scale_steps.__file__, step, "--size", str(size), "--folder", str(folder),
                 "--corpus", str(arguments.corpus), "--queries", str(arguments.queries), *more],
                check=True,
            )  # fmt: skip
        figures |= json.loads(result.read_text())
    return figures


def growth(sizes: list[int], values: list[float]) -> str:
    """Return the exponent with which a figure grew from the smallest to the largest catalog: 1 is in proportion."""
    if len(sizes) < 2 or min(values) <= 0:
        return ""
    return f"{math.log(values[-1] / values[0]) / math.log(sizes[-1] / sizes[0]):.2f}"


def show(results: list[dict[str, Any]]) -> None:
    """Print the figures of all sizes side by side, and how each grew."""
    sizes = [one["skills"] for one in results]
    table = Table("figure", *(f"{size:,}" for size in sizes), "exponent", title="by number of skills")
    for name in results[-1]["figures"]:
        values = [one["figures"].get(name, math.nan) for one in results]
        table.add_row(name, *(f"{value:,.3f}" for value in values), growth(sizes, values))
    Console(width=140).print(table)
    for one in results:
        for name, most in ASKED.get(one["skills"], {}).items():
            Console().print(f"{one['skills']:,}: {name} {one['figures'][name]:.1f}, asked: at most {most:g}")


def main() -> None:
    """Measure every size asked for."""
    parser = argparse.ArgumentParser(description="Measure how search grows with the catalog.")
    parser.add_argument("--corpus", type=Path, required=True, help="corpus.jsonl of real skills")
    parser.add_argument("--queries", type=Path, required=True, help="queries.jsonl with short queries")
    parser.add_argument("--sizes", default="1000,10000,100000", help="numbers of skills")
    parser.add_argument("--folder", type=Path, help="where to leave what is made; a temporary folder without it")
    parser.add_argument("--database", help="URL of an empty PostgreSQL database for the catalog, for one size")
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory() as temporary:
        for size in map(int, arguments.sizes.split(",")):
            folder = (arguments.folder or Path(temporary)) / str(size)
            results.append({"skills": size, "figures": measure(size, folder, arguments)})
            show(results)
    keep(arguments.json, {"results": results})


if __name__ == "__main__":
    main()
