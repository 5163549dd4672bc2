"""Reads the entries of a zip. Checks redundant records against each other and bounds the inflated size."""

import struct
import zlib
from collections.abc import Callable, Iterator
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
    """An archive with valid records and names. Contents are checked while they are read."""

    def __init__(
        self, file: BinaryIO, limits: PackageLimits, leaves_out: Callable[[str], bool] = lambda path: False
    ) -> None:
        """Check the archive without inflating anything. `leaves_out` tells which entries it is read without.

        Raises PackageRefused.
        """
        self._file = file
        directory = read_directory(file, limits)
        entries = [header.entry() for header in directory.headers]
        self.entries = [entry for entry in entries if not leaves_out(entry.name)]
        check_tree(self.entries, limits)
        _check_ratio(directory.headers, limits)
        self._members = dict(_members(file, directory.headers, directory.start))

    def chunks(self, name: str) -> Iterator[bytes]:
        """Yield the content of an entry. At most one byte more than the declared size is inflated.

        Raises PackageRefused if the data is damaged, or its size or checksum differs from the declared one.
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
            raise unsafe("lying-size", "the content of an entry does not have the declared size", name)
        if crc != header.crc:
            raise unsafe("checksum", "the content of an entry does not have the declared checksum", name)


def _check_ratio(headers: list[Header], limits: PackageLimits) -> None:
    sizes = [(header.text, header.packed, header.size) for header in headers]
    sizes.append(("", sum(packed for _, packed, _ in sizes), sum(size for *_, size in sizes)))
    for name, packed, size in sizes:
        if size > limits.ratio_bytes and size > limits.ratio * packed:
            raise unsafe(
                "ratio", f"the uncompressed size is more than {limits.ratio} times the compressed size", name or None
            )


def _members(file: BinaryIO, headers: list[Header], end: int) -> Iterator[tuple[str, _Member]]:
    """Yield the data offset of each entry. The entries must be contiguous from the first byte to `end`."""
    expected = 0
    ordered = sorted(headers, key=lambda header: header.start)
    ends = [*(header.start for header in ordered[1:]), end]
    for header, following in zip(ordered, ends, strict=False):  # `ends` has one item more if there are no entries
        if header.start != expected:
            reason = "overlap" if header.start < expected else "have unexpected bytes before or between them"
            raise unsafe("archive-overlap", f"entries {reason}", header.text)
        local = read_local(file, header, following)
        expected = local.data + header.packed
        if expected > following:
            raise unsafe("archive-overlap", "an entry overlaps the next one", header.text)
        _check_same(header, local)
        if header.flags & STREAMED:
            expected = _checked_descriptor(file, header, expected, following)
        yield header.text, _Member(header, local.data)
    if expected != end:
        raise unsafe("archive-gap", "there are unexpected bytes between the entries and the central directory")


def _check_same(header: Header, local: LocalHeader) -> None:
    if (local.name, local.flags, local.method) != (header.name, header.flags, header.method):
        raise unsafe("archive-headers", "the headers of an entry have different names, methods or flags", header.text)
    pairs = zip((local.crc, local.packed, local.size), (header.crc, header.packed, header.size), strict=True)
    deferred = (0,) if header.flags & STREAMED else ()
    if any(here != there and here not in deferred for here, there in pairs):
        raise unsafe("archive-headers", "the headers of an entry have different sizes or checksums", header.text)


def _checked_descriptor(file: BinaryIO, header: Header, start: int, end: int) -> int:
    """Return the end of the data descriptor of a streamed entry. Its signature is optional."""
    file.seek(start)
    data = file.read(min(end - start, 16))
    record = struct.pack("<3L", header.crc, header.packed, header.size)
    for expected in (b"PK\7\x08" + record, record):
        if data[: len(expected)] == expected and end - start == len(expected):
            return end
    raise unsafe("lying-size", "the data descriptor of an entry has another size or checksum", header.text)


def _content(file: BinaryIO, member: _Member) -> Iterator[bytes]:
    """Yield the content, inflated if it is deflated, at most one byte more than the declared size."""
    file.seek(member.data)
    at, left = member.data, member.header.packed
    if member.header.method == STORED:
        while left and (chunk := _read_chunk(file, at, left)):
            at, left = at + len(chunk), left - len(chunk)
            yield chunk
        return
    inflater, pending, allowed = zlib.decompressobj(-zlib.MAX_WBITS), b"", member.header.size + 1
    while not inflater.eof and allowed:
        if not pending and left:
            pending = _read_chunk(file, at, left)
            at, left = at + len(pending), left - len(pending)
        try:
            chunk = inflater.decompress(pending, min(_CHUNK, allowed))
        except zlib.error:
            raise malformed("the data of an entry is damaged", member.header.text) from None
        pending = inflater.unconsumed_tail
        allowed -= len(chunk)
        if chunk:
            yield chunk
        elif not pending and not left:
            break
    if allowed and (not inflater.eof or left or inflater.unused_data):
        raise unsafe("lying-size", "the data of an entry does not have the declared size", member.header.text)


def _read_chunk(file: BinaryIO, at: int, left: int) -> bytes:
    file.seek(at)
    data = file.read(min(_CHUNK, left))
    if not data:
        raise malformed("the archive is truncated")
    return data
