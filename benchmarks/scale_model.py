"""A model of catalogs of 10 and 100 million skills, from what is measured up to a million.

    python benchmarks/scale_model.py [--json benchmarks/results/scale-model.json]

It reads `results/*.json`, fits each figure to the number of skills, and prints the tables of docs/scale.md. A linear
fit is a + b n, and a power fit a n^b. Both minimise the squares of the relative residuals (of a power: of the
logarithms), so that small catalogs count as much as large ones. The residual is the largest at a measured size. Two
sizes leave none. What a fit says beyond the largest measured size is extrapolated.
"""

import argparse
import json
import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from results_file import keep

RESULTS = Path(__file__).with_name("results")
SIZES = (1_000_000, 10_000_000, 100_000_000)
DIMENSION = 384
CORES = 2
"""Of the machine on which requests per second were measured, clients included."""

SHARD = 1_000_000
"""Skills in a shard: the largest catalog that was measured, with a 95th percentile below 20 ms."""

SHARD_MS = 1.0
"""Assumed: the processor time in which a shard takes a request and the coordinator merges its hits."""

LOAD = 100
"""Searches per second for which cores are counted, which are busy for 60 % of the time."""

BUSY = 0.6
CORES_OF_A_REPLICA = 8
WRITE = "write: until words find it, p50 ms"
HOUR, DAY = 3600.0, 86_400.0

Form = Literal["linear", "power"]
Points = Mapping[int, float]


class Fit(NamedTuple):
    """A figure as a function of the number of skills, with its points."""

    form: Form
    a: float
    b: float
    points: Points

    def at(self, skills: float) -> float:
        """Return the figure for a number of skills."""
        return float(self.a + self.b * skills if self.form == "linear" else self.a * skills**self.b)

    def residual(self) -> float:
        """Return the largest difference from a measured figure, as a share of it."""
        return max(abs(self.at(size) / value - 1) for size, value in self.points.items())


def fitted(form: Form, points: Points) -> Fit:
    """Fit a figure to two or more sizes."""
    sizes, values = (np.array(list(numbers), float) for numbers in (points.keys(), points.values()))
    if form == "linear":
        a, b = np.linalg.lstsq(np.stack([1 / values, sizes / values], 1), np.ones(len(sizes)), rcond=None)[0]
        return Fit(form, float(a), float(b), points)
    b, logarithm = np.polyfit(np.log(sizes), np.log(values), 1)
    return Fit(form, math.exp(logarithm), float(b), points)


class Figure(NamedTuple):
    """A measured figure: its name, its unit, its fit, and the file of each measured size."""

    name: str
    unit: str
    fit: Fit
    files: str


def read(name: str) -> Any:
    """Return a file of results."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def sizes_of(file: str, figure: str) -> dict[int, float]:
    """Return a figure of `scale.py` by size, the median where a size was measured several times."""
    values: dict[int, list[float]] = {}
    for result in read(file)["results"]:
        if figure in result["figures"]:
            values.setdefault(result["skills"], []).append(result["figures"][figure])
    return {size: statistics.median(several) for size, several in values.items()}


def figures() -> dict[str, Figure]:
    """Return all fits."""
    now, before = "scale-10k-100k", "scale"
    latency = {one["skills"]: one["in process, ms"]["tantivy"] for one in read("latency")["results"]}
    tables = read("skill-sizes")["in PostgreSQL"]
    vectors = sizes_of(before, "files: vectors, MB")
    searches = sizes_of(before, "serving: hybrid, requests/s at 8")
    hnsw = {int(size): figures["hnsw build, seconds"] for size, figures in tables.items()}

    def table(part: str) -> dict[int, float]:
        return {int(size): figures[f"{part}, MB"] for size, figures in tables.items()}

    def both(name: str) -> dict[int, float]:
        return sizes_of(before, name) | sizes_of(now, name)

    words = {size: latency[size] for size in (10_000, 100_000)}
    words[1_000_000] = sizes_of(before, "part: tantivy, short: p50 ms")[1_000_000]
    hnsw[100_000] = read("postgres-vectors")["unfiltered"][0]["build_s"]
    rows = [
        Figure("keyword index", "MB", fitted("linear", sizes_of(now, "files: words, MB")), now),
        Figure("IVF vectors", "MB", fitted("linear", vectors), before),
        Figure("pgvector: rows and HNSW", "MB", fitted("linear", table("vectors")), "skill-sizes"),
        Figure("PostgreSQL: records", "MB", fitted("linear", table("records")), "skill-sizes"),
        Figure("… of that, cards", "MB", fitted("linear", table("cards, part of records")), "skill-sizes"),
        Figure("PostgreSQL: texts", "MB", fitted("linear", table("bodies")), "skill-sizes"),
        Figure("SQLite file", "MB", fitted("linear", both("files: database, MB")), f"{now}, {before}"),
        Figure("memory of a service (RSS)", "MB", fitted("linear", both("serving: RSS, MB")), f"{now}, {before}"),
        Figure("keyword search, p50", "ms", fitted("linear", words), f"latency, {before}"),
        Figure(
            "processor time of a hybrid search",
            "ms",
            fitted("linear", {size: 1000 * CORES / rate for size, rate in searches.items()}),
            before,
        ),
        Figure(
            "keyword index: build, processor",
            "s",
            fitted("linear", sizes_of(now, "building: words, processor seconds")),
            now,
        ),
        Figure("IVF: build", "s", fitted("power", sizes_of(before, "building: vectors, seconds")), before),
        Figure("HNSW: build", "s", fitted("power", hnsw), "skill-sizes, postgres-vectors"),
    ]
    return {row.name: row for row in rows}


def constants() -> dict[str, float]:
    """Return what does not depend on the number of skills."""
    sizes, found = read("skill-sizes"), read("following")["found elsewhere"]
    replay = sizes_of("scale-10k-100k", "building: words, processor seconds")
    applied, published = max(replay) / replay[max(replay)], read("publish")["packages a second"]
    return {
        "embedded per second and core": read("latency")["reindex"]["documents/s"],
        "tokens of a skill": sizes["tokens of an embedded text"]["mean"],
        "bytes of a package": sizes["bytes of a package"]["mean"],
        "packages published per second, at most": published,
        "changes that a replica applies per second": applied,
        "part of a replica's core that all publishing takes, %": 100 * published / applied,
        "minutes to catch up with a day of it": DAY * published / applied / 60,
        "a write until words find it, p50, ms": max(sizes_of("scale-writes", WRITE).values()),
        "a write is found on another replica by words, p95, ms": found["by words p95, ms"],
        "… by meaning, p95, ms": found["by meaning p95, ms"],
    }


def plan(skills: int, fits: Mapping[str, Figure], known: Mapping[str, float]) -> dict[str, float]:
    """Return what a catalog of so many skills needs, in the units of the table."""
    at = {name: figure.fit.at(skills) for name, figure in fits.items()}
    postgresql = at["PostgreSQL: records"] + at["PostgreSQL: texts"] + at["pgvector: rows and HNSW"]
    return {
        "vectors, flat, 32-bit: memory, GB": 4 * DIMENSION * skills / 1e9,
        "vectors, IVF, 16-bit: mapped file, GB": at["IVF vectors"] / 1000,
        "vectors, pgvector: rows and HNSW, GB": at["pgvector: rows and HNSW"] / 1000,
        "vectors, Milvus: 32-bit, without its index, GB": 4 * DIMENSION * skills / 1e9,
        "keyword index: mapped files, GB": at["keyword index"] / 1000,
        "cards, in the database, GB": at["… of that, cards"] / 1000,
        "memory of a service with all in it (RSS), GB": at["memory of a service (RSS)"] / 1000,
        **searches(skills, fits),
        "embed everything, local model: core hours": skills / known["embedded per second and core"] / HOUR,
        "embed everything, hosted model: million tokens": skills * known["tokens of a skill"] / 1e6,
        "build of the keyword index: core hours": at["keyword index: build, processor"] / HOUR,
        "build of the IVF index: hours": at["IVF: build"] / HOUR,
        "build of the HNSW index, while it fits its memory: hours": at["HNSW: build"] / HOUR,
        "catalog that can change in a day, before a replica falls behind, %": (
            100 * DAY * known["changes that a replica applies per second"] / skills
        ),
        "disk: SQLite, GB": at["SQLite file"] / 1000,
        "disk: PostgreSQL, GB": postgresql / 1000,
        "disk: packages in S3, one version each, GB": skills * known["bytes of a package"] / 1e9,
    }


def searches(skills: int, fits: Mapping[str, Figure]) -> dict[str, float]:
    """Return what searches need: in one index that each replica holds, and in shards that all answer each search."""
    search, memory = fits["processor time of a hybrid search"].fit, fits["memory of a service (RSS)"].fit
    one, count = search.at(skills), math.ceil(skills / SHARD)
    of_shards = search.a + count * (search.b * SHARD + (SHARD_MS if count > 1 else 0))
    seconds = LOAD / 1000 / BUSY
    return {
        "one index: keyword search, p50, ms": fits["keyword search, p50"].fit.at(skills),
        "one index: searches per second and core": 1000 / one,
        f"one index: cores for {LOAD} searches/s": one * seconds,
        f"one index: replicas of {CORES_OF_A_REPLICA} cores for them": math.ceil(one * seconds / CORES_OF_A_REPLICA),
        f"shards of {SHARD:,}": count,
        "shards: memory of all, one replica each, GB": count * memory.at(SHARD) / 1000,
        "shards: searches per second and core of all": 1000 / of_shards,
        f"shards: cores for {LOAD} searches/s": of_shards * seconds,
    }


def rounded(value: float) -> str:
    """Return a number with two or three significant digits."""
    if isinstance(value, int):
        return f"{value:,}"
    digits = max(0, 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{digits}f}" if value < 100 else f"{float(f'{value:.3g}'):,.0f}"


def law(fit: Fit) -> str:
    """Return the formula of a fit."""
    return f"{fit.a:.3g} + {fit.b:.3g} n" if fit.form == "linear" else f"{fit.a:.3g} n^{fit.b:.2f}"


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table."""
    lines = [f"| {' | '.join(line)} |" for line in (head, *rows)]
    return "\n".join([lines[0], "|---" * len(head) + "|", *lines[1:]])


def page(fits: Mapping[str, Figure], known: Mapping[str, float]) -> str:
    """Return the tables of docs/scale.md, each with a line that says what it has."""
    fit_rows = []
    for name, unit, fit, files in fits.values():
        measured = ", ".join(f"{size:,}: {rounded(float(value))}" for size, value in sorted(fit.points.items()))
        residual = f"{100 * fit.residual():.0f} %" if len(fit.points) > 2 else "two sizes"
        fit_rows.append([f"{name}, {unit}", measured, law(fit), residual, files])
    plans = {size: plan(size, fits, known) for size in SIZES}
    plan_rows = [[name, *(rounded(plans[size][name]) for size in SIZES)] for name in plans[SIZES[0]]]
    parts = [
        "What is fitted to the number of skills n:",
        markdown(["figure", "measured", "fit", "largest residual", "file"], fit_rows),
        "What does not depend on it:",
        markdown(["figure", "value"], [[name, rounded(float(value))] for name, value in known.items()]),
        "What follows. A figure for more skills than its row above was measured with is extrapolated:",
        markdown(["skills", *(f"{size:,}" for size in SIZES)], plan_rows),
    ]
    return "\n\n".join(parts)


def kept(fits: Mapping[str, Figure], known: Mapping[str, float]) -> dict[str, Any]:
    """Return everything with five significant digits, which are the same on every machine."""
    rows = [
        {"figure": name, "unit": unit, "form": fit.form, "a": fit.a, "b": fit.b, "files": files,
         "measured": {str(size): value for size, value in sorted(fit.points.items())},
         "largest residual": fit.residual() if len(fit.points) > 2 else None}
        for name, unit, fit, files in fits.values()
    ]  # fmt: skip
    plans = {str(size): plan(size, fits, known) for size in SIZES}
    whole = {"fits": rows, "constants": known, "plans": plans}
    five_digits: dict[str, Any] = json.loads(json.dumps(whole), parse_float=lambda text: float(f"{float(text):.5g}"))
    return five_digits


def main() -> None:
    """Fit, print the tables, and write JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    fits, known = figures(), constants()
    print(page(fits, known))
    keep(arguments.json, kept(fits, known))


if __name__ == "__main__":
    main()
