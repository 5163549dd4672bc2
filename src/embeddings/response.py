"""Validation of responses of an embeddings API. Every part is checked."""

import base64
import binascii

import msgspec
import numpy as np
from numpy.typing import NDArray

from embeddings.base import EmbeddingError, Matrix

_MIN_NORM = 1e-9


class _Item(msgspec.Struct):
    index: int
    embedding: str | list[float]


class _Response(msgspec.Struct):
    data: list[_Item]


def max_size(texts: int, dimension: int) -> int:
    """Return the maximum size of a valid response in bytes: 32 per number (as decimal text), plus overhead."""
    return 65536 + texts * (1024 + 32 * dimension)


def parse(body: bytes, texts: int, dimension: int) -> Matrix:
    """Return the vectors in the body of a response, normalised, shape (texts, dimension), in the order of the texts.

    The body has the format of POST /embeddings of the OpenAI API, with vectors as numbers or as base64 of
    little-endian float32. Raises EmbeddingError for any other format, a wrong count, index or dimension, and for
    vectors that are zero or not finite.
    """
    try:
        items = msgspec.json.decode(body, type=_Response).data
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise EmbeddingError("the embedding provider's response is not the JSON of an embeddings API") from error
    if sorted(item.index for item in items) != list(range(texts)):
        message = f"the embedding provider returned {len(items)} vectors with wrong indexes for {texts} texts"
        raise EmbeddingError(message)
    rows = np.empty((texts, dimension), dtype=np.float64)
    for item in items:
        row = _decode(item.embedding)
        if row.shape != (dimension,):
            raise EmbeddingError(f"the embedding provider returned a vector of {len(row)} dimensions, not {dimension}")
        rows[item.index] = row
    return _normalize(rows)


def _decode(embedding: str | list[float]) -> NDArray[np.float64]:
    if isinstance(embedding, list):
        return np.array(embedding, dtype=np.float64)
    try:
        return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4").astype(np.float64)
    except (binascii.Error, ValueError) as error:
        raise EmbeddingError("the embedding provider returned a vector that is not base64 of float32") from error


def _normalize(rows: NDArray[np.float64]) -> Matrix:
    if not np.isfinite(rows).all():
        raise EmbeddingError("the embedding provider returned a vector with NaN or infinity")
    with np.errstate(over="ignore"):
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.isfinite(norms).all() or (norms < _MIN_NORM).any():
        raise EmbeddingError("the embedding provider returned a vector that cannot be normalised")
    vectors: Matrix = (rows / norms).astype(np.float32)
    return vectors
