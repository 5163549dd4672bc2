"""Snapshots of index files for new replicas.

The leader uploads snapshots to the blob store. A replica without indexes downloads the newest one.

Snapshots are a cache like every index. The database has the size and digest of the newest snapshot, and each file is
verified when it is opened. The index sync applies the changes since the snapshot. If anything fails, the replica
builds its indexes.
"""

import logging
import re
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from registry.blobs import BlobConflict, BlobMissing, BlobStore, BlobUnavailable, configured_store, put_checked
from registry.blobs.store import chunks
from registry.config.settings import Settings
from registry.db import Database, DatabaseError, read_fact
from registry.runtime.periodic_worker import STOP_SECONDS, PeriodicWorker
from search import integrity
from search.engine import Engine
from search.lexical.disk_segment import lexical_identity
from search.types import Documents

_log = logging.getLogger("registry.indexing")

_FACT = "index_snapshot"
_WORK_PREFIX = "snapshot-"
_MEMBER = re.compile(r"(words-[0-9]{1,12}/)?[A-Za-z0-9][A-Za-z0-9._-]{0,200}")
_CHECK_SECONDS = 60.0
_OUTAGES = (OSError, BlobConflict, BlobUnavailable, DatabaseError)
_MIN_CHANGES = 1000
"""With fewer changes a replica indexes the catalog as fast as it downloads a snapshot."""


class IndexSnapshot(msgspec.Struct, kw_only=True):
    """A zip of index files in the blob store: its key, the identity and revision of the index, its size and SHA-256."""

    key: str
    identity: str
    revision: int = msgspec.field(name="number")
    size: int
    sha256: str


class IndexSnapshots:
    """Publishes and downloads the snapshots of one catalog. `indexes` is the index folder of this process."""

    def __init__(self, database: Database, store: BlobStore, catalog_id: str, indexes: Path) -> None:
        self._database = database
        self._store = store
        self._prefix = f"indexes/{catalog_id}/"
        self._identity = lexical_identity(catalog_id)
        self._indexes = indexes

    def newest(self) -> IndexSnapshot | None:
        """Return the newest snapshot; None if there is none of this index format."""
        text = read_fact(self._database, _FACT)
        snapshot = msgspec.json.decode(text, type=IndexSnapshot) if text else None
        return snapshot if snapshot and snapshot.identity == self._identity else None

    def fetch(self) -> bool:
        """Download the newest snapshot if the folder has no index; return whether it did."""
        self._indexes.mkdir(parents=True, exist_ok=True)
        for leftover in self._indexes.glob(f"{_WORK_PREFIX}*"):  # of a process that was killed
            shutil.rmtree(leftover, ignore_errors=True)
        if any(self._indexes.glob("words-*")) or (snapshot := self.newest()) is None:
            return False
        try:
            with self._working() as work:
                self._download(snapshot, work / "snapshot.zip")
                _unpack(work / "snapshot.zip", work / "files")
                for path in (work / "files").iterdir():
                    path.replace(self._indexes / path.name)
        except (BlobMissing, BlobUnavailable, OSError, ValueError, zipfile.BadZipFile) as error:
            _log.warning("the index snapshot cannot be used, so the indexes are built: %s", error)
            return False
        _log.info("downloaded an index snapshot of revision %d (%d bytes)", snapshot.revision, snapshot.size)
        return True

    @contextmanager
    def _working(self) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(dir=self._indexes, prefix=_WORK_PREFIX) as name:
            yield Path(name)

    def _download(self, snapshot: IndexSnapshot, path: Path) -> None:
        """Download a snapshot to a file. Raises ValueError if its size or digest is wrong."""
        size = 0
        with self._store.open(snapshot.key) as stored, path.open("xb") as file:
            for chunk in chunks(stored):
                size += file.write(chunk)
                if size > snapshot.size:
                    break
        if size != snapshot.size or integrity.sha256(path) != snapshot.sha256:
            raise ValueError("its size or digest is not that of the published snapshot")

    def is_due(self, revision: int, documents: int) -> bool:
        """Return whether there are so many changes since the newest snapshot that a new one is worth its upload."""
        newest = self.newest()
        return revision - (newest.revision if newest else 0) >= max(_MIN_CHANGES, documents // 10)

    def publish(self, copy: Callable[[Path], int]) -> IndexSnapshot:
        """Upload a new snapshot, and delete all except it and the previous one.

        Args:
            copy: Writes index files to an empty folder and returns their revision.

        Raises OSError, BlobConflict, BlobUnavailable, DatabaseError.
        """
        previous = self.newest()
        with self._working() as work:
            (work / "files").mkdir()
            revision = copy(work / "files")
            packed = work / "snapshot.zip"
            _pack(work / "files", packed)
            sha256 = integrity.sha256(packed)
            key = f"{self._prefix}{revision}-{sha256}.zip"
            snapshot = IndexSnapshot(
                key=key, identity=self._identity, revision=revision, size=packed.stat().st_size, sha256=sha256
            )
            put_checked(self._store, key, packed)
        with self._database.write() as transaction:
            transaction.put_fact(_FACT, msgspec.json.encode(snapshot).decode())
        keys = {key, previous.key if previous else key}  # a replica may be downloading the previous one
        for old in [stored for stored in self._store.keys(self._prefix) if stored not in keys]:
            self._store.remove(old)
        return snapshot


def fetch_snapshots(
    settings: Settings, database: Database, documents: Documents, indexes: Path
) -> IndexSnapshots | None:
    """Download the newest snapshot to an empty index folder; return None unless replicas share a blob store."""
    if not (settings.registry.enabled and settings.is_replicated):
        return None
    snapshots = IndexSnapshots(database, configured_store(settings), documents.catalog_id, indexes)
    snapshots.fetch()
    return snapshots


class SnapshotPublisher:
    """Publishes snapshots in a thread of the leader when there are enough changes. Does nothing without `snapshots`."""

    def __init__(self, snapshots: IndexSnapshots | None, engine: Engine, documents: Documents) -> None:
        self._snapshots = snapshots
        self._engine = engine
        self._documents = documents
        self._thread = PeriodicWorker("snapshots", self._round, _log, _OUTAGES)

    def start(self) -> None:
        """Start the thread."""
        if self._snapshots is not None:
            self._thread.start()

    def stop(self) -> None:
        """Stop the thread. A running upload may be abandoned."""
        self._thread.stop(STOP_SECONDS)

    def _round(self) -> float:
        if self._snapshots is not None and self._snapshots.is_due(self._documents.revision(), self._documents.count()):
            self._engine.sync()
            snapshot = self._snapshots.publish(self._engine.index_sync.copy)
            _log.info("published an index snapshot of revision %d (%d bytes)", snapshot.revision, snapshot.size)
        return _CHECK_SECONDS


def _pack(folder: Path, packed: Path) -> None:
    """Pack the files of an index folder without compression, because vectors do not compress."""
    with zipfile.ZipFile(packed, "x", zipfile.ZIP_STORED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(folder).as_posix())


def _unpack(packed: Path, folder: Path) -> None:
    """Unpack an archive of `_pack`. Raises ValueError for other archives, BadZipFile, OSError."""
    with zipfile.ZipFile(packed) as archive:
        for entry in archive.infolist():
            if not _MEMBER.fullmatch(entry.filename) or entry.compress_type != zipfile.ZIP_STORED:
                raise ValueError(f"{entry.filename[:100]!r} is not an index file")
            path = folder / entry.filename
            path.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(entry) as stored, path.open("xb") as file:
                shutil.copyfileobj(stored, file)
