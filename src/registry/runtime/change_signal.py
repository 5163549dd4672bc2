"""Lets requests wait for a change without holding a thread."""

import asyncio


class ChangeSignal:
    """Wakes the coroutines of one event loop that wait for a change.

    Args:
        capacity: The number of coroutines that may wait at once. Others do not wait.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._waiting = 0
        self._is_closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._next_change = asyncio.Event()

    def next_change(self) -> asyncio.Event:
        """Return the event that the next `notify` sets. Call it in the event loop, before reading what may change."""
        self._loop = asyncio.get_running_loop()
        return self._next_change

    def notify(self) -> None:
        """Wake all that wait, from any thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._wake)

    def close(self) -> None:
        """Wake all that wait, and let no caller wait any more. Call it in the event loop."""
        self._is_closed = True
        self._wake()

    def _wake(self) -> None:
        self._next_change.set()
        self._next_change = asyncio.Event()

    async def wait(self, change: asyncio.Event, seconds: float) -> bool:
        """Wait at most `seconds` for a change; return whether there may be one.

        Returns false at once if this is closed, or if too many wait already.
        """
        if self._is_closed or self._waiting >= self._capacity:
            return False
        self._waiting += 1
        try:
            await asyncio.wait_for(change.wait(), seconds)
        except TimeoutError:
            return False
        finally:
            self._waiting -= 1
        return not self._is_closed
