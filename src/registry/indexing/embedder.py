"""Creates the embedder of the settings."""

from embeddings import Embedder, EmbeddingSettings, EmbeddingUnavailable, choose
from embeddings.settings import DEFAULT_BASE_URL
from registry.config.settings import Settings
from registry.domain.addresses import OutboundError, parse_url
from registry.outbound.proxies import proxies_of


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
        proxy=_proxy(settings),
        ca_file=settings.outbound.ca_file,
        ca_dir=settings.outbound.ca_dir,
    )


def _proxy(settings: Settings) -> str | None:
    """Return the proxy to the hosted provider. Raises EmbeddingUnavailable."""
    url = settings.embedding.base_url
    try:
        proxy = proxies_of(settings.outbound).of(parse_url(url.reveal() if url else DEFAULT_BASE_URL))
    except OutboundError as error:
        raise EmbeddingUnavailable(str(error)) from None
    return proxy.full_url if proxy else None
