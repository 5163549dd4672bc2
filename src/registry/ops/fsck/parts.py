"""The stores of one catalog, opened for the checks without starting a service."""

import datetime
from functools import cached_property
from pathlib import Path

from registry.blobs import BlobStore, BlobUnavailable, configured_store
from registry.catalog.documents import CatalogDocuments
from registry.catalog.local_skills import LocalSkills
from registry.catalog.store import Catalog, Clock
from registry.config.settings import Settings
from registry.db import Database
from registry.inspection.inspector import Inspector
from registry.milvus.collections import MilvusCollections
from registry.milvus.connection import MilvusConnection
from registry.milvus.vectors import MilvusVectors
from registry.ops.fsck.drift import CannotCheck
from registry.publish.git_index import GitIndex
from registry.publish.index_files import IndexFiles
from registry.publish.published import PublishedVersions
from registry.publish.service import git_index
from registry.transparency.log import TransparencyLog


class Parts:
    """The stores of a catalog. `alone` means that no service uses the data directory."""

    def __init__(self, settings: Settings, database: Database, clock: Clock, *, alone: bool) -> None:
        self.settings = settings
        self.database = database
        self.alone = alone
        self._clock = clock
        self.documents = CatalogDocuments(database)
        self.catalog = Catalog(database, clock)
        self._inspector = Inspector(settings.limits)
        self.local = LocalSkills(settings.skills_dir.resolve(), self.catalog, self._inspector)
        self.log = TransparencyLog(database, clock)
        self.published = PublishedVersions(database, self.catalog, self.log)
        self.index_files = IndexFiles(self.published, settings.package_urls)

    def close(self) -> None:
        """End the process that repairs may have started for scans, and close the connection to Milvus."""
        self._inspector.close()
        if "_milvus" in self.__dict__:
            self._milvus.close()

    @cached_property
    def _milvus(self) -> MilvusConnection:
        return MilvusConnection(self.settings.search)

    def milvus_vectors(self, space: str, dimension: int) -> MilvusVectors:
        """Return the vectors of a space in Milvus. Raises DatabaseUnusable without its library."""
        return MilvusVectors(self._milvus, self.documents, space, dimension, self.database.claim)

    def milvus_collections(self) -> MilvusCollections:
        """Return the collections of the catalog in Milvus. Raises DatabaseUnusable without its library."""
        return MilvusCollections(self._milvus, self.documents.catalog_id, self.database.claim)

    def now(self) -> datetime.datetime:
        """Return the current time."""
        return self._clock()

    def run(self, sql: str) -> None:
        """Run one statement in its own transaction."""
        with self.database.write() as transaction:
            transaction.execute(sql)

    @property
    def index_folders(self) -> list[Path]:
        """The folders of index files, one for each worker, also of earlier ones."""
        root = self.settings.data_dir / "indexes"
        return [root, *sorted(root.glob("worker-*"))]

    def store(self) -> BlobStore:
        """Return the package store. Raises CannotCheck if none is configured."""
        try:
            return configured_store(self.settings)
        except BlobUnavailable as error:
            raise CannotCheck(f"{error}, as for the service") from None

    def clone(self) -> GitIndex | None:
        """Return the clone of the index, or None if there is none yet, or no index is configured."""
        if self.settings.registry_index.url is None:
            return None
        index = git_index(self.settings)
        return index if index.is_cloned() else None
