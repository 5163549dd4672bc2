"""Measures the flat segment against one plain FAISS index: CPU time of both, alternating, on one thread.

`python benchmarks/exact_vectors.py` prints a line for each size, number of vectors of a query, and share of documents
that pass a filter, and writes `benchmarks/results/exact-vectors.json`. Ratios are ours / FAISS.
"""

import registry.__main__  # noqa: I001, F401 - limits the threads of numpy and FAISS as it does for the service
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import faiss
import numpy as np

from search.vectors.flat_segment import FlatSegment

RESULTS = Path(__file__).parent / "results" / "exact-vectors.json"
SIZES = (1000, 4000, 20_000, 50_000, 100_000)
SHARES = (1.0, 0.97, 0.4, 0.2, 0.1, 0.01)
DIM, LIMIT, ROUNDS = 384, 50, 80


def median_us(searches: list[Callable[[int], object]]) -> list[float]:
    """Return the median CPU time of each of several searches, which take turns."""
    seconds: list[list[float]] = [[] for _ in searches]
    for turn in range(ROUNDS):
        for place, search in enumerate(searches):
            started = time.process_time()
            search(turn)
            seconds[place].append(time.process_time() - started)
    return [statistics.median(one) * 1e6 for one in seconds]


def measured(size: int, queries: int, share: float) -> dict[str, float]:
    """Compare both for one case."""
    drawn = np.random.default_rng(size)
    vectors = drawn.normal(size=(size, DIM)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    segment = FlatSegment.empty(DIM).with_rows(np.arange(size), vectors)
    flat = faiss.IndexFlatIP(DIM)
    flat.add(vectors)
    selected = drawn.random(size) < share
    bits = np.packbits(selected, bitorder="little")
    asked = drawn.normal(size=(ROUNDS, queries, DIM)).astype(np.float32)

    def theirs(turn: int) -> object:
        if share == 1:
            return flat.search(asked[turn], LIMIT)
        return flat.search(asked[turn], LIMIT, params=faiss.SearchParameters(sel=faiss.IDSelectorBitmap(bits)))

    ours_us, faiss_us = median_us([lambda turn: segment.search(asked[turn], LIMIT, selected), theirs])
    case = {"size": size, "vectors": queries, "share": share}
    return {**case, "ours_us": round(ours_us), "faiss_us": round(faiss_us), "ratio": round(ours_us / faiss_us, 2)}


def main() -> None:
    """Measure all cases."""
    cases = []
    for size in SIZES:
        for queries in (1, 3):
            for share in SHARES:
                cases.append(measured(size, queries, share))
                print(cases[-1], flush=True)
    RESULTS.write_text(json.dumps(cases, indent=1) + "\n")


if __name__ == "__main__":
    main()
