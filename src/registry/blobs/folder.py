"""A folder as the store of packages: each blob a file, there whole and for good, or not at all."""

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
    """Keeps blobs below `root`, which is made when it is first needed."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def put_new(self, key: str, source: Path) -> None:
        """Store the bytes of a file unless the key is taken. Raises BlobConflict, BlobUnavailable."""
        path = self._root / key
        try:
            self._make(path.parent)
            temporary = temporary_path(path.parent, "blob-")
            try:
                _copy(source, temporary)
                os.link(temporary, path)  # unlike a rename this fails where the name is taken
            finally:
                temporary.unlink(missing_ok=True)
            sync_folder(path.parent)
        except FileExistsError:
            raise BlobConflict(f"something is stored as {key} already") from None
        except OSError as error:
            raise _unavailable(error) from None

    def _make(self, folder: Path) -> None:
        if not folder.is_dir():
            self._make(folder.parent)
            folder.mkdir(exist_ok=True)
            sync_folder(folder.parent)

    @contextmanager
    def open(self, key: str) -> Iterator[BinaryIO]:
        """Open what is stored. Raises BlobMissing, BlobUnavailable."""
        try:
            with (self._root / key).open("rb") as file:
                yield file
        except FileNotFoundError:
            raise BlobMissing(key) from None
        except OSError as error:
            raise _unavailable(error) from None

    def exists(self, key: str) -> bool:
        """Return whether anything is stored under the key. Raises BlobUnavailable."""
        try:
            (self._root / key).stat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise _unavailable(error) from None
        return True

    def keys(self, prefix: str) -> Iterator[str]:
        """Yield the keys that begin with `prefix`, a folder such as `skills/`. Raises BlobUnavailable."""
        for where, _, names in os.walk(self._root / prefix, onerror=_unless_missing):
            for name in sorted(names):
                if not name.startswith(TEMPORARY_PREFIX):
                    yield (Path(where) / name).relative_to(self._root).as_posix()

    def remove(self, key: str) -> None:
        """Remove what is stored under the key, if anything is. Raises BlobUnavailable."""
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


def remove_leftovers(root: Path) -> None:
    """Remove what writers that were killed have left. One that is at work elsewhere tries again."""
    for leftover in root.rglob(f"{TEMPORARY_PREFIX}blob-*"):
        leftover.unlink(missing_ok=True)


def _copy(source: Path, target: Path) -> None:
    with source.open("rb") as bytes_in, target.open("xb") as bytes_out:
        shutil.copyfileobj(bytes_in, bytes_out)
        bytes_out.flush()
        os.fchmod(bytes_out.fileno(), 0o444)
        os.fsync(bytes_out.fileno())


def _unavailable(error: OSError) -> BlobUnavailable:
    what = os.strerror(error.errno) if error.errno else errno.errorcode[errno.EIO]
    return BlobUnavailable(f"the folder of packages cannot be used: {what}")
