"""The settings that select and configure an embedder."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

DEFAULT_BASE_URL = "https://api.openai.com/v1"
"""The base URL of the hosted provider, unless the settings name another."""

Provider = Literal["auto", "hosted", "local", "none"]


class EmbeddingUnavailable(ValueError):
    """The embedder named in the settings is not available. The message is one line and says what to do."""


@dataclass(frozen=True, kw_only=True)
class EmbeddingSettings:
    """The provider, its model and its limits.

    `adapter` is `auto`, `none` or the path of an adapter of the local model. `cache_dir` contains converted local
    models (about 25 MB each). `threads` is the number of threads of the local model. Timeouts are in seconds:
    `connect_timeout` to open a connection; `total_timeout` for one call with its retry, or to wait for the local model
    to load. After `breaker_failures` consecutive failures, a hosted provider is not called for `breaker_seconds`.
    `proxy` is the URL of the proxy to the provider, and `ca_file` and `ca_dir` have the authorities that https trusts,
    by default those of the system. `api_version` selects Azure OpenAI. `api_key`, `base_url` and `proxy` may contain
    secrets, so they are not in the repr.
    """

    provider: Provider = "auto"
    model: str | None = None
    adapter: str = "auto"
    base_url: str | None = field(default=None, repr=False)
    api_key: str | None = field(default=None, repr=False)
    api_version: str | None = None
    dimension: int | None = None
    threads: int = 1
    cache_dir: Path
    connect_timeout: float = 2.0
    total_timeout: float = 5.0
    breaker_failures: int = 5
    breaker_seconds: float = 30.0
    proxy: str | None = field(default=None, repr=False)
    ca_file: Path | None = None
    ca_dir: Path | None = None
