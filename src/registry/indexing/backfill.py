"""Embeds a whole catalog outside of the service, on any number of machines."""

import threading
import time

import msgspec

from embeddings import Embedder
from registry.catalog.documents import CatalogDocuments
from registry.config.settings import Settings
from registry.database import open_hnsw_indexes
from registry.db import Database
from search.engine import Progress, text_space
from search.indexer import Indexer

_PROGRESS_SECONDS = 1.0


class BackfillReport(msgspec.Struct, kw_only=True):
    """The result of one process: the number of `embedded` skills, and the `errors` of rejected texts."""

    space: str
    skills: int
    embedded: int
    failed: int
    errors: list[str]
    seconds: float
    rate: float


def run_backfill(settings: Settings, database: Database, embedder: Embedder, progress: Progress) -> BackfillReport:
    """Embed every skill that has no current vector of the embedder, and return when all are embedded.

    Other processes may do the same at the same time. The service uses another space until its settings name this one.
    The next call continues an interrupted one. Raises DatabaseError.
    """
    documents, space = CatalogDocuments(database), text_space(embedder)
    documents.begin_backfill(space)
    complete, started = threading.Event(), time.monotonic()

    def check() -> None:
        if documents.stale_count(space) <= len(indexer.refused()):
            complete.set()

    indexer = Indexer(documents, embedder, space, lambda: None, check, rate=settings.embedding.rate)
    indexer.start()
    try:
        while not complete.wait(_PROGRESS_SECONDS):
            total = documents.count()
            progress(total - documents.stale_count(space), total)
    finally:
        indexer.stop()
    if settings.search.vectors == "database":
        open_hnsw_indexes(database, documents.spaces, lambda: None).build(space, embedder.dim)
    seconds, rejected, embedded = time.monotonic() - started, indexer.refused(), indexer.totals.embedded
    return BackfillReport(
        space=space,
        skills=documents.count(),
        embedded=embedded,
        failed=len(rejected),
        errors=sorted(set(rejected.values())),
        seconds=round(seconds, 1),
        rate=round(embedded / max(seconds, 1e-3), 1),
    )
