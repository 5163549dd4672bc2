"""95 % bootstrap intervals of means (Efron and Tibshirani, 1993), with a fixed seed."""

import msgspec
import numpy as np
from numpy.typing import NDArray

SEED = 19
RESAMPLES = 10_000
_BLOCK = 500


class Interval(msgspec.Struct, frozen=True):
    """A mean over queries, and the bounds that hold 95 % of the means of resampled queries."""

    mean: float
    low: float
    high: float


def resamples(queries: int) -> NDArray[np.float64]:
    """Return how often each query is in each resample, as a share; shape (RESAMPLES, queries)."""
    generator = np.random.default_rng(SEED)
    blocks = [
        generator.multinomial(queries, np.full(queries, 1 / queries), size=_BLOCK) for _ in range(RESAMPLES // _BLOCK)
    ]
    return np.concatenate(blocks) / queries


def interval(values: NDArray[np.float64], shares: NDArray[np.float64]) -> Interval:
    """Return the interval of the mean of `values`, one for each query; `shares` is that of `resamples`."""
    low, high = np.percentile(shares @ values, [2.5, 97.5])
    return Interval(*(round(float(value), 4) for value in (values.mean(), low, high)))
