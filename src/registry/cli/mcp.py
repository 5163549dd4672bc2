"""`skill-registry mcp`: the Model Context Protocol over standard input and output."""

import os
import threading
import time
from queue import Empty, SimpleQueue
from typing import Any

import click

from registry.cli import command
from registry.cli.backend import CommandBackend, CommandFailed, Needs
from registry.cli.help.settings_options import settings_options
from registry.protocols.mcp.messages import failure

_LOOK_SECONDS = 0.2
"""How often to look whether another process wants the data directory, and how long to leave it to that one."""

_INPUT, _OUTPUT = 0, 1
_BLOCK = 1 << 16


@click.command()
@command.server_option
@settings_options(*command.SHARED_SETTINGS, "project.file", "server.read_only")
def mcp(server: str | None, **flags: Any) -> None:
    """Speak the Model Context Protocol on standard input. The answers are on standard output.

    An agent starts this command. It searches and reads the catalog of the data directory, or of the server that runs on
    it, or with --server those of a registry, with the login for it. The first start creates the catalog. Other agents,
    commands and a server can use the data directory too: this command lets go of it when one of them waits for it.
    """
    settings = command.load(dict(flags))
    try:
        server = command.catalog_server(settings, server, flags)
    except (CommandFailed, OSError) as error:
        command.stop(error)
    messages = _Messages()
    was_open = False
    while not messages.has_ended:
        try:
            with command.open_backend(settings, server, (), Needs(creates=True, watches=True)) as backend:
                was_open = True
                _answer(messages, backend)
        except (CommandFailed, OSError) as error:
            if not was_open:
                command.stop(error)
            _refuse(messages, error)
        if not messages.has_ended:
            time.sleep(_LOOK_SECONDS)
            messages.wait()


class _Messages:
    """The lines of standard input, which a thread reads."""

    def __init__(self) -> None:
        self._lines: SimpleQueue[bytes] = SimpleQueue()
        self._next: bytes | None = None
        self.has_ended = False
        threading.Thread(target=self._read, name="standard input", daemon=True).start()

    def _read(self) -> None:
        """Put each line, and an empty one at the end. `sys.stdin` has a lock, without which Python could not exit."""
        rest: list[bytes] = []
        try:
            while block := os.read(_INPUT, _BLOCK):
                first, *others = block.split(b"\n")
                rest.append(first)
                for start in others:
                    self._put(b"".join(rest))
                    rest = [start]
            self._put(b"".join(rest))
        except OSError:  # it is closed: there are no lines
            pass
        finally:
            self._lines.put(b"")

    def _put(self, line: bytes) -> None:
        if line.strip():
            self._lines.put(line)

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
    """Answer each line until the input ends, or until the catalog may close."""
    looked = time.monotonic()
    while not messages.has_ended:
        messages.wait(_LOOK_SECONDS)
        if (line := messages.take()) is not None:
            _write(backend.mcp(line))
        if time.monotonic() - looked > _LOOK_SECONDS:
            if backend.may_close():
                return
            looked = time.monotonic()


def _refuse(messages: _Messages, error: Exception) -> None:
    """Answer the line that waits with the reason why the catalog could not be opened."""
    messages.wait(0)
    if (line := messages.take()) is not None:
        _write(failure(line, error))


def _write(answer: bytes | None) -> None:
    """Write an answer. Exits if the agent has gone and does not read it."""
    if answer is None:
        return
    rest = memoryview(answer + b"\n")  # not by sys.stdout, which would write what is left again at the exit
    try:
        while rest:
            rest = rest[os.write(_OUTPUT, rest) :]
    except OSError as error:
        command.stop(f"the output cannot be written: {error.strerror}")
