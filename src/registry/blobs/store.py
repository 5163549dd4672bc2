"""The interface of a blob store, and the checked write to it."""

import datetime
import hashlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO, Protocol

CHUNK_BYTES = 64 * 1024


class BlobUnavailable(Exception):
    """The store cannot be used now; the message says why, without credentials or paths."""


class BlobConflict(Exception):
    """The key holds other bytes, or the bytes read back differ from those written."""


class BlobMissing(Exception):
    """The key does not exist."""


class BlobReader(Protocol):
    """Reads the bytes of a blob."""

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes; empty at the end."""
        ...


class BlobStore(Protocol):
    """Stores immutable blobs under keys such as `skills/acme/pdf-1.0.0.zip`. Safe to use from several threads."""

    def put_new(self, key: str, source: Path) -> None:
        """Store the bytes of a file under a new key, as a whole or not at all.

        Raises BlobConflict if the key exists, whatever its bytes; BlobUnavailable.
        """
        ...

    def open(self, key: str) -> AbstractContextManager[BlobReader]:
        """Open a blob for reading. Raises BlobMissing, and BlobUnavailable also during a read."""
        ...

    def exists(self, key: str) -> bool:
        """Return whether the key exists. Raises BlobUnavailable."""
        ...

    def stored_at(self, key: str) -> datetime.datetime:
        """Return when a blob was stored, in UTC. Raises BlobMissing, BlobUnavailable."""
        ...

    def keys(self, prefix: str) -> Iterator[str]:
        """Yield the keys that start with `prefix`, a folder such as `skills/`. Raises BlobUnavailable."""
        ...

    def remove(self, key: str) -> None:
        """Remove a blob, if the key exists. Raises BlobUnavailable."""
        ...


def put_checked(store: BlobStore, key: str, source: Path) -> None:
    """Store the bytes of a file and read them back. Storing the same bytes under the same key again changes nothing.

    Raises BlobConflict if other bytes were stored before; BlobUnavailable, also if the store changes what it is given:
    that blob is removed again, so that the next attempt starts anew.
    """
    expected = _sha256_of_file(source)
    is_new = False
    try:
        if not store.exists(key):
            store.put_new(key, source)
            is_new = True
    except BlobConflict:
        pass  # another process was first; the comparison below tells whether with the same bytes
    try:
        with store.open(key) as stored:
            actual = sha256(stored)
    except BlobMissing:
        raise BlobUnavailable(f"the store has lost {key}: it was written, but cannot be read back") from None
    if actual != expected and is_new:
        store.remove(key)
        raise BlobUnavailable(f"the store has changed {key}: other bytes are read back than were written")
    if actual != expected:
        raise BlobConflict(f"other bytes are stored as {key}")


def chunks(reader: BlobReader) -> Iterator[bytes]:
    """Yield the bytes of a blob in chunks."""
    while chunk := reader.read(CHUNK_BYTES):
        yield chunk


def sha256(reader: BlobReader) -> str:
    """Return the SHA-256 of a blob, in hexadecimal."""
    digest = hashlib.sha256()
    for chunk in chunks(reader):
        digest.update(chunk)
    return digest.hexdigest()


def _sha256_of_file(path: Path) -> str:
    file: BinaryIO
    with path.open("rb") as file:
        return sha256(file)
