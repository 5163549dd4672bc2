"""Bytes that drip in are read together."""

import asyncio
import socket
import threading
import time

from registry.server.intake import READ_BYTES, Intake
from registry.server.turns import Turns


class Lines:
    """The consumer of a connection whose messages are lines."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.ended = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended.set()

    def pause_writing(self) -> None:
        """Nothing is written."""

    def resume_writing(self) -> None:
        """Nothing is written."""

    def wants_more(self) -> bool:
        return True

    def is_over(self) -> bool:
        return False

    def is_amid_message(self) -> bool:
        return not self.pieces[-1].endswith(b"\n")

    def parse(self, piece: memoryview) -> int:
        self.pieces.append(bytes(piece))
        return 1

    def discard(self, count: int) -> None:
        """Nothing is refused."""


def drip(port: int, pieces: list[bytes]) -> None:
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in pieces:
            client.sendall(piece)
            time.sleep(0.001)


async def received(pieces: list[bytes]) -> list[bytes]:
    """Send pieces, one a millisecond; return the pieces that the consumer of the connection gets."""
    loop, lines = asyncio.get_running_loop(), Lines()
    server = await loop.create_server(lambda: Intake(lines, bytearray(READ_BYTES), Turns(), loop), "127.0.0.1", 0)
    client = threading.Thread(target=drip, args=(server.sockets[0].getsockname()[1], pieces))
    client.start()
    await asyncio.wait_for(lines.ended.wait(), 60)
    client.join()
    server.close()
    return lines.pieces


def test_bytes_that_drip_in_are_read_together() -> None:
    pieces = asyncio.run(received([b"a"] * 400 + [b"\n"]))
    assert b"".join(pieces) == b"a" * 400 + b"\n"
    assert len(pieces) < 80
