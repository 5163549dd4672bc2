"""Measures rankings over a labelled data set."""

from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from embeddings.base import Embedder
from registry.evaluation.corpus_index import Progress, corpus_index
from registry.evaluation.dataset import Dataset
from registry.evaluation.intervals import RESAMPLES, SEED, Interval, interval, resamples
from registry.evaluation.measures import DEPTH, MEASURES
from registry.evaluation.rankings import Rank, rankings

REPORTED = ("ndcg@10", "hit@1", "recall@5", "recall@10", "mrr@10")
"""The measures of a report, the main one first."""

Values = dict[str, NDArray[np.float64]]
"""The value of each measure for each query, shape (queries,)."""


class EvaluationReport(msgspec.Struct, kw_only=True):
    """The figures of one data set.

    `results` has the mean of each measure by ranking, with its 95 % interval. `differences` has the mean of the paired
    difference between the best ranking of the service, `measured`, and each other ranking. `space` names the model.
    """

    data: str
    documents: int
    queries: int
    space: str | None
    measured: str
    seed: int
    resamples: int
    results: dict[str, dict[str, Interval]]
    differences: dict[str, dict[str, Interval]]


def evaluate(dataset: Dataset, folder: Path, embedder: Embedder | None, progress: Progress) -> EvaluationReport:
    """Index a data set in an empty folder and measure it. Raises IncompleteIndex."""
    with corpus_index(dataset.corpus, folder, embedder, progress) as index:
        values = {name: measured(dataset, rank) for name, rank in rankings(index).items()}
    return _report(dataset, embedder.space if embedder else None, values)


def measured(dataset: Dataset, rank: Rank) -> Values:
    """Return the measures of a ranking for every query."""
    rows = [
        [MEASURES[name](ranking, dataset.gains[query.id]) for name in REPORTED]
        for query in dataset.queries
        for ranking in [rank(query.text)[:DEPTH]]
    ]
    return {name: np.array(column) for name, column in zip(REPORTED, zip(*rows, strict=True), strict=True)}


def _report(dataset: Dataset, space: str | None, values: dict[str, Values]) -> EvaluationReport:
    shares = resamples(len(dataset.queries))
    best = "hybrid" if "hybrid" in values else "keyword"
    return EvaluationReport(
        data=dataset.name,
        documents=len(dataset.corpus),
        queries=len(dataset.queries),
        space=space,
        measured=best,
        seed=SEED,
        resamples=RESAMPLES,
        results={
            name: {measure: interval(column, shares) for measure, column in columns.items()}
            for name, columns in values.items()
        },
        differences={
            name: {measure: interval(values[best][measure] - column, shares) for measure, column in columns.items()}
            for name, columns in values.items()
            if name != best
        },
    )
