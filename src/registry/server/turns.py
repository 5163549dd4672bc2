"""Turns of connections: work that could wait, so that others are answered first.

Hundreds of connections may each have requests that wait behind one another. If all of them went on in each step of the
event loop, a caller with a single request would wait for hundreds of others several times: when it connects, when its
request is read, when it is answered.
"""

import asyncio
from collections import deque
from collections.abc import Callable

_TURNS_OF_A_STEP = 4


class Turns:
    """Calls functions in order, a few in each step of the event loop."""

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()

    def take(self, loop: asyncio.AbstractEventLoop, work: Callable[[], None]) -> None:
        """Call `work` in a later step of the event loop."""
        if not self._waiting:
            loop.call_soon(self._step, loop)
        self._waiting.append(work)

    def _step(self, loop: asyncio.AbstractEventLoop) -> None:
        for _ in range(min(_TURNS_OF_A_STEP, len(self._waiting))):
            loop.call_soon(self._waiting.popleft())  # on its own, so that an error of one does not end the others
        if self._waiting:
            loop.call_soon(self._step, loop)
