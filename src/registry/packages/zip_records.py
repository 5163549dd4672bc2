"""Parses the records of a zip strictly (PKWARE APPNOTE 6.3.10): end record, central directory, local headers.

`zipfile` is not used for reading: it uses the last of two equal names, truncates names at NUL, does not detect overlaps
and accepts bytes before and after an archive. Zip64 is refused: no package within the limits needs it.
"""

import re
import struct
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from registry.packages.limits import PackageLimits
from registry.packages.refusal import PackageRefused, malformed, unsafe
from registry.packages.tree import PackageEntry, too_many_entries

STORED, DEFLATED = 0, 8
STREAMED = 0x0008
"""The flag of an entry with a data descriptor: sizes and checksum follow the data."""

_ENCRYPTED = 0x2041
"""The flags for encryption, strong encryption and masked headers."""
_UTF8 = 0x0800
"""The flag of a name in UTF-8."""

_ALLOWED_FLAGS = 0x0002 | 0x0004 | STREAMED | _UTF8
_FOLDER_ATTRIBUTE = 0x10
_SPECIAL_ATTRIBUTES = 0x08 | 0x40 | 0x400
"""The DOS and Windows attributes of a volume label, a device and a reparse point. `unzip` skips volume labels."""

_END = struct.Struct("<4s4H2LH")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")
_UNICODE_PATH, _ZIP64 = 0x7075, 0x0001
_EXTRAS = frozenset({0x000A, 0x5455, 0x5855, 0x7855, 0x7875, _UNICODE_PATH, 0xCAFE})
"""The extra fields that are allowed: times and owners (NTFS, Unix), a second spelling of the name, the mark of a jar.

Programs read modes and link targets from others, such as 0x6c78 and 0x756e.
"""

_OEM_SYSTEMS = frozenset({0, 6})
"""The systems, FAT and HPFS, for which programs convert the names of entries."""

_COMMIT = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
"""The comment that `git archive` writes, a commit id. No other comment is allowed."""


class Header(NamedTuple):
    """An entry of the central directory. `start` is the offset of its local header."""

    name: bytes
    flags: int
    method: int
    crc: int
    packed: int
    size: int
    start: int
    attributes: int

    @property
    def text(self) -> str:
        """The name, decoded as UTF-8 even without the UTF-8 flag. Invalid bytes become surrogates."""
        return self.name.decode("utf-8", "surrogateescape")

    def entry(self) -> PackageEntry:
        """Return the entry for `check_tree`."""
        return PackageEntry(self.text, self.attributes >> 16, self.size)


class LocalHeader(NamedTuple):
    """The local header of an entry. `data` is the offset of its data."""

    name: bytes
    flags: int
    method: int
    crc: int
    packed: int
    size: int
    data: int


class Directory(NamedTuple):
    """The central directory. `start` is its offset, at which the last entry ends."""

    headers: list[Header]
    start: int


def read_directory(file: BinaryIO, limits: PackageLimits) -> Directory:
    """Return the central directory. Checks the number of entries before it reads them. Raises PackageRefused."""
    size = file.seek(0, 2)
    if size > limits.archive_bytes:
        raise unsafe("archive-too-large", f"the archive is larger than {limits.archive_bytes:,} bytes")
    end, (_, disk, first_disk, here, count, length, start, _) = _end_record(file, size)
    if disk or first_disk or here != count:
        raise unsafe("archive-headers", "the archive is part of a multi-part archive")
    if 0xFFFF in (here, count) or 0xFFFFFFFF in (length, start):
        raise _zip64()
    if count > limits.entries:
        raise too_many_entries(limits)
    if start + length != end:
        raise unsafe("archive-gap", "the central directory does not end where the end record begins")
    data = _read_at(file, start, length)
    headers = list(_headers(data))
    if len(headers) != count:
        raise unsafe("archive-headers", f"the archive declares {count} entries and has {len(headers)}")
    if len({header.flags & _UTF8 for header in headers if not header.name.isascii()}) > 1:
        raise unsafe("archive-headers", "the encoding of some names is declared, and that of others is not")
    return Directory(headers, start)


def _end_record(file: BinaryIO, size: int) -> tuple[int, tuple[bytes, int, int, int, int, int, int, int]]:
    """Return the offset and the fields of the end record, which must be at the end of the file."""
    for comment in (0, 40, 64):
        at = size - _END.size - comment
        if at < 0:
            break
        data = _read_at(file, at, _END.size + comment)
        values = _END.unpack_from(data)
        if values[0] == b"PK\5\6" and values[7] == comment:
            if comment and not _COMMIT.fullmatch(data[_END.size :]):
                break
            return at, values
    head = _read_at(file, 0, min(size, 4))
    if head in (b"PK\3\4", b"PK\5\6"):
        raise unsafe("archive-trailing", "the archive is truncated, or has a comment or other bytes after its end")
    raise malformed("the file is not a zip archive, or has bytes before it")


def _headers(data: bytes) -> Iterator[Header]:
    at = 0
    while at < len(data):
        if len(data) - at < _CENTRAL.size or data[at : at + 4] != b"PK\1\2":
            raise malformed("the central directory is damaged")
        fields = _CENTRAL.unpack_from(data, at)
        made_by, flags, method, crc, packed, size = fields[1], fields[3], fields[4], *fields[7:10]
        name_length, extra_length, comment_length, disk, _, attributes, start = fields[10:]
        at += _CENTRAL.size
        name, extra = data[at : at + name_length], data[at + name_length : at + name_length + extra_length]
        at += name_length + extra_length + comment_length
        header = Header(name, flags, method, crc, packed, size, start, attributes)
        if at > len(data):
            raise malformed("the central directory is damaged")
        if comment_length or disk:
            raise unsafe("archive-headers", "an entry has a comment or is in another part of the archive", header.text)
        _check_header(header)
        has_unicode_path = check_extra(extra, header)
        if made_by >> 8 in _OEM_SYSTEMS and not (name.isascii() or flags & _UTF8 or has_unicode_path):
            raise unsafe("archive-headers", "the encoding of a name is not declared, and it is not ASCII", header.text)
        yield header


def _check_header(header: Header) -> None:
    if header.flags & _ENCRYPTED:
        raise unsafe("encrypted", "an entry is encrypted", header.text)
    if header.method not in (STORED, DEFLATED):
        raise unsafe("compression-method", "an entry is neither stored nor deflated", header.text)
    if header.flags & ~_ALLOWED_FLAGS:
        raise unsafe("archive-headers", "an entry has flags that packages do not use", header.text)
    if 0xFFFFFFFF in (header.packed, header.size, header.start):
        raise _zip64(header.text)
    if header.method == STORED and header.packed != header.size:
        raise unsafe("lying-size", "a stored entry has two different sizes", header.text)
    if header.attributes & _FOLDER_ATTRIBUTE and not header.name.endswith(b"/"):
        raise unsafe("kind-mismatch", "the name and the attributes disagree whether the entry is a folder", header.text)
    if header.attributes & _SPECIAL_ATTRIBUTES:
        raise unsafe("special-file", "the entry is a volume label, a device or a reparse point", header.text)


def read_local(file: BinaryIO, header: Header, end: int) -> LocalHeader:
    """Return the local header of an entry, which must end before `end`. Raises PackageRefused."""
    if header.start + _LOCAL.size > end:
        raise unsafe("archive-overlap", "an entry overlaps the next one or the central directory", header.text)
    fields = _LOCAL.unpack(_read_at(file, header.start, _LOCAL.size))
    if fields[0] != b"PK\3\4":
        raise unsafe("archive-headers", "there is no entry at the offset in the central directory", header.text)
    flags, method, (crc, packed, size) = fields[2], fields[3], fields[6:9]
    name_length, extra_length = fields[9:]
    names = header.start + _LOCAL.size
    if names + name_length + extra_length > end:
        raise unsafe("archive-overlap", "an entry overlaps the next one or the central directory", header.text)
    rest = _read_at(file, names, name_length + extra_length)
    check_extra(rest[name_length:], header)
    return LocalHeader(rest[:name_length], flags, method, crc, packed, size, names + name_length + extra_length)


def check_extra(extra: bytes, header: Header) -> bool:
    """Check extra fields and return whether they contain the name again, in UTF-8.

    Raises PackageRefused if they are damaged, contain another name, use zip64 or are not allowed.
    """
    at, has_name = 0, False
    while at < len(extra):
        if len(extra) - at < 4:
            raise malformed("an extra field is damaged", header.text)
        kind, length = struct.unpack_from("<2H", extra, at)
        value = extra[at + 4 : at + 4 + length]
        at += 4 + length
        if at > len(extra):
            raise malformed("an extra field is damaged", header.text)
        if kind == _ZIP64:
            raise unsafe("archive-zip64", "an entry uses zip64, which no package within the limits needs", header.text)
        if kind not in _EXTRAS:
            raise unsafe("archive-headers", "an entry has an extra field that packages do not use", header.text)
        if kind == _UNICODE_PATH:
            if has_name or value[5:] != header.name:
                raise unsafe("archive-headers", "an entry has a second name in an extra field", header.text)
            has_name = True
    return has_name


def _zip64(name: str | None = None) -> PackageRefused:
    return unsafe("archive-zip64", "the archive uses zip64, which no package within the limits needs", name)


def _read_at(file: BinaryIO, start: int, length: int) -> bytes:
    file.seek(start)
    data = file.read(length)
    if len(data) != length:
        raise malformed("the archive is truncated")
    return data
