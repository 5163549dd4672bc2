"""`skill-registry mcp`: the Model Context Protocol over standard input and output."""

import sys
import threading
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

import click

from registry.cli import command
from registry.cli.backend import CommandBackend, Needs
from registry.cli.help.settings_options import settings_options

_IDLE_SECONDS = 0.2
"""How often a process without messages looks whether another one wants the data directory."""


@click.command()
@command.server_option
@settings_options(*command.SHARED_SETTINGS, "project.file", "server.read_only")
def mcp(server: str | None, **flags: Any) -> None:
    """Speak the Model Context Protocol on standard input. The answers are on standard output.

    An agent starts this command. It searches and reads the catalog of the data directory, or of the server that runs on
    it, or with --server those of a registry, with the login for it. The first start creates the catalog. Other agents,
    commands and a server can use the data directory too: while there is nothing to answer, this command lets go of it.
    """
    messages = _Messages()
    while not messages.has_ended:
        answering = partial(_answer, messages)
        command.with_backend(dict(flags), server, answering, Needs(creates=True, watches=True), reads=True)
        messages.wait()


class _Messages:
    """The lines of standard input, which a thread reads."""

    def __init__(self) -> None:
        self._lines: SimpleQueue[bytes] = SimpleQueue()
        self._next: bytes | None = None
        self.has_ended = False
        threading.Thread(target=self._read, name="standard input", daemon=True).start()

    def _read(self) -> None:
        for line in sys.stdin.buffer:
            if line.strip():
                self._lines.put(line)
        self._lines.put(b"")

    def wait(self, seconds: float | None = None) -> None:
        """Wait for the next line, or the end of the input, but not longer than `seconds`."""
        if self._next is None and not self.has_ended:
            try:
                self._next = self._lines.get(timeout=seconds)
            except Empty:
                return
            self.has_ended = not self._next

    def take(self) -> bytes | None:
        """Return the line that was waited for, if there is one."""
        line, self._next = self._next, None
        return line or None


def _answer(messages: _Messages, backend: CommandBackend) -> None:
    """Answer each line until the input ends, or while none waits, until the catalog may close."""
    while not messages.has_ended:
        messages.wait(_IDLE_SECONDS)
        if (line := messages.take()) is not None:
            if (answer := backend.mcp(line)) is not None:
                sys.stdout.buffer.write(answer + b"\n")
                sys.stdout.buffer.flush()
        elif backend.may_close():
            return
