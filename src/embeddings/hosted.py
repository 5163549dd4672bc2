"""The hosted embedder: any API that speaks OpenAI's POST /embeddings."""

import time
from collections.abc import Callable, Iterator, Sequence
from urllib.parse import urlsplit

import numpy as np

from embeddings import answers
from embeddings.base import EmbeddingError, Matrix
from embeddings.breaker import Breaker
from embeddings.openai_calls import Calls
from embeddings.settings import EmbeddingSettings, EmbeddingUnavailable

DEFAULT_MODEL = "text-embedding-3-small"
_DEFAULT_BASE_URL = "https://api.openai.com/v1"
_NATIVE_DIMENSIONS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}
# One request must fit in the total time-out, and in the provider's bound on tokens a request.
_BATCH_TEXTS = 64
_BATCH_CHARACTERS = 60_000
# The models take 8,191 tokens a text; scripts exist in which a character is two tokens.
_MAX_CHARACTERS = 4_000


class HostedEmbedder:
    """An Embedder over the openai SDK. Each request ends within `total_timeout`, its one retry included.

    After several failures in a row, or when the provider asks for a pause, calls fail at once for a while.
    Raises EmbeddingUnavailable, when made, for settings that cannot work.
    """

    provider = "hosted"

    def __init__(self, settings: EmbeddingSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self.model = settings.model or DEFAULT_MODEL
        self.dim = _dimension(self.model, settings.dimension)
        self.space = f"hosted/{self.model}/{self.dim}"
        self._asked_dimension = settings.dimension
        self._breaker = Breaker(settings.breaker_failures, settings.breaker_seconds, clock)
        self._calls = Calls(
            base_url=_base_url(settings.base_url),
            api_key=_api_key(settings.api_key),
            connect_timeout=settings.connect_timeout,
            total_timeout=settings.total_timeout,
        )

    def documents(self, texts: Sequence[str]) -> Matrix:
        """Return one vector a text: shape (len(texts), dim). Raises EmbeddingError when any request fails."""
        parts = [self._embed(batch) for batch in _batches([_prepared(text) for text in texts])]
        return np.concatenate(parts) if parts else np.empty((0, self.dim), dtype=np.float32)

    def queries(self, texts: Sequence[str]) -> Matrix:
        """Return one vector a text, in one call: shape (len(texts), dim). Raises EmbeddingError."""
        return self._embed([_prepared(text) for text in texts])

    def close(self) -> None:
        """Close the connections."""
        self._calls.close()

    def _embed(self, texts: list[str]) -> Matrix:
        self._breaker.check()
        try:
            limit = answers.size_limit(len(texts), self.dim)
            body = self._calls.post(self.model, texts, self._asked_dimension, limit)
            vectors = answers.vectors(body, len(texts), self.dim)
        except EmbeddingError as fault:
            if fault.permanent:
                # A refusal of these texts is an answer: the provider is well.
                self._breaker.succeeded()
            else:
                self._breaker.failed(fault.retry_after)
            raise
        self._breaker.succeeded()
        return vectors


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for text in texts:
        if batch and (len(batch) == _BATCH_TEXTS or size + len(text) > _BATCH_CHARACTERS):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += len(text)
    if batch:
        yield batch


def _prepared(text: str) -> str:
    """Make any string acceptable: the API refuses empty texts and what is not Unicode."""
    cut = text[:_MAX_CHARACTERS].replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
    return cut if cut.strip() else "-"


def _dimension(model: str, configured: int | None) -> int:
    if configured is not None:
        if configured < 1:
            raise EmbeddingUnavailable("embedding.dimension must be at least 1")
        return configured
    if model not in _NATIVE_DIMENSIONS:
        raise EmbeddingUnavailable(f"set embedding.dimension to the number of dimensions {model} answers")
    return _NATIVE_DIMENSIONS[model]


def _base_url(configured: str | None) -> str:
    if configured is None:
        return _DEFAULT_BASE_URL
    try:
        url = urlsplit(configured)
        usable = url.scheme in ("http", "https") and url.hostname and (url.port or 1)
    except ValueError:
        usable = False
    if not usable:
        raise EmbeddingUnavailable("embedding.base_url must be an http or https address")
    if "@" in url.netloc:
        # Addresses are logged by the HTTP client.
        raise EmbeddingUnavailable("embedding.base_url must not hold a password: use embedding.api_key")
    return configured


def _api_key(configured: str | None) -> str:
    key = (configured or "").strip()
    if not key:
        raise EmbeddingUnavailable("the hosted embedding provider needs an API key: set embedding.api_key")
    if not (key.isascii() and key.isprintable()):
        raise EmbeddingUnavailable("embedding.api_key holds characters that no HTTP header takes")
    return key
