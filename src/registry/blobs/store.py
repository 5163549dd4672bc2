"""What a store of packages is, and the one way bytes get into it."""

import hashlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO, Protocol

CHUNK_BYTES = 64 * 1024


class BlobUnavailable(Exception):
    """The store does not do its work just now; the message says why, without credentials or places of ours."""


class BlobConflict(Exception):
    """The store holds other bytes under the key, or gives back others than it was given."""


class BlobMissing(Exception):
    """The store holds nothing under the key."""


class BlobReader(Protocol):
    """What gives the bytes of a blob."""

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes, none at the end."""
        ...


class BlobStore(Protocol):
    """Keeps immutable bytes under keys such as `skills/acme/pdf-1.0.0.zip`. Safe to use from several threads."""

    def put_new(self, key: str, source: Path) -> None:
        """Store the bytes of a file unless the key is taken, whole or not at all.

        Raises BlobConflict where the key is taken, whatever is stored there; BlobUnavailable.
        """
        ...

    def open(self, key: str) -> AbstractContextManager[BlobReader]:
        """Open what is stored for reading. Raises BlobMissing, BlobUnavailable, also while it is read."""
        ...

    def exists(self, key: str) -> bool:
        """Return whether anything is stored under the key. Raises BlobUnavailable."""
        ...

    def keys(self, prefix: str) -> Iterator[str]:
        """Yield the keys that begin with `prefix`, a folder such as `skills/`. Raises BlobUnavailable."""
        ...

    def remove(self, key: str) -> None:
        """Remove what is stored under the key, if anything is. Raises BlobUnavailable."""
        ...


def put_checked(store: BlobStore, key: str, source: Path) -> None:
    """Store the bytes of a file and read them back; the same bytes under the same key again change nothing.

    Raises BlobConflict where other bytes are, or then prove to be, stored; BlobUnavailable.
    """
    wanted = _sha256_of_file(source)
    try:
        if not store.exists(key):
            store.put_new(key, source)
    except BlobConflict:
        pass  # another process was quicker; whether with the same bytes is seen below
    try:
        with store.open(key) as stored:
            found = sha256(stored)
    except BlobMissing:
        raise BlobUnavailable("what was stored is not there") from None
    if found != wanted:
        raise BlobConflict(f"other bytes are stored as {key}")


def chunks(reader: BlobReader) -> Iterator[bytes]:
    """Yield the bytes of a blob."""
    while chunk := reader.read(CHUNK_BYTES):
        yield chunk


def sha256(reader: BlobReader) -> str:
    """Return the digest of a blob, in hexadecimal."""
    digest = hashlib.sha256()
    for chunk in chunks(reader):
        digest.update(chunk)
    return digest.hexdigest()


def _sha256_of_file(path: Path) -> str:
    file: BinaryIO
    with path.open("rb") as file:
        return sha256(file)
