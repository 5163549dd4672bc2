"""Creates the search engine of the settings."""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from prometheus_client.registry import Collector

from registry.catalog.document_rows import DEPRECATED
from registry.catalog.documents import CatalogDocuments
from registry.config.settings import Settings
from registry.database import open_hnsw_indexes
from registry.database.pg_vectors import PgVectors
from registry.db import Database
from registry.domain.source_entry import REGISTRY
from registry.indexing.active_space import ActiveSpace
from registry.milvus.collections import MilvusCollections
from registry.milvus.connection import MilvusConnection
from registry.milvus.metrics import MilvusMetrics
from registry.milvus.vectors import MilvusVectors
from search.engine import Engine
from search.index_takeover import take_over
from search.lexical.disk_segment import lexical_identity
from search.types import Filter
from search.vectors.base import VectorsUnavailable

_log = logging.getLogger("registry.indexing")


class OpenedEngine(NamedTuple):
    """An engine, the function that closes it, and the metrics of what it calls."""

    engine: Engine
    close: Callable[[], None]
    metrics: Sequence[Collector]


def create_engine(
    settings: Settings,
    database: Database,
    documents: CatalogDocuments,
    spaces: ActiveSpace,
    indexes: Path,
    *,
    indexing: bool,
) -> OpenedEngine:
    """Return the engine with its index files in `indexes`. Raises DatabaseUnusable.

    A worker without `indexing` begins with the index files of the first one.
    """
    first = index_folder(settings.data_dir, 0)
    if indexes != first and take_over(first, indexes, lexical_identity(documents.catalog_id)):
        _log.info("took over the index files of the first worker")
    options: dict[str, Any] = {"on_complete": spaces.activate}
    hnsw_indexes = None
    if settings.search.vectors == "database":
        hnsw_indexes = open_hnsw_indexes(database, documents.spaces, lambda: engine.changed())  # noqa: PLW0108 - `engine` is assigned below
        is_ready = hnsw_indexes.is_ready
        options["open_vectors"] = lambda path, catalog, space, dim: PgVectors(database, space, dim, is_ready)
    milvus = None
    if settings.search.vectors == "milvus":
        milvus = MilvusConnection(settings.search)
        options |= _milvus_options(milvus, database, documents, spaces)
    engine = Engine(
        documents,
        indexes,
        spaces.embedder,
        previous=spaces.previous(),
        fallback_seconds=settings.limits.search_fallback_seconds,
        indexing=indexing,
        embedding_rate=settings.embedding.rate,
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

    metrics = () if milvus is None else (MilvusMetrics(milvus, engine.index_sync.vectors_behind),)
    return OpenedEngine(engine, close, metrics)


def _milvus_options(
    milvus: MilvusConnection, database: Database, documents: CatalogDocuments, spaces: ActiveSpace
) -> dict[str, Any]:
    """Return the options of an engine whose vectors are in Milvus."""
    claim = None if database.is_read_only else database.claim
    collections = MilvusCollections(milvus, documents.catalog_id, database.claim)
    return {
        "open_vectors": lambda path, catalog, space, dim: MilvusVectors(milvus, documents, space, dim, claim),
        "on_complete": lambda: _activate(spaces, collections, documents),
    }


def _activate(spaces: ActiveSpace, collections: MilvusCollections, documents: CatalogDocuments) -> None:
    """Activate the space, and remove the collections of former ones. If Milvus is away, the next start removes them."""
    spaces.activate()
    try:
        for name in collections.drop_unused(documents.spaces_in_use(spaces.dimensions())):
            _log.info("removed the collection %s from Milvus, which no space uses", name)
    except VectorsUnavailable as error:
        _log.warning("the unused collections in Milvus stay until the next start: %s", error)


def index_folder(data_dir: Path, worker: int) -> Path:
    """Return the folder of the index files of a worker. tantivy has one writer per folder, so each has its own."""
    return data_dir / "indexes" / (f"worker-{worker}" if worker else "")
