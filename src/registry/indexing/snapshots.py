"""Index files for new replicas: the leader leaves them in the store of packages, whoever has none begins with them.

They are a cache like every index: the database says which bytes are meant, each file is checked again when it is
opened, what has changed since is caught up by number, and where anything is amiss the indexes are simply built.
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
from registry.db import Database, DatabaseError
from registry.runtime.periodic_worker import STOP_SECONDS, PeriodicWorker
from search import integrity
from search.engine import Engine
from search.lexical.disk_segment import lexical_identity
from search.types import Documents

_log = logging.getLogger("registry.indexing")

_FACT = "index_snapshot"
_WORKING = "snapshot-"
_MEMBER = re.compile(r"(words-[0-9]{1,12}/)?[A-Za-z0-9][A-Za-z0-9._-]{0,200}")
_LOOK_SECONDS = 60.0
_FEWEST_CHANGES = 1000
"""A catalog that has seen fewer is indexed as quickly as it is fetched."""


class IndexSnapshot(msgspec.Struct, kw_only=True):
    """A zip of index files in the store: of which indexes, at which change, how many bytes and with which SHA-256."""

    key: str
    identity: str
    number: int
    size: int
    sha256: str


class IndexSnapshots:
    """Publishes and fetches the index files of one catalog, those of this process in the folder `indexes`."""

    def __init__(self, database: Database, store: BlobStore, catalog_id: str, indexes: Path) -> None:
        self._database = database
        self._store = store
        self._prefix = f"indexes/{catalog_id}/"
        self._identity = lexical_identity(catalog_id)
        self._indexes = indexes

    def newest(self) -> IndexSnapshot | None:
        """Return the snapshot that a new replica begins with, None where there is none that it could use."""
        rows = self._database.read("select value from facts where name = ?", (_FACT,))
        found = msgspec.json.decode(rows[0][0], type=IndexSnapshot) if rows else None
        return found if found and found.identity == self._identity else None

    def fetch(self) -> bool:
        """Fill the folder with the newest snapshot where it holds no index; return whether that was done."""
        self._indexes.mkdir(parents=True, exist_ok=True)
        for left in self._indexes.glob(f"{_WORKING}*"):  # by a process that was killed
            shutil.rmtree(left, ignore_errors=True)
        if any(self._indexes.glob("words-*")) or (snapshot := self.newest()) is None:
            return False
        try:
            with self._working() as work:
                self._download(snapshot, work / "snapshot.zip")
                _unpack(work / "snapshot.zip", work / "files")
                for path in (work / "files").iterdir():
                    path.replace(self._indexes / path.name)
        except (BlobMissing, BlobUnavailable, OSError, ValueError, zipfile.BadZipFile) as error:
            _log.warning("the indexes are built, since their snapshot cannot be had: %s", error)
            return False
        _log.info("the indexes begin with a snapshot of change %d (%d bytes)", snapshot.number, snapshot.size)
        return True

    @contextmanager
    def _working(self) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(dir=self._indexes, prefix=_WORKING) as name:
            yield Path(name)

    def _download(self, snapshot: IndexSnapshot, path: Path) -> None:
        """Write what is stored to a file. Raises ValueError where it is not what was published."""
        size = 0
        with self._store.open(snapshot.key) as stored, path.open("xb") as file:
            for chunk in chunks(stored):
                size += file.write(chunk)
                if size > snapshot.size:
                    break
        if size != snapshot.size or integrity.sha256(path) != snapshot.sha256:
            raise ValueError("what is stored is not what was published")

    def is_due(self, number: int, documents: int) -> bool:
        """Return whether so much has changed since the newest one that a new replica would have much to do."""
        newest = self.newest()
        return number - (newest.number if newest else 0) >= max(_FEWEST_CHANGES, documents // 10)

    def publish(self, copy: Callable[[Path], int]) -> IndexSnapshot:
        """Store a new snapshot, and remove all but it and the one before.

        Args:
            copy: Writes index files into an empty folder and returns the change they stand at.

        Raises OSError, BlobConflict, BlobUnavailable, DatabaseError.
        """
        before = self.newest()
        with self._working() as work:
            (work / "files").mkdir()
            number = copy(work / "files")
            packed = work / "snapshot.zip"
            _pack(work / "files", packed)
            sha256 = integrity.sha256(packed)
            key = f"{self._prefix}{number}-{sha256}.zip"
            made = IndexSnapshot(
                key=key, identity=self._identity, number=number, size=packed.stat().st_size, sha256=sha256
            )
            put_checked(self._store, key, packed)
        with self._database.write() as transaction:
            transaction.put_fact(_FACT, msgspec.json.encode(made).decode())
        kept = {key, before.key if before else key}  # somebody may be fetching the one before
        for old in [one for one in self._store.keys(self._prefix) if one not in kept]:
            self._store.remove(old)
        return made


def fetch_snapshots(
    settings: Settings, database: Database, documents: Documents, indexes: Path
) -> IndexSnapshots | None:
    """Fill an index folder that is empty; None where there are no replicas, or they have no store in common."""
    if not (settings.registry.enabled and settings.is_replicated):
        return None
    snapshots = IndexSnapshots(database, configured_store(settings), documents.catalog_id, indexes)
    snapshots.fetch()
    return snapshots


class SnapshotPublisher:
    """Publishes a snapshot whenever much has changed, in a thread of its own: one process of a catalog does.

    Without a place for them it does nothing.
    """

    def __init__(self, snapshots: IndexSnapshots | None, engine: Engine, documents: Documents) -> None:
        self._snapshots = snapshots
        self._engine = engine
        self._documents = documents
        self._thread = PeriodicWorker("snapshots", self._round)

    def start(self) -> None:
        """Begin to publish."""
        if self._snapshots is not None:
            self._thread.start()

    def stop(self) -> None:
        """Publish no more; one that is under way may end or not."""
        self._thread.stop(STOP_SECONDS)

    def _round(self) -> float:
        try:
            if self._snapshots is not None and self._snapshots.is_due(
                self._documents.revision(), self._documents.count()
            ):
                self._engine.sync()
                made = self._snapshots.publish(self._engine.index_sync.copy)
                _log.info("published a snapshot of the indexes at change %d (%d bytes)", made.number, made.size)
        except (OSError, BlobConflict, BlobUnavailable, DatabaseError) as error:
            if not self._thread.is_stopped:
                _log.warning("no snapshot of the indexes could be published; it is tried again: %s", error)
        except Exception:
            _log.exception("no snapshot of the indexes could be published; it is tried again")
        return _LOOK_SECONDS


def _pack(folder: Path, packed: Path) -> None:
    """Pack the files of an index folder as they are: vectors would not become smaller."""
    with zipfile.ZipFile(packed, "x", zipfile.ZIP_STORED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(folder).as_posix())


def _unpack(packed: Path, folder: Path) -> None:
    """Unpack what `_pack` has packed, and nothing else. Raises ValueError, BadZipFile, OSError."""
    with zipfile.ZipFile(packed) as archive:
        for entry in archive.infolist():
            if not _MEMBER.fullmatch(entry.filename) or entry.compress_type != zipfile.ZIP_STORED:
                raise ValueError(f"{entry.filename[:100]!r} is no index file")
            path = folder / entry.filename
            path.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(entry) as stored, path.open("xb") as file:
                shutil.copyfileobj(stored, file)
