"""Pack files (gitformat-pack, version 2) of whole objects, in temporary files that have no name."""

import hashlib
import os
import struct
import tempfile
import weakref
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, Self

from dulwich.object_format import SHA1
from dulwich.objects import ShaFile
from dulwich.pack import pack_header_chunks, pack_object_chunks

from registry.errors import conflict

LARGEST_BYTES = 1 << 30

_HEADER_BYTES = 12
_PLACE = struct.Struct(">20s8s")
_SPAN = struct.Struct(">II")
"""Where a pack has an object: the offset and length in bytes of its entry. A marketplace has tens of thousands."""

_READ_BYTES = 1 << 16


class Pack:
    """A finished pack, which any number of threads may read. Its file is closed, and gone, when no caller has the pack.

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
        self._file.write(bytes(_HEADER_BYTES))
        self._spans: dict[bytes, bytes] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._undo.close()

    def add(self, objects: Iterable[ShaFile]) -> bytes:
        """Write objects, and return their digests with the places that they have, for `copy`. Raises CONFLICT."""
        places = []
        for item in objects:
            digest = item.sha().digest()
            places.append(_PLACE.pack(digest, self._spans.get(digest) or self._write(digest, _entry(item))))
        return b"".join(places)

    def copy(self, former: Pack, places: bytes) -> bytes:
        """Write objects of a former pack, given what `add` or `copy` has returned for them; return the same of this.

        Raises CONFLICT.
        """
        copied = []
        for digest, span in _PLACE.iter_unpack(places):
            offset, length = _SPAN.unpack(span)
            place = self._spans.get(digest)
            copied.append(_PLACE.pack(digest, place or self._write(digest, former.read(offset, length))))
        return b"".join(copied)

    def finish(self) -> Pack:
        """Write the number of objects and the checksum, and return the pack."""
        self._file.seek(0)
        self._file.writelines(pack_header_chunks(len(self._spans)))
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


def _entry(item: ShaFile) -> bytes:
    """Return the entry of an object in a pack: its kind and size, and its deflated data."""
    return b"".join(pack_object_chunks(item.type_num, item.as_raw_chunks(), object_format=SHA1))
