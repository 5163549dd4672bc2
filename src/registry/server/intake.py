"""How the bytes of a connection reach the parser: a little at a time, and not before they are wanted.

The parser cannot pause. It calls back for every request in the bytes that it is given, and 8,000 small requests fit
into one read of the event loop. So the event loop reads at most 16 KiB of a connection in one step, and the parser gets
these bytes in pieces that end where a head can end. Between two pieces the protocol may say that it wants no more for
now, or the parser may have called back too often for one step. Then the rest waits here, and nothing is read.
"""

import asyncio
from typing import Protocol, cast

from registry.server.lingering_transport import ReadingGate
from registry.server.turns import Turns

READ_BYTES = 16 << 10
"""The bytes that one step of the event loop reads of one connection."""

_PIECE_BYTES = 2 << 10
"""The longest piece. With chunks of one byte, it makes the parser call back 340 times."""

_WORK_OF_A_TURN = 128
"""Pieces and calls back of the parser, after which other connections come first."""

_END_OF_HEAD = b"\r\n\r\n"

_DROP_BYTES = 64
"""A read of fewer bytes that completes no message is a drop. Each costs as much as a read of 16 KiB."""

_FREE_DROPS = 16
"""Drops in a row that are read as they come: some devices send each line of a head on its own."""

_PAUSE_OF_A_DROP, _LONGEST_PAUSE = 0.005, 0.25
"""Seconds for which a connection is not read after each further drop, longer each time. The bytes add up meanwhile."""


class Consumer(Protocol):
    """The protocol of a connection as its intake sees it."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin. The intake has its gate already."""

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""

    def pause_writing(self) -> None:
        """Wait before more is sent."""

    def resume_writing(self) -> None:
        """Send again."""

    def wants_more(self) -> bool:
        """Return whether the next piece may be parsed now."""

    def is_over(self) -> bool:
        """Return whether whatever still comes is discarded."""

    def is_amid_message(self) -> bool:
        """Return whether the rest of a message is awaited."""

    def parse(self, piece: memoryview) -> int:
        """Parse some bytes, and return how often the parser has called back. They are valid during the call only."""

    def discard(self, count: int) -> None:
        """Count bytes that are discarded."""


class Intake(asyncio.BufferedProtocol):
    """Reads one connection into a buffer that all connections of the event loop share.

    What `buffer_updated` does not parse at once is copied, so the buffer is free again when it returns.
    """

    def __init__(self, consumer: Consumer, buffer: bytearray, turns: Turns, loop: asyncio.AbstractEventLoop) -> None:
        self._consumer = consumer
        self._buffer = buffer
        self._turns = turns
        self._loop = loop
        self._waiting = b""
        self._drops = 0
        self.gate: ReadingGate

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to read."""
        self.gate = ReadingGate(cast(asyncio.Transport, transport))
        self._consumer.connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget what waits."""
        self._waiting = b""
        self._consumer.connection_lost(exc)

    def eof_received(self) -> None:
        """Let the transport close: the caller has disconnected."""

    def pause_writing(self) -> None:
        """Pass on that the caller does not read."""
        self._consumer.pause_writing()

    def resume_writing(self) -> None:
        """Pass on that the caller reads again."""
        self._consumer.resume_writing()

    def get_buffer(self, sizehint: int) -> bytearray:
        """Return the buffer for the next read."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Parse what was read, as far as it is wanted."""
        if nbytes == len(self._buffer):
            # libuv would read up to 32 times in a row, and keep all other connections waiting.
            self.gate.pause("turn")
            self._loop.call_soon(self.gate.resume, "turn")
        parsed = self._parse(self._buffer, nbytes)
        if parsed < nbytes:
            self._waiting = bytes(memoryview(self._buffer)[parsed:nbytes])
            self.gate.pause("waiting")
        if nbytes >= _DROP_BYTES or not self._consumer.is_amid_message():
            self._drops = 0
            return
        self._drops += 1
        if self._drops > _FREE_DROPS:
            pause = min(_LONGEST_PAUSE, _PAUSE_OF_A_DROP * (self._drops - _FREE_DROPS))
            self.gate.pause("drop")
            self._loop.call_later(pause, self.gate.resume, "drop")

    def go_on(self) -> None:
        """Parse what waits, when it is this connection's turn. The consumer calls this when it may want more."""
        if self._waiting:
            self._turns.take(self._loop, self._parse_waiting)

    def _parse_waiting(self) -> None:
        waiting, self._waiting = self._waiting, b""
        parsed = self._parse(waiting, len(waiting))
        if parsed < len(waiting):
            self._waiting = waiting[parsed:]
        else:
            self.gate.resume("waiting")

    def _parse(self, data: bytes | bytearray, end: int) -> int:
        """Pass pieces to the parser while they are wanted, and return where the rest begins."""
        view = memoryview(data)
        start = work = 0
        while start < end:
            if self._consumer.is_over():
                self._consumer.discard(end - start)
                return end
            if not self._consumer.wants_more():
                break
            if work > _WORK_OF_A_TURN:
                self._turns.take(self._loop, self._parse_waiting)
                break
            end_of_head = data.find(_END_OF_HEAD, start, end)
            cut = min(end if end_of_head < 0 else end_of_head + len(_END_OF_HEAD), start + _PIECE_BYTES)
            work += 1 + self._consumer.parse(view[start:cut])
            start = cut
        return start
