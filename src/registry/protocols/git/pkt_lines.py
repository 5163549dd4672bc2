"""The packets of git's protocol: their length in four hexadecimal digits, then data (gitprotocol-common)."""

from collections.abc import Iterator

from registry.errors import RegistryError, validation_error

FLUSH = b"0000"
MAX_DATA = 65_516 - 1
"""The most data of a packet after the number of its side-band."""

_LENGTH_DIGITS = 4
_MAX_LENGTH = 65_520
_DIGITS = frozenset(b"0123456789abcdefABCDEF")
_PACK_BAND, _TEXT_BAND = b"\x01", b"\x02"


def line(text: str) -> bytes:
    """Return a packet with a line of text."""
    return _packet(f"{text}\n".encode())


def pack_part(data: bytes) -> bytes:
    """Return a packet with at most `MAX_DATA` bytes of a pack."""
    return _packet(_PACK_BAND + data)


def text_part(text: str) -> bytes:
    """Return a packet with a line of text, which git shows to the user as one of the remote."""
    return _packet(_TEXT_BAND + f"{' '.join(text.split())}\n".encode()[:MAX_DATA])


def refusal(message: str) -> bytes:
    """Return the packet that makes git end with this message."""
    return _packet(f"ERR {' '.join(message.split())}".encode()[: _MAX_LENGTH - _LENGTH_DIGITS])


def _packet(data: bytes) -> bytes:
    return b"%04x%s" % (len(data) + _LENGTH_DIGITS, data)


def parse(body: bytes) -> Iterator[bytes | None]:
    """Yield the lines of a request without their ends, None for a flush. Raises VALIDATION_ERROR."""
    position = 0
    while position < len(body):
        digits = body[position : position + _LENGTH_DIGITS]
        if len(digits) < _LENGTH_DIGITS or not _DIGITS.issuperset(digits):
            raise _malformed("a packet has no length")
        length = int(digits, 16)
        if length == 0:
            yield None
            position += _LENGTH_DIGITS
            continue
        if not _LENGTH_DIGITS <= length <= min(_MAX_LENGTH, len(body) - position):
            raise _malformed("a packet has a wrong length")
        yield body[position + _LENGTH_DIGITS : position + length].removesuffix(b"\n")
        position += length


def _malformed(reason: str) -> RegistryError:
    return validation_error(message=f"The request is not one of git's protocol, version 0: {reason}")
