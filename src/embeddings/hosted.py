"""The hosted embedder, for OpenAI, Azure OpenAI and any API with OpenAI's POST /embeddings."""

import time
from collections.abc import Callable, Iterator, Sequence
from urllib.parse import urlsplit

import numpy as np

from embeddings import response
from embeddings.base import EmbeddingError, Matrix
from embeddings.breaker import CircuitBreaker
from embeddings.embeddings_client import EmbeddingsClient, Endpoint
from embeddings.settings import DEFAULT_BASE_URL, EmbeddingSettings, EmbeddingUnavailable

DEFAULT_MODEL = "text-embedding-3-small"
_NATIVE_DIMENSIONS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}
# One request must complete within the total timeout and the provider's limit of tokens per request.
_BATCH_TEXTS = 64
_BATCH_CHARACTERS = 60_000
# The models accept 8,191 tokens per text; in some scripts a character is two tokens.
_MAX_CHARACTERS = 4_000


class HostedEmbedder:
    """An Embedder that uses an API like OpenAI's. Each request ends within `total_timeout`, including its one retry.

    A circuit breaker makes calls fail at once for a while after several consecutive failures, or if the provider asks
    for a pause. The constructor raises EmbeddingUnavailable for invalid settings.
    """

    provider = "hosted"

    def __init__(self, settings: EmbeddingSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self.model = settings.model or DEFAULT_MODEL
        self.dim = _dimension(self.model, settings.dimension)
        self.space = f"hosted/{self.model}/{self.dim}"
        self._requested_dimension = settings.dimension
        self._breaker = CircuitBreaker(settings.breaker_failures, settings.breaker_seconds, clock)
        if settings.api_version is not None and settings.base_url is None:
            raise EmbeddingUnavailable("Azure OpenAI needs the endpoint of your resource: set embedding.base_url")
        self._client = EmbeddingsClient(
            Endpoint(
                base_url=_base_url(settings.base_url),
                api_key=_api_key(settings.api_key),
                api_version=settings.api_version,
                connect_timeout=settings.connect_timeout,
                total_timeout=settings.total_timeout,
                max_size=response.max_size(_BATCH_TEXTS, self.dim),
                proxy=settings.proxy,
                ca_file=settings.ca_file,
                ca_dir=settings.ca_dir,
            )
        )

    def documents(self, texts: Sequence[str]) -> Matrix:
        """Return one vector per text: shape (len(texts), dim). Raises EmbeddingError if any request fails."""
        parts = [self._embed(batch) for batch in _batches([_sanitized(text) for text in texts])]
        return np.concatenate(parts) if parts else np.empty((0, self.dim), dtype=np.float32)

    def queries(self, texts: Sequence[str]) -> Matrix:
        """Return one vector per text, in one request: shape (len(texts), dim). Raises EmbeddingError."""
        return self._embed([_sanitized(text) for text in texts])

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _embed(self, texts: list[str]) -> Matrix:
        self._breaker.check()
        try:
            body = self._client.post(self.model, texts, self._requested_dimension)
            vectors = response.parse(body, len(texts), self.dim)
        except EmbeddingError as error:
            if error.permanent:
                # The provider works: it has only refused these texts.
                self._breaker.succeeded()
            else:
                self._breaker.failed(error.retry_after)
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


def _sanitized(text: str) -> str:
    """Return a text that the API accepts: not empty, truncated, valid Unicode."""
    truncated = text[:_MAX_CHARACTERS].replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
    return truncated if truncated.strip() else "-"


def _dimension(model: str, configured: int | None) -> int:
    if configured is not None:
        if configured < 1:
            raise EmbeddingUnavailable("embedding.dimension must be at least 1")
        return configured
    if model not in _NATIVE_DIMENSIONS:
        raise EmbeddingUnavailable(f"set embedding.dimension to the number of dimensions of {model}")
    return _NATIVE_DIMENSIONS[model]


def _base_url(configured: str | None) -> str:
    if configured is None:
        return DEFAULT_BASE_URL
    try:
        url = urlsplit(configured)
        usable = url.scheme in ("http", "https") and url.hostname and (url.port or 1)
    except ValueError:
        usable = False
    if not usable:
        raise EmbeddingUnavailable("embedding.base_url must be an http or https URL")
    if "@" in url.netloc:
        # The HTTP client logs URLs.
        raise EmbeddingUnavailable("embedding.base_url must not contain a password: use embedding.api_key")
    return configured


def _api_key(configured: str | None) -> str:
    key = (configured or "").strip()
    if not key:
        raise EmbeddingUnavailable("the hosted embedding provider needs an API key: set embedding.api_key")
    if not (key.isascii() and key.isprintable()):
        raise EmbeddingUnavailable("embedding.api_key contains characters that are invalid in an HTTP header")
    return key
