"""Pack files (gitformat-pack, version 2) of whole objects, in temporary files that have no name."""

import hashlib
import os
import struct
import tempfile
import weakref
import zlib
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, Self

from registry.errors import conflict
from registry.protocols.git.objects import KIND_NUMBERS, GitObject

LARGEST_BYTES = 1 << 30

_HEADER = struct.Struct(">4sII")
_VERSION = 2
_PLACE = struct.Struct(">20s8s")
_SPAN = struct.Struct(">II")
"""Where a pack has an object: the offset and length in bytes of its entry. A marketplace has tens of thousands."""

_READ_BYTES = 1 << 16


class Pack:
    """A finished pack, which any number of threads may read. Its file is closed, and gone, when nobody has the pack.

    `size` is in bytes.
    """

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self.size = size
        weakref.finalize(self, file.close)

    def read(self, offset: int, length: int) -> bytes:
        """Return bytes of the pack, fewer at its end. Raises OSError."""
        return os.pread(self._file.fileno(), length, offset)


class PackWriter:
    """Writes a pack into a temporary file in `folder`. An object that comes twice is written once. Raises OSError.

    It is a context, whose end closes the file of a pack that was not finished.
    """

    def __init__(self, folder: Path) -> None:
        self._undo = ExitStack()
        self._file: BinaryIO = self._undo.enter_context(tempfile.TemporaryFile(dir=folder))  # noqa: SIM115
        self._file.write(bytes(_HEADER.size))
        self._spans: dict[bytes, bytes] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._undo.close()

    def add(self, objects: Iterable[GitObject]) -> bytes:
        """Write objects, and return their digests with the places that they have, for `copy`. Raises CONFLICT."""
        return b"".join(
            _PLACE.pack(made.digest, self._spans.get(made.digest) or self._write(made.digest, _entry(made)))
            for made in objects
        )

    def copy(self, former: Pack, places: bytes) -> bytes:
        """Write objects of a former pack, given what `add` or `copy` has returned for them; return the same of this.

        Raises CONFLICT.
        """
        copied = []
        for digest, span in _PLACE.iter_unpack(places):
            offset, length = _SPAN.unpack(span)
            known = self._spans.get(digest)
            copied.append(_PLACE.pack(digest, known or self._write(digest, former.read(offset, length))))
        return b"".join(copied)

    def finish(self) -> Pack:
        """Write the number of objects and the checksum, and return the pack."""
        self._file.seek(0)
        self._file.write(_HEADER.pack(b"PACK", _VERSION, len(self._spans)))
        self._file.seek(0)
        checksum = hashlib.sha1(usedforsecurity=False)
        while part := self._file.read(_READ_BYTES):
            checksum.update(part)
        self._file.write(checksum.digest())
        self._file.flush()
        self._undo.pop_all()
        return Pack(self._file, self._file.tell())

    def _write(self, digest: bytes, entry: bytes) -> bytes:
        offset = self._file.tell()
        if offset + len(entry) > LARGEST_BYTES:
            raise conflict(f"The repository is larger than {LARGEST_BYTES:,} bytes: clone a scope or single skills")
        self._file.write(entry)
        span = self._spans[digest] = _SPAN.pack(offset, len(entry))
        return span


def _entry(made: GitObject) -> bytes:
    """Return the entry of an object: its kind and size in groups of 4 and then 7 bits, and its deflated data."""
    size = len(made.data)
    head = bytearray([KIND_NUMBERS[made.kind] << 4 | size & 15])
    size >>= 4
    while size:
        head[-1] |= 0x80
        head.append(size & 0x7F)
        size >>= 7
    return bytes(head) + zlib.compress(made.data)
