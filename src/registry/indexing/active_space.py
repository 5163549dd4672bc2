"""Which vectors answer: those of the settings, and until they are complete those that answered before."""

import msgspec

from embeddings import Embedder, EmbeddingUnavailable
from registry.config.settings import Settings
from registry.db import Database
from registry.indexing.embedder import choose_embedder
from search.engine import text_space

_FACT = "serving"


class _Serving(msgspec.Struct):
    """What made the vectors that answer now: kept, so that they go on answering when the settings change."""

    space: str
    provider: str
    model: str
    dimension: int


class ActiveSpace:
    """The embedder of the settings, and the one whose vectors were complete before the settings changed.

    Raises:
        EmbeddingUnavailable: The settings ask for a provider that cannot be had.
    """

    def __init__(self, database: Database, settings: Settings) -> None:
        self._database = database
        self._settings = settings
        self.embedder = choose_embedder(settings)

    def previous(self) -> tuple[Embedder, str] | None:
        """Return the embedder that filled the space in use before, and that space, if it can still be had."""
        serving = _serving(self._database)
        if serving is None or self.embedder is None:
            return None
        before = msgspec.structs.replace(
            self._settings.embedding, provider=serving.provider, model=serving.model, dimension=serving.dimension
        )
        try:
            embedder = choose_embedder(msgspec.structs.replace(self._settings, embedding=before))
        except EmbeddingUnavailable:
            return None
        same = embedder is not None and serving.space.startswith(f"{embedder.space}/")
        return (embedder, serving.space) if embedder and same else None

    def dimensions(self) -> dict[str, int]:
        """Return the dimension of each space that is of use: of the settings' embedder, and what answered before."""
        serving = _serving(self._database)
        spaces = {serving.space: serving.dimension} if serving else {}
        return spaces | ({text_space(self.embedder): self.embedder.dim} if self.embedder else {})

    def keep(self) -> None:
        """Write down that the vectors of the settings' embedder are complete."""
        if self.embedder is None:
            return
        serving = _Serving(text_space(self.embedder), self.embedder.provider, self.embedder.model, self.embedder.dim)
        with self._database.write() as transaction:
            transaction.put_fact(_FACT, msgspec.json.encode(serving).decode())


def active_space(database: Database) -> str | None:
    """Return the space whose vectors were the last to be complete, if any were."""
    serving = _serving(database)
    return serving.space if serving else None


def _serving(database: Database) -> _Serving | None:
    rows = database.read("select value from facts where name = ?", (_FACT,))
    return msgspec.json.decode(rows[0][0], type=_Serving) if rows else None
