"""The embedder for all other models of the sentence-transformers library, by name or folder."""

import importlib.util
import logging
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from embeddings import checkpoint, telemetry
from embeddings.base import EmbeddingError, Matrix
from embeddings.settings import EmbeddingSettings, EmbeddingUnavailable

_LOG = logging.getLogger(__name__)
# Texts are truncated as for the converted model, with room for models that accept 8,192 tokens.
_MAX_CHARACTERS = 32_768
_BATCH = 16


class SentenceTransformersEmbedder:
    """An Embedder that uses the sentence-transformers library. The first call loads or downloads the model.

    Calls run one at a time, because fast tokenizers are not thread-safe. The constructor raises EmbeddingUnavailable
    if the library or `embedding.dimension` is missing.
    """

    provider = "local"

    def __init__(self, settings: EmbeddingSettings) -> None:
        if settings.model is None or settings.dimension is None:
            raise EmbeddingUnavailable(f"set embedding.dimension to the number of dimensions of {settings.model}")
        if importlib.util.find_spec("sentence_transformers") is None:
            raise EmbeddingUnavailable(
                f"{settings.model} needs an extra: pip install 'skill-registry[sentence-transformers]'"
            )
        folder = Path(settings.model)
        fingerprint = f"@{checkpoint.fingerprint(folder)[:16]}" if folder.is_dir() else ""
        self.model = folder.resolve().name if folder.is_dir() else settings.model
        self.dim = settings.dimension
        self.space = f"local/{self.model}{fingerprint}/{self.dim}/sentence-transformers"
        self._source = settings.model
        self._threads = settings.threads
        self._lock = threading.Lock()
        self._loaded_model: Any = None

    def documents(self, texts: Sequence[str]) -> Matrix:
        """Return one vector per text: shape (len(texts), dim). Raises EmbeddingError."""
        if not texts:
            return np.empty((0, self.dim), dtype=np.float32)
        return self._encode("encode_document", texts)

    def queries(self, texts: Sequence[str]) -> Matrix:
        """Return one vector per text: shape (len(texts), dim). Raises EmbeddingError."""
        return self._encode("encode_query", texts) if texts else np.empty((0, self.dim), dtype=np.float32)

    def close(self) -> None:
        """Release the model. A later call loads it again."""
        with self._lock:
            self._loaded_model = None

    def _encode(self, method: str, texts: Sequence[str]) -> Matrix:
        truncated = [text[:_MAX_CHARACTERS].encode("utf-8", "replace").decode("utf-8") for text in texts]
        with self._lock:
            try:
                model = self._model()
                # Before version 5.0, one method encoded both.
                encode = getattr(model, method, model.encode)
                vectors = encode(truncated, batch_size=_BATCH, normalize_embeddings=True, show_progress_bar=False)
            except Exception as error:  # torch, transformers and the hub raise their own exception classes
                _LOG.warning("sentence-transformers failed with %s", self.model, exc_info=error)
                raise EmbeddingError(f"the model {self.model} could not be loaded or failed") from error
        matrix: Matrix = np.asarray(vectors, dtype=np.float32)
        if matrix.shape != (len(texts), self.dim):
            raise EmbeddingError(f"{self.model} has {matrix.shape[-1]} dimensions: set embedding.dimension to that")
        return matrix

    def _model(self) -> Any:
        if self._loaded_model is None:
            telemetry.switch_off()
            import torch  # noqa: PLC0415 (seconds to import)
            from sentence_transformers import SentenceTransformer  # noqa: PLC0415

            torch.set_num_threads(self._threads)
            # With a folder, nothing of the hub is needed, and the hub learns nothing.
            is_folder = Path(self._source).is_dir()
            self._loaded_model = SentenceTransformer(self._source, device="cpu", local_files_only=is_folder)
        return self._loaded_model
