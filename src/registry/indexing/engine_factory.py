"""Creates the search engine of the settings."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from registry.catalog.document_rows import DEPRECATED
from registry.catalog.documents import CatalogDocuments
from registry.config.settings import Settings
from registry.database import open_hnsw_indexes
from registry.database.pg_vectors import PgVectors
from registry.db import Database
from registry.domain.source_entry import REGISTRY
from registry.indexing.active_space import ActiveSpace
from registry.milvus.connection import MilvusConnection
from registry.milvus.vectors import MilvusVectors
from search.engine import Engine
from search.index_takeover import take_over
from search.lexical.disk_segment import lexical_identity
from search.types import Filter

_log = logging.getLogger("registry.indexing")


def create_engine(
    settings: Settings,
    database: Database,
    documents: CatalogDocuments,
    spaces: ActiveSpace,
    indexes: Path,
    *,
    indexing: bool,
) -> tuple[Engine, Callable[[], None]]:
    """Return the engine with its index files in `indexes`, and the function that closes it. Raises DatabaseUnusable.

    A worker without `indexing` begins with the index files of the first one.
    """
    first = index_folder(settings.data_dir, 0)
    if indexes != first and take_over(first, indexes, lexical_identity(documents.catalog_id)):
        _log.info("took over the index files of the first worker")
    options: dict[str, Any] = {}
    hnsw_indexes = None
    if settings.search.vectors == "database":
        hnsw_indexes = open_hnsw_indexes(database, documents.spaces, lambda: engine.changed())  # noqa: PLW0108 - `engine` is assigned below
        is_ready = hnsw_indexes.is_ready
        options["open_vectors"] = lambda path, catalog, space, dim: PgVectors(database, space, dim, is_ready)
    milvus = None
    if settings.search.vectors == "milvus":
        milvus = connected = MilvusConnection(settings.search)
        options["open_vectors"] = lambda path, catalog, space, dim: MilvusVectors(
            connected, catalog, space, dim, database.claim
        )
    engine = Engine(
        documents,
        indexes,
        spaces.embedder,
        previous=spaces.previous(),
        fallback_seconds=settings.limits.search_fallback_seconds,
        indexing=indexing,
        embedding_rate=settings.embedding.rate,
        on_complete=spaces.activate,
        verified=Filter(((f"source:{REGISTRY}",),)),
        lowered=Filter(excluded=(DEPRECATED,)),
        **options,
    )

    def close() -> None:
        if hnsw_indexes is not None:
            hnsw_indexes.stop()
        engine.close()
        if milvus is not None:
            milvus.close()

    return engine, close


def index_folder(data_dir: Path, worker: int) -> Path:
    """Return the folder of the index files of a worker. tantivy has one writer per folder, so each has its own."""
    return data_dir / "indexes" / (f"worker-{worker}" if worker else "")
