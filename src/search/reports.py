"""Reports of the engine: its status, and the result of a reindex."""

import msgspec


class Reindexed(msgspec.Struct, kw_only=True):
    """The result of a reindex: of `count` skills, `skipped` were up to date."""

    reindexed: int
    count: int
    skipped: int
    removed: int
    failed: int
    errors: list[str]
    duration_ms: int
    mode: str


class EngineStatus(msgspec.Struct, kw_only=True):
    """The state of the indexes. `drift` is the number of entries that they lack or have in excess of the catalog."""

    indexed: int
    pending: int
    drift: int
    generation: int
    provider: str | None
    model: str | None
    dim: int | None
    last_error: str | None
