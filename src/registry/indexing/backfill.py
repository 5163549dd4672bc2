"""Embedding a whole catalog beside the service, on as many machines as there are."""

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

_LOOK_EVERY_SECONDS = 1.0


class BackfillReport(msgspec.Struct, kw_only=True):
    """What one process did: how many skills it `embedded`, and which texts the provider refused for good."""

    space: str
    skills: int
    embedded: int
    failed: int
    errors: list[str]
    seconds: float
    rate: float


def run_backfill(settings: Settings, database: Database, embedder: Embedder, progress: Progress) -> BackfillReport:
    """Embed every skill that has no current vector of the embedder's, and return when none is left.

    Others may do the same meanwhile, and the service may answer from another space: nothing changes for it until its
    settings name this one. What is cut short is continued by the next call. Raises DatabaseError.
    """
    documents, space = CatalogDocuments(database), text_space(embedder)
    documents.begin_backfill(space)
    complete, started = threading.Event(), time.monotonic()

    def look() -> None:
        if documents.stale_count(space) <= len(indexer.refused()):
            complete.set()

    indexer = Indexer(documents, embedder, space, lambda: None, look, rate=settings.embedding.rate)
    indexer.start()
    try:
        while not complete.wait(_LOOK_EVERY_SECONDS):
            total = documents.count()
            progress(total - documents.stale_count(space), total)
    finally:
        indexer.stop()
    if settings.search.vectors == "database":
        open_hnsw_indexes(database, documents.spaces, lambda: None).build(space, embedder.dim)
    seconds, refused, embedded = time.monotonic() - started, indexer.refused(), indexer.totals.embedded
    return BackfillReport(
        space=space,
        skills=documents.count(),
        embedded=embedded,
        failed=len(refused),
        errors=sorted(set(refused.values())),
        seconds=round(seconds, 1),
        rate=round(embedded / max(seconds, 1e-3), 1),
    )
