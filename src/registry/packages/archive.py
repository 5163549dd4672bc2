"""A zip as a source of entries: everything it says twice is compared, and what it holds is inflated with care."""

import struct
import zlib
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from registry.packages.limits import PackageLimits
from registry.packages.refusal import malformed, unsafe
from registry.packages.tree import check_tree
from registry.packages.zip_records import STORED, STREAMED, Header, LocalHeader, read_directory, read_local

_CHUNK = 1024 * 1024


class _Member(NamedTuple):
    header: Header
    data: int


class Archive:
    """An archive whose records and names are in order. Its contents are checked as they are read."""

    def __init__(self, file: BinaryIO, limits: PackageLimits) -> None:
        """Check the archive without inflating anything. Raises PackageRefused."""
        self._file = file
        directory = read_directory(file, limits)
        check_tree((header.entry() for header in directory.headers), limits)
        _check_ratio(directory.headers, limits)
        self._members = dict(_members(file, directory.headers, directory.start))
        self.entries = [header.entry() for header in directory.headers]

    def chunks(self, name: str) -> Iterator[bytes]:
        """Yield the content of an entry: at most one byte more than the archive says is inflated.

        Raises PackageRefused where the data is damaged, longer or shorter than said, or of another checksum.
        """
        member = self._members[name]
        header, left, crc = member.header, member.header.size, 0
        for chunk in _content(self._file, member):
            left -= len(chunk)
            if left < 0:
                break
            crc = zlib.crc32(chunk, crc)
            yield chunk
        if left:
            raise unsafe("lying-size", "an entry's content is not of the size the archive says", name)
        if crc != header.crc:
            raise unsafe("checksum", "an entry's content does not have the checksum the archive says", name)


def _check_ratio(headers: list[Header], limits: PackageLimits) -> None:
    sizes = [(header.text, header.packed, header.size) for header in headers]
    sizes.append(("", sum(one[1] for one in sizes), sum(one[2] for one in sizes)))
    for name, packed, size in sizes:
        if size > limits.ratio_bytes and size > limits.ratio * packed:
            raise unsafe("ratio", f"more than {limits.ratio} times as much comes out as was packed", name or None)


def _members(file: BinaryIO, headers: list[Header], end: int) -> Iterator[tuple[str, _Member]]:
    """Yield where each entry's data is. The entries must follow each other from the first byte to `end`."""
    expected = 0
    ordered = sorted(headers, key=lambda header: header.start)
    ends = [*(header.start for header in ordered[1:]), end]
    for header, following in zip(ordered, ends, strict=False):  # without any entry there is still the end
        if header.start != expected:
            reason = "overlap" if header.start < expected else "have other bytes before or between them"
            raise unsafe("archive-overlap", f"entries {reason}", header.text)
        local = read_local(file, header, following)
        expected = local.data + header.packed
        if expected > following:
            raise unsafe("archive-overlap", "an entry reaches into the next one", header.text)
        _check_same(header, local)
        if header.flags & STREAMED:
            expected = _checked_descriptor(file, header, expected, following)
        yield header.text, _Member(header, local.data)
    if expected != end:
        raise unsafe("archive-gap", "there are other bytes between the entries and the central directory")


def _check_same(header: Header, local: LocalHeader) -> None:
    if (local.name, local.flags, local.method) != (header.name, header.flags, header.method):
        raise unsafe("archive-headers", "an entry has two different names, methods or flags", header.text)
    pairs = zip((local.crc, local.packed, local.size), (header.crc, header.packed, header.size), strict=True)
    later = (0,) if header.flags & STREAMED else ()
    if any(here != there and here not in later for here, there in pairs):
        raise unsafe("archive-headers", "an entry has two different sizes or checksums", header.text)


def _checked_descriptor(file: BinaryIO, header: Header, start: int, end: int) -> int:
    """Return where the record after a streamed entry's data ends; it may begin with a signature, or not."""
    file.seek(start)
    data = file.read(min(end - start, 16))
    record = struct.pack("<3L", header.crc, header.packed, header.size)
    for expected in (b"PK\7\x08" + record, record):
        if data[: len(expected)] == expected and end - start == len(expected):
            return end
    raise unsafe("lying-size", "what follows an entry's data tells of another size or checksum", header.text)


def _content(file: BinaryIO, member: _Member) -> Iterator[bytes]:
    """Yield the content, inflated where it is deflated, until one byte more than it should be."""
    file.seek(member.data)
    at, left = member.data, member.header.packed
    if member.header.method == STORED:
        while left and (chunk := _next(file, at, left)):
            at, left = at + len(chunk), left - len(chunk)
            yield chunk
        return
    inflater, pending, allowed = zlib.decompressobj(-zlib.MAX_WBITS), b"", member.header.size + 1
    while not inflater.eof and allowed:
        if not pending and left:
            pending = _next(file, at, left)
            at, left = at + len(pending), left - len(pending)
        try:
            chunk = inflater.decompress(pending, min(_CHUNK, allowed))
        except zlib.error:
            raise malformed("an entry's data is damaged", member.header.text) from None
        pending = inflater.unconsumed_tail
        allowed -= len(chunk)
        if chunk:
            yield chunk
        elif not pending and not left:
            break
    if allowed and (not inflater.eof or left or inflater.unused_data):
        raise unsafe("lying-size", "an entry's data ends before or after the archive says", member.header.text)


def _next(file: BinaryIO, at: int, left: int) -> bytes:
    file.seek(at)
    data = file.read(min(_CHUNK, left))
    if not data:
        raise malformed("the archive is cut short")
    return data
