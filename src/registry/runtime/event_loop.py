"""Keeps calls that may wait off the event loop: a debug mode refuses them there.

A call on the event loop that waits for a database keeps every other request waiting too, the probes included. The debug
mode (`server.debug`, on in the tests) finds such calls while the database is quick.
"""

import asyncio
import threading


class CallOnEventLoop(RuntimeError):
    """A call that may wait was made on the event loop. This is an internal error."""


class _FileAllowed(threading.local):
    """How many blocks of this thread allow it to read a database file on its event loop just now."""

    blocks = 0

    def __enter__(self) -> None:
        self.blocks += 1

    def __exit__(self, *error: object) -> None:
        self.blocks -= 1


database_file_allowed = _FileAllowed()
"""Allows a block to read a database file on the event loop: some rows of a file take microseconds."""

_refuses = threading.Event()


def refuse_waiting() -> None:
    """Raise CallOnEventLoop from now on, in this process, for each call that may wait on the event loop."""
    _refuses.set()


def check_call(what: str, *, is_file: bool) -> None:
    """Raise CallOnEventLoop in the debug mode if this thread runs an event loop; `is_file` calls may be allowed."""
    if not _refuses.is_set() or (is_file and database_file_allowed.blocks):
        return
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise CallOnEventLoop(f"{what} was called on the event loop: run it in a thread of registry.http.thread_pools")
