"""What the relevance of first hits is worth, and the logistic function that decides *high*, fitted on half of each set.

    python benchmarks/relevance.py --data DIR [DIR …] [--intents] [--json OUT]

Each DIR is a labelled data set as `quality.py` takes it; `--intents` adds the queries of the part `dev` of the intents,
for the set `prompts`. The features are the evidence of the first hit and its lead over the second. Each set weighs the
same. The script prints, for the other halves, the share of first hits that are right, by relevance and for thresholds
of the fitted function. The least part of the vectors is chosen by cross validation: the smallest with which *high* is
right for 87 % of each set on four fifths of the queries; on the other fifth it is measured. That, and the relevance in
force on whole sets, is printed too.
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
_FLOORS = (0.0, 1.0, 1.25, 1.5, 1.75, 2.0, 2.25, 2.5)
_GOAL, _FOLDS, _ROUNDS = 0.87, 5, 40
_IN_FORCE = np.array([0.0, 0.12, 1.4])
_HIGH = 3.5

Numbers = NDArray[np.float64]


class Firsts(NamedTuple):
    """The first hits of the queries of a set: 1, evidence and lead, shape (queries, 3); right or not; relevance.

    `near` is the part of the vectors in the evidence.
    """

    features: Numbers
    right: Numbers
    relevance: list[str]
    near: Numbers

    def half(self, parity: int) -> "Firsts":
        """Return every second query."""
        return Firsts(self.features[parity::2], self.right[parity::2], self.relevance[parity::2], self.near[parity::2])


def firsts(engine: Engine, keys: dict[int, str], labelled: Labelled) -> Firsts:
    """Search for the queries of a set, in random order. Queries that are names of skills are left out."""
    rows: list[tuple[list[float], bool, str, float]] = []
    queries, gains = labelled
    for number in np.random.default_rng(_SEED).permutation(len(queries)):
        query = queries[number]
        hits = engine.search.search(SearchRequest(query["text"], limit=2, explain=True)).hits
        told = [hit.explanation for hit in hits if hit.explanation is not None]
        if len(told) > 1 and told[0].tier != "exact_name":
            lead = told[0].evidence - told[1].evidence
            is_right, near = keys[hits[0].key] in gains[query["id"]], told[0].parts["vectors"]
            rows.append(([1.0, told[0].evidence, lead], is_right, hits[0].relevance, near))
    features, right, relevance, vectors = zip(*rows, strict=True)
    return Firsts(np.array(features), np.array(right, np.float64), list(relevance), np.array(vectors))


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


def cross_validated(sets: dict[str, Firsts]) -> dict[str, dict[str, float]]:
    """Return how often *high* is right with a least part of the vectors that was chosen without the query."""
    random = np.random.default_rng(_SEED)
    counts = {name: np.zeros(2) for name in sets}
    for _ in range(_ROUNDS):
        folds = {name: random.integers(0, _FOLDS, len(each.right)) for name, each in sets.items()}
        for fold in range(_FOLDS):
            floor = _least_floor({name: (each, folds[name] != fold) for name, each in sets.items()})
            for name, each in sets.items():
                chosen = _is_high(each, floor) & (folds[name] == fold)
                counts[name] += each.right[chosen].sum(), chosen.sum()
    return {
        name: {"right": round(100 * float(right / high), 1), "high": round(float(high) / _ROUNDS, 1)}
        for name, (right, high) in counts.items()
    }


def _least_floor(sets: dict[str, tuple[Firsts, NDArray[np.bool_]]]) -> float:
    for floor in _FLOORS:
        if all(each.right[_is_high(each, floor) & among].mean() >= _GOAL for each, among in sets.values()):
            return floor
    return 2.0


def _is_high(found: Firsts, floor: float) -> NDArray[np.bool_]:
    high: NDArray[np.bool_] = (found.features @ _IN_FORCE >= _HIGH) & (found.near >= floor)
    return high


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
    whole = {
        name: {key: now for key, now in worth(each, weights).items() if "now" in key} for name, each in sets.items()
    }
    validated = cross_validated(sets)
    print("whole sets:", whole)
    print("cross validation:", validated)
    weighed = {"weights": weights.round(3).tolist(), "sets": results}
    keep(arguments.json, {**weighed, "whole": whole, "cross_validation": validated})


if __name__ == "__main__":
    main()
