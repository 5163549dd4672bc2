"""The figures of the page about search quality, from the files that `skill-registry dev eval --json` wrote."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
_MEASURES = {
    "ndcg@10": "nDCG@10",
    "hit@1": "right one first",
    "recall@5": "R@5",
    "recall@10": "R@10",
    "mrr@10": "MRR@10",
}


def quality_tables() -> str:
    """Return a section for each evaluated data set."""
    files = sorted(RESULTS.glob("evaluation-*.json"))
    return "\n".join(line for file in files for line in _section(json.loads(file.read_text(encoding="utf-8"))))


def _section(report: dict[str, Any]) -> Iterator[str]:
    yield f"### {report['data']}\n"
    yield f"{report['documents']:,} documents, {report['queries']:,} queries, model `{report['space']}`.\n"
    yield f"| ranking | {' | '.join(_MEASURES.values())} |"
    yield "|---" * (len(_MEASURES) + 1) + "|"
    for name, values in report["results"].items():
        yield _row(name, values)
    for name, values in report["differences"].items():
        yield _row(f"{report['measured']} minus {name}", values, "+")
    yield ""


def _row(name: str, values: dict[str, dict[str, float]], sign: str = "") -> str:
    cells = []
    for measure in _MEASURES:
        mean, low, high = (100 * values[measure][bound] for bound in ("mean", "low", "high"))
        cells.append(f"{mean:{sign}.1f} ({low:{sign}.1f} to {high:{sign}.1f})")
    return f"| {name} | {' | '.join(cells)} |"
