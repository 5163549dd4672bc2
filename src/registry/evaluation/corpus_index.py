"""An index of a corpus: a catalog of its own, searched by the engine of the service."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from embeddings.base import Embedder, EmbeddingError
from registry.catalog.documents import CatalogDocuments
from registry.catalog.store import Catalog
from registry.database.sqlite import SqliteDatabase
from registry.domain.counts import counted
from registry.domain.models import Skill, now
from registry.evaluation.dataset import Entry
from search.engine import Engine, text_space
from search.types import DocumentPut, VectorPut

_PROVIDER_SECONDS = 60.0
_LOADING_SECONDS = 180.0
_RETRY_SECONDS = 1.0
_PREFIX = "skill-"

Progress = Callable[[int, int], None]


class IncompleteIndex(Exception):
    """Documents or queries have no vector, so every figure would be wrong. The message says which, and why."""


class CorpusIndex(NamedTuple):
    """A filled engine, the corpus id of each document key, and the vectors, shape (documents, dimension).

    `vectors` are those of `vector_keys`; both are None without an embedder.
    """

    engine: Engine
    ids: dict[int, str]
    embedder: Embedder | None
    vector_keys: NDArray[np.int64] | None
    vectors: NDArray[np.float32] | None


@contextmanager
def corpus_index(
    corpus: Sequence[Entry], folder: Path, embedder: Embedder | None, progress: Progress = lambda count, total: None
) -> Iterator[CorpusIndex]:
    """Yield an index of a corpus in an empty folder. Raises IncompleteIndex."""
    with closing(SqliteDatabase(folder / "corpus.db")) as database:
        documents = CatalogDocuments(database)
        _fill(database, corpus)
        changes = documents.document_changes(0, len(corpus))
        puts = [change.document for change in changes if isinstance(change, DocumentPut)]
        ids = {document.key: corpus[_number(document.id)].id for document in puts}
        with closing(Engine(documents, folder / "indexes", embedder, fallback_seconds=_PROVIDER_SECONDS)) as engine:
            if embedder is not None:
                _load(embedder)
            engine.start()
            _embed(engine, progress)
            keys, vectors = _vectors(documents, embedder) if embedder else (None, None)
            yield CorpusIndex(engine, ids, embedder, keys, vectors)


def _fill(database: SqliteDatabase, corpus: Sequence[Entry]) -> None:
    catalog = Catalog(database, now)
    with database.write() as transaction:
        for number, entry in enumerate(corpus):
            skill = Skill(
                id=f"{_PREFIX}{number}",
                name=entry.name,
                description=entry.description or "",
                tags=entry.tags or [],
                version="1.0.0",
            )
            catalog.save(transaction, skill, entry.text or "")


def _number(skill_id: str) -> int:
    return int(skill_id.removeprefix(_PREFIX))


def _load(embedder: Embedder) -> None:
    """Wait until the model answers: it may take longer to load than a search waits. Raises IncompleteIndex."""
    deadline = time.monotonic() + _LOADING_SECONDS
    while True:
        try:
            embedder.queries(["ready"])
            return
        except EmbeddingError as error:
            if error.permanent or time.monotonic() > deadline:
                raise IncompleteIndex(f"the embedding model cannot be used: {error}") from error
        time.sleep(_RETRY_SECONDS)


def _embed(engine: Engine, progress: Progress) -> None:
    report = engine.reindex(progress=progress)
    if report.failed:
        reasons = "; ".join(report.errors)
        raise IncompleteIndex(
            f"{report.failed} of {report.count} documents have no vector, so the figures would be wrong: {reasons}"
        )
    engine.changed()
    if drift := engine.status().drift:
        raise IncompleteIndex(
            f"the indexes differ from the corpus in {counted(drift, 'entry')}, so the figures would be wrong"
        )


def _vectors(documents: CatalogDocuments, embedder: Embedder) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    changes = documents.vector_changes(text_space(embedder), 0, documents.count())
    puts = [change for change in changes if isinstance(change, VectorPut)]
    return np.array([put.key for put in puts], np.int64), np.stack([put.vector for put in puts])
