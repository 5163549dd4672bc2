"""Reads what git asks for: `git-upload-pack` of smart HTTP, version 0 (gitprotocol-pack, *Packfile Negotiation*)."""

import itertools
import re
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from registry.errors import validation_error
from registry.protocols.git.pkt_lines import parse

MAX_BODY = 64 * 1024
"""The most bytes of a request, compressed or not: 1,300 commits that a client names."""

_WANT = re.compile(rb"want ([0-9a-f]{40})((?: [!-~]+)*) ?")
_OTHER_NEED = re.compile(rb"shallow [0-9a-f]{40}|deepen [0-9]{1,10}")
_HAVE = re.compile(rb"have [0-9a-f]{40}")
_GZIP_WINDOW = 16 + zlib.MAX_WBITS


class PackRequest(NamedTuple):
    """A request for a pack.

    `wants` are names of commits in hexadecimal. `deepens` says that the client asks which commits have no parents for
    it, `negotiates` that it names commits that it has, `is_done` that it wants the pack now.
    """

    wants: frozenset[str]
    deepens: bool
    side_band: bool
    negotiates: bool
    is_done: bool


def decompressed(body: bytes) -> bytes:
    """Return a body that was compressed with gzip. Raises VALIDATION_ERROR, also if it is larger than `MAX_BODY`."""
    unpacker = zlib.decompressobj(_GZIP_WINDOW)
    try:
        plain = unpacker.decompress(body, MAX_BODY + 1)
    except zlib.error:
        raise validation_error(message="The body is not compressed with gzip") from None
    if len(plain) > MAX_BODY:
        raise validation_error(message=f"The body is larger than {MAX_BODY:,} bytes")
    if not unpacker.eof or unpacker.unused_data:
        raise validation_error(message="The body is not compressed with gzip")
    return plain


def parse_request(body: bytes) -> PackRequest:
    """Return what a request asks for. Raises VALIDATION_ERROR."""
    lines = iter(parse(body))
    wants: set[str] = set()
    capabilities: set[bytes] = set()
    deepens = False
    for need in itertools.takewhile(lambda line: line is not None, lines):
        match = _WANT.fullmatch(need or b"")
        if match:
            wants.add(match[1].decode())
            capabilities.update(match[2].split())
        elif need and _OTHER_NEED.fullmatch(need):
            deepens = deepens or need.startswith(b"deepen")
        else:
            raise validation_error(message="This repository understands only 'want', 'shallow' and 'deepen'")
    rest = list(_haves(lines))
    return PackRequest(
        frozenset(wants), deepens, b"side-band-64k" in capabilities, negotiates=bool(rest), is_done=b"done" in rest
    )


def _haves(lines: Iterator[bytes | None]) -> Iterator[bytes | None]:
    for line in lines:
        if line is not None and line != b"done" and not _HAVE.fullmatch(line):
            raise validation_error(message="This repository understands only 'have' and 'done' here")
        yield line
