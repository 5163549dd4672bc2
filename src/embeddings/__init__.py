"""Texts to vectors: hosted or local models behind one protocol. `choose` picks what the settings and machine allow."""

from embeddings.base import Embedder, EmbeddingError, Matrix, Vector
from embeddings.choice import choose
from embeddings.settings import EmbeddingSettings, EmbeddingUnavailable, Provider

__all__ = [
    "Embedder",
    "EmbeddingError",
    "EmbeddingSettings",
    "EmbeddingUnavailable",
    "Matrix",
    "Provider",
    "Vector",
    "choose",
]
