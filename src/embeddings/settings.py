"""What decides which embedder a process gets."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Provider = Literal["auto", "hosted", "local", "none"]


class EmbeddingUnavailable(ValueError):
    """The embedder that was asked for cannot be had; the message is one line and says what to do."""


@dataclass(frozen=True, kw_only=True)
class EmbeddingSettings:
    """Which provider and model to use, and what a call may cost.

    `cache_dir` keeps converted local models (about 25 MB each). `threads` are the local model's. The
    time-outs are seconds: `connect_timeout` to open a connection, `total_timeout` for one call with its
    retry, or for the wait while another thread loads the local model. After
    `breaker_failures` in a row a hosted provider is left alone for `breaker_seconds`. `api_key` and `base_url` may hold
    secrets: they are not in the repr.
    """

    provider: Provider = "auto"
    model: str | None = None
    base_url: str | None = field(default=None, repr=False)
    api_key: str | None = field(default=None, repr=False)
    dimension: int | None = None
    threads: int = 1
    cache_dir: Path
    connect_timeout: float = 2.0
    total_timeout: float = 5.0
    breaker_failures: int = 5
    breaker_seconds: float = 30.0
