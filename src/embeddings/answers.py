"""Checking what an embeddings API answered: nothing of it is believed."""

import base64
import binascii

import msgspec
import numpy as np
from numpy.typing import NDArray

from embeddings.base import EmbeddingError, Matrix

_SMALLEST_NORM = 1e-9


class _Item(msgspec.Struct):
    index: int
    embedding: str | list[float]


class _Answer(msgspec.Struct):
    data: list[_Item]


def size_limit(texts: int, dimension: int) -> int:
    """Return the bytes an honest answer fits in: 32 a number (as decimal text), and room for the rest."""
    return 65536 + texts * (1024 + 32 * dimension)


def vectors(body: bytes, texts: int, dimension: int) -> Matrix:
    """Return the unit vectors in `body`, shape (texts, dimension), in the order of the texts.

    The body is that of POST /embeddings of the OpenAI API, its vectors as numbers or as base64 of
    little-endian float32. Raises EmbeddingError on any other shape, a wrong count, order or dimension, and on
    vectors that are not finite or all zero.
    """
    try:
        items = msgspec.json.decode(body, type=_Answer).data
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as fault:
        raise EmbeddingError("the embedding provider's answer is not the JSON of an embeddings API") from fault
    if sorted(item.index for item in items) != list(range(texts)):
        raise EmbeddingError(f"the embedding provider answered {len(items)} vectors wrongly numbered for {texts} texts")
    rows = np.empty((texts, dimension), dtype=np.float64)
    for item in items:
        row = _numbers(item.embedding)
        if row.shape != (dimension,):
            raise EmbeddingError(f"the embedding provider answered {len(row)} dimensions, not {dimension}")
        rows[item.index] = row
    return _unit(rows)


def _numbers(embedding: str | list[float]) -> NDArray[np.float64]:
    if isinstance(embedding, list):
        return np.array(embedding, dtype=np.float64)
    try:
        return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4").astype(np.float64)
    except (binascii.Error, ValueError) as fault:
        raise EmbeddingError("the embedding provider answered a vector that is not base64 of float32") from fault


def _unit(rows: NDArray[np.float64]) -> Matrix:
    if not np.isfinite(rows).all():
        raise EmbeddingError("the embedding provider answered a vector with NaN or infinity")
    with np.errstate(over="ignore"):
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.isfinite(norms).all() or (norms < _SMALLEST_NORM).any():
        raise EmbeddingError("the embedding provider answered a vector without a direction")
    unit: Matrix = (rows / norms).astype(np.float32)
    return unit
