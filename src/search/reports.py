"""What the engine says of its indexes and of its work."""

import msgspec


class Reindexed(msgspec.Struct, kw_only=True):
    """What a reindexing did. `count` is how many skills were looked at, `skipped` how many needed nothing."""

    reindexed: int
    count: int
    skipped: int
    removed: int
    failed: int
    errors: list[str]
    duration_ms: int
    mode: str


class EngineStatus(msgspec.Struct, kw_only=True):
    """How the indexes stand: `drift` counts entries the indexes have too many or too few of, against the catalog."""

    indexed: int
    pending: int
    drift: int
    generation: int
    provider: str | None
    model: str | None
    dim: int | None
    last_error: str | None
