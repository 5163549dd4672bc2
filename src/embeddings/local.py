"""The local embedder: a model on the CPU, loaded at first use."""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Protocol

import numpy as np

from embeddings.base import EmbeddingError, Matrix, Vector
from embeddings.settings import EmbeddingSettings

_LOG = logging.getLogger(__name__)
_RETRY_SECONDS = 60.0


class TextEncoder(Protocol):
    """A loaded model. Safe to call from several threads at once."""

    query_prompt: str
    document_prompt: str

    def encode(self, text: str) -> Vector:
        """Return the vector of any string: shape (dimension,), unit length."""
        ...


class EncoderSource(Protocol):
    """A model that can be loaded."""

    @property
    def name(self) -> str:
        """The public name of the model."""
        ...

    @property
    def dimension(self) -> int:
        """The dimension of its vectors."""
        ...

    @property
    def space(self) -> str:
        """The space of its vectors, as in `Embedder`."""
        ...

    def open(self, settings: EmbeddingSettings) -> TextEncoder:
        """Load the model, in seconds. Raises EmbeddingError, and what onnxruntime raises."""
        ...


class LocalEmbedder:
    """An Embedder that uses onnxruntime. It encodes texts one by one: on a CPU, batches are not faster.

    The first call starts loading the model, which converts it if necessary (about a second). Calls wait for that at
    most `total_timeout`. After a failed load, calls fail at once for a minute.
    """

    provider = "local"

    def __init__(
        self, model: EncoderSource, settings: EmbeddingSettings, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.model = model.name
        self.dim = model.dimension
        self.space = model.space
        self._source = model
        self._settings = settings
        self._clock = clock
        self._lock = threading.Lock()
        self._loading: Future[TextEncoder] | None = None
        self._retry_at = clock()

    def documents(self, texts: Sequence[str]) -> Matrix:
        """Return one vector per text: shape (len(texts), dim). Raises EmbeddingError."""
        encoder = self._encoder()
        return self._encode_all(encoder, encoder.document_prompt, texts)

    def queries(self, texts: Sequence[str]) -> Matrix:
        """Return one vector per text: shape (len(texts), dim). Raises EmbeddingError."""
        encoder = self._encoder()
        return self._encode_all(encoder, encoder.query_prompt, texts)

    def _encode_all(self, encoder: TextEncoder, prompt: str, texts: Sequence[str]) -> Matrix:
        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        for row, text in enumerate(texts):
            vectors[row] = self._encode(encoder, prompt + text)
        return vectors

    def close(self) -> None:
        """Release the model. A later call loads it again."""
        with self._lock:
            self._loading = None

    def _encode(self, encoder: TextEncoder, text: str) -> Vector:
        try:
            return encoder.encode(text)
        except EmbeddingError:  # its message says what to do
            raise
        except Exception as error:  # onnxruntime raises its own exception classes
            _LOG.warning("the local model failed on a text of %d characters", len(text), exc_info=error)
            raise EmbeddingError("the local model failed") from error

    def _encoder(self) -> TextEncoder:
        loading = self._start_loading()
        try:
            return loading.result(timeout=self._settings.total_timeout)
        except TimeoutError as error:
            raise EmbeddingError("the local model is still loading", retry_after=1.0) from error
        except EmbeddingError as error:
            wait = max(self._retry_at - self._clock(), 0.0)
            raise EmbeddingError(str(error), retry_after=wait) from error

    def _start_loading(self) -> Future[TextEncoder]:
        """Return the current load, running or done. Start one if there is none, or to retry after a failure."""
        with self._lock:
            last = self._loading
            if last is None or (last.done() and last.exception() is not None and self._clock() >= self._retry_at):
                last = Future()
                # In a thread, because a conversion can take longer than a caller should wait.
                try:
                    threading.Thread(target=self._load, args=(last,), name="embedding-model", daemon=True).start()
                except RuntimeError as error:
                    raise EmbeddingError("no thread can be started to load the local model") from error
                self._loading = last
            return last

    def _load(self, loading: Future[TextEncoder]) -> None:
        try:
            loading.set_result(self._source.open(self._settings))
        except EmbeddingError as error:  # its message says what to do
            _LOG.warning("the local model could not be loaded: %s", error)
            self._fail(loading, f": {error}")
        except Exception as error:  # the callers that wait for the future must get every error
            _LOG.warning("the local model %s could not be loaded", self.model, exc_info=error)
            self._fail(loading, "")

    def _fail(self, loading: Future[TextEncoder], reason: str) -> None:
        self._retry_at = self._clock() + _RETRY_SECONDS
        loading.set_exception(EmbeddingError(f"the local model could not be loaded{reason}"))
