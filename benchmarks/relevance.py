"""What the relevance of first hits is worth, and the logistic function that decides *high*, fitted on half of each set.

    python benchmarks/relevance.py --data DIR [DIR …] [--intents] [--json OUT]

Each DIR is a labelled data set as `quality.py` takes it; `--intents` adds the queries of the part `dev` of the intents,
for the set `prompts`. The features are the evidence of the first hit and its lead over the second. Each set weighs the
same. The script prints, for the other halves, the share of first hits that are right, by relevance and for thresholds
of the fitted function.
"""

import argparse
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import intents
from quality import Labelled, fill, read_jsonl, read_labelled
from results_file import keep
from search.engine import Engine
from search.requests import SearchRequest

_SEED = 1
_STEPS = 50
_THRESHOLDS = (0.7, 0.75, 0.8, 0.85)

Numbers = NDArray[np.float64]


class Firsts(NamedTuple):
    """The first hits of the queries of a set: 1, evidence and lead, shape (queries, 3); right or not; relevance."""

    features: Numbers
    right: Numbers
    relevance: list[str]

    def half(self, parity: int) -> "Firsts":
        """Return every second query."""
        return Firsts(self.features[parity::2], self.right[parity::2], self.relevance[parity::2])


def firsts(engine: Engine, keys: dict[int, str], labelled: Labelled) -> Firsts:
    """Search for the queries of a set, in random order. Queries that are names of skills are left out."""
    rows: list[tuple[list[float], bool, str]] = []
    queries, gains = labelled
    for number in np.random.default_rng(_SEED).permutation(len(queries)):
        query = queries[number]
        hits = engine.search.search(SearchRequest(query["text"], limit=2, explain=True)).hits
        told = [hit.explanation for hit in hits if hit.explanation is not None]
        if len(told) > 1 and told[0].tier != "exact_name":
            lead = told[0].evidence - told[1].evidence
            rows.append(([1.0, told[0].evidence, lead], keys[hits[0].key] in gains[query["id"]], hits[0].relevance))
    features, right, relevance = zip(*rows, strict=True)
    return Firsts(np.array(features), np.array(right, np.float64), list(relevance))


def fitted(sets: list[Firsts]) -> Numbers:
    """Return the weights of the logistic function, by Newton's method. Each set weighs the same."""
    features, right = np.vstack([each.features for each in sets]), np.concatenate([each.right for each in sets])
    weight = np.concatenate([np.full(len(each.right), 1 / len(each.right)) for each in sets])
    weights = np.zeros(features.shape[1])
    for _ in range(_STEPS):
        probability = _logistic(features @ weights)
        slope = features.T @ (weight * (right - probability))
        curvature = (features * (weight * probability * (1 - probability))[:, None]).T @ features
        weights += np.linalg.solve(curvature + 1e-6 * np.eye(len(weights)), slope)
    return weights


def _logistic(values: Numbers) -> Numbers:
    result: Numbers = 1 / (1 + np.exp(-values))
    return result


def worth(found: Firsts, weights: Numbers) -> dict[str, Any]:
    """Return the share of first hits that are right, and how many there are, by relevance and threshold."""
    groups: dict[str, Numbers] = defaultdict(lambda: np.zeros(0, np.bool_))
    for band in sorted(set(found.relevance)):
        groups[f"now {band}"] = np.array([each == band for each in found.relevance])
    for threshold in _THRESHOLDS:
        groups[f"p >= {threshold}"] = _logistic(found.features @ weights) >= threshold
    return {
        name: {
            "right": round(100 * float(found.right[chosen].mean()), 1),
            "share": round(100 * float(chosen.mean()), 1),
        }
        for name, chosen in groups.items()
        if chosen.any()
    }


def main() -> None:
    """Fit on one half of each set and print what it gives on the other."""
    parser = argparse.ArgumentParser(description="Measure and fit the relevance of first hits.")
    parser.add_argument("--data", type=Path, nargs="+", required=True, help="folders with corpus, queries and qrels")
    parser.add_argument("--intents", action="store_true", help="add the queries of data/intents.jsonl")
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    sets: dict[str, Firsts] = {}
    for data in arguments.data:
        with tempfile.TemporaryDirectory() as folder:
            engine, keys = fill(read_jsonl(data / "corpus.jsonl"), Path(folder))
            sets[data.name] = firsts(engine, keys, read_labelled(data))
            if arguments.intents and data.name == "prompts":
                sets["intents"] = firsts(engine, keys, intents.labelled(intents.read("dev")))
            engine.close()
    weights = fitted([each.half(0) for each in sets.values()])
    results = {name: worth(each.half(1), weights) for name, each in sets.items()}
    print("1, evidence, lead:", [round(weight, 3) for weight in weights.tolist()])
    for name, values in results.items():
        print(name, values)
    keep(arguments.json, {"weights": weights.round(3).tolist(), "sets": results})


if __name__ == "__main__":
    main()
