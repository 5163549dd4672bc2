"""Creates the embedder of the settings."""

from embeddings import Embedder, EmbeddingSettings, choose
from registry.config.settings import Settings


def choose_embedder(settings: Settings) -> Embedder | None:
    """Return the embedder; None for keyword search only. Raises EmbeddingUnavailable."""
    return choose(_embedding_settings(settings))


def _embedding_settings(settings: Settings) -> EmbeddingSettings:
    embedding, limits = settings.embedding, settings.limits
    return EmbeddingSettings(
        provider=embedding.provider,
        model=embedding.model,
        adapter=embedding.adapter,
        base_url=embedding.base_url.reveal() if embedding.base_url else None,
        api_key=embedding.api_key.reveal() if embedding.api_key else None,
        api_version=embedding.api_version,
        dimension=embedding.dimension,
        threads=embedding.threads,
        cache_dir=embedding.models_dir or settings.data_dir / "models",
        connect_timeout=limits.embedding_connect_seconds,
        total_timeout=limits.embedding_total_seconds,
        breaker_failures=limits.embedding_breaker_failures,
        breaker_seconds=limits.embedding_breaker_seconds,
    )
