"""The packets of git's protocol: their length in four hexadecimal digits, then data (gitprotocol-common)."""

from dulwich.errors import GitProtocolError
from dulwich.protocol import PktLineParser, pkt_line

from registry.errors import RegistryError, validation_error

FLUSH = pkt_line(None)
MAX_DATA = 65_516 - 1
"""The most data of a packet after the number of its side-band."""

_LENGTH_DIGITS = 4
_MAX_LENGTH = 65_520
_PACK_BAND, _TEXT_BAND = b"\x01", b"\x02"


def line(text: str) -> bytes:
    """Return a packet with a line of text."""
    return pkt_line(f"{text}\n".encode())


def pack_part(data: bytes) -> bytes:
    """Return a packet with at most `MAX_DATA` bytes of a pack."""
    return pkt_line(_PACK_BAND + data)


def text_part(text: str) -> bytes:
    """Return a packet with a line of text, which git shows to the user as one of the remote."""
    return pkt_line(_TEXT_BAND + f"{' '.join(text.split())}\n".encode()[:MAX_DATA])


def refusal(message: str) -> bytes:
    """Return the packet that makes git end with this message."""
    return pkt_line(f"ERR {' '.join(message.split())}".encode()[: _MAX_LENGTH - _LENGTH_DIGITS])


def parse(body: bytes) -> list[bytes | None]:
    """Return the lines of a request without their ends, None for a flush. Raises VALIDATION_ERROR."""
    packets: list[bytes | None] = []
    parser = PktLineParser(packets.append)
    try:
        parser.parse(body)
    except GitProtocolError as error:
        raise _malformed(str(error)) from None
    if parser.get_tail():
        raise _malformed("its last packet is not complete")
    return [packet and packet.removesuffix(b"\n") for packet in packets]


def _malformed(reason: str) -> RegistryError:
    return validation_error(message=f"The request is not one of git's protocol, version 0: {reason}")
