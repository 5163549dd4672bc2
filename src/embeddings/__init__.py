"""Text embedding: hosted and local models behind one protocol; `choose` selects one by the settings."""

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
