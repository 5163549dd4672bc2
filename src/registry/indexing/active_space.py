"""The active embedding space: the space of the settings, or the previous one until the new vectors are complete."""

import msgspec

from embeddings import Embedder, EmbeddingUnavailable
from registry.config.settings import Settings
from registry.db import Database, read_fact
from registry.indexing.embedder import choose_embedder
from search.engine import text_space

_FACT = "serving"


class _ActiveEmbedder(msgspec.Struct):
    """The embedder of the active vectors. It is stored, so that they stay usable when the settings change."""

    space: str
    provider: str
    model: str
    dimension: int
    adapter: str = "none"  # a fact that was stored before there were adapters


class ActiveSpace:
    """The embedder of the settings, and the previous embedder, whose vectors are complete."""

    def __init__(self, database: Database, settings: Settings, embedder: Embedder | None) -> None:
        self._database = database
        self._settings = settings
        self.embedder = embedder

    def previous(self) -> tuple[Embedder, str] | None:
        """Return the embedder of the stored active space, and that space; None if it is not available."""
        active = _read_active(self._database)
        if active is None or self.embedder is None:
            return None
        previous = msgspec.structs.replace(
            self._settings.embedding,
            provider=active.provider,
            model=active.model,
            dimension=active.dimension,
            adapter=active.adapter,
        )
        try:
            embedder = choose_embedder(msgspec.structs.replace(self._settings, embedding=previous))
        except EmbeddingUnavailable:
            return None
        is_same = embedder is not None and active.space.startswith(f"{embedder.space}/")
        return (embedder, active.space) if embedder and is_same else None

    def dimensions(self) -> dict[str, int]:
        """Return the dimension of each space in use: that of the settings, and the stored active one."""
        active = _read_active(self._database)
        spaces = {active.space: active.dimension} if active else {}
        return spaces | ({text_space(self.embedder): self.embedder.dim} if self.embedder else {})

    def activate(self) -> None:
        """Store that the vectors of the settings' embedder are complete."""
        if self.embedder is None:
            return
        active = _ActiveEmbedder(
            text_space(self.embedder),
            self.embedder.provider,
            self.embedder.model,
            self.embedder.dim,
            self._settings.embedding.adapter,
        )
        with self._database.write() as transaction:
            transaction.put_fact(_FACT, msgspec.json.encode(active).decode())


def active_space(database: Database) -> str | None:
    """Return the space whose vectors were completed last; None if there is none."""
    active = _read_active(database)
    return active.space if active else None


def _read_active(database: Database) -> _ActiveEmbedder | None:
    text = read_fact(database, _FACT)
    return msgspec.json.decode(text, type=_ActiveEmbedder) if text else None
