"""A blob store in a folder: each blob is a file, written durably and as a whole, or not at all."""

import datetime
import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from registry.blobs.store import BlobConflict, BlobMissing, BlobUnavailable
from registry.runtime.atomic_files import TEMPORARY_PREFIX, sync_folder, temporary_path


class FolderStore:
    """Stores blobs below `root`, which the first write creates."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def put_new(self, key: str, source: Path) -> None:
        """Store the bytes of a file under a new key. Raises BlobConflict, BlobUnavailable."""
        path = self._root / key
        try:
            self._create_folder(path.parent)
            temporary = temporary_path(path.parent, "blob-")
            try:
                _copy(source, temporary)
                os.link(temporary, path)  # unlike a rename, a link fails if the name exists
            finally:
                temporary.unlink(missing_ok=True)
            sync_folder(path.parent)
        except FileExistsError:
            raise BlobConflict(f"another package is already stored as {key}") from None
        except OSError as error:
            raise _unavailable(error) from None

    def _create_folder(self, folder: Path) -> None:
        if not folder.is_dir():
            self._create_folder(folder.parent)
            folder.mkdir(exist_ok=True)
            sync_folder(folder.parent)

    @contextmanager
    def open(self, key: str) -> Iterator[BinaryIO]:
        """Open a blob for reading. Raises BlobMissing, BlobUnavailable."""
        try:
            with (self._root / key).open("rb") as file:
                yield file
        except FileNotFoundError:
            raise BlobMissing(key) from None
        except OSError as error:
            raise _unavailable(error) from None

    def exists(self, key: str) -> bool:
        """Return whether the key exists. Raises BlobUnavailable."""
        try:
            (self._root / key).stat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise _unavailable(error) from None
        return True

    def stored_at(self, key: str) -> datetime.datetime:
        """Return when a blob was stored, in UTC. Raises BlobMissing, BlobUnavailable."""
        try:
            return datetime.datetime.fromtimestamp((self._root / key).stat().st_mtime, datetime.UTC)
        except FileNotFoundError:
            raise BlobMissing(key) from None
        except OSError as error:
            raise _unavailable(error) from None

    def keys(self, prefix: str) -> Iterator[str]:
        """Yield the keys that start with `prefix`, a folder such as `skills/`. Raises BlobUnavailable."""
        for folder, _, names in os.walk(self._root / prefix, onerror=_unless_missing):
            for name in sorted(names):
                if not name.startswith(TEMPORARY_PREFIX):
                    yield (Path(folder) / name).relative_to(self._root).as_posix()

    def remove(self, key: str) -> None:
        """Remove a blob, if the key exists. Raises BlobUnavailable."""
        try:
            (self._root / key).unlink(missing_ok=True)
            sync_folder((self._root / key).parent)
        except FileNotFoundError:
            return
        except OSError as error:
            raise _unavailable(error) from None


def _unless_missing(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise _unavailable(error) from None


def prepare_folder(root: Path) -> str:
    """Make the folder of packages if it is missing; return why this user cannot store any there, "" if it can."""
    try:
        root.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        return "it is a file, where a folder is needed"
    except OSError as error:
        return error.strerror or str(error)
    return "" if os.access(root, os.W_OK | os.X_OK) else "this user may not write to it"


def remove_leftovers(root: Path) -> None:
    """Remove the temporary files of killed writers. A writer at work in another process tries again."""
    for leftover in root.rglob(f"{TEMPORARY_PREFIX}blob-*"):
        leftover.unlink(missing_ok=True)


def _copy(source: Path, target: Path) -> None:
    with source.open("rb") as reader, target.open("xb") as writer:
        shutil.copyfileobj(reader, writer)
        writer.flush()
        os.fchmod(writer.fileno(), 0o444)
        os.fsync(writer.fileno())


def _unavailable(error: OSError) -> BlobUnavailable:
    reason = os.strerror(error.errno) if error.errno else errno.errorcode[errno.EIO]
    return BlobUnavailable(f"the package folder (blobs.dir) cannot be used: {reason}")
