"""`skill-registry mcp`: the Model Context Protocol over standard input and output."""

import sys
from typing import Any

import click

from registry.cli import command
from registry.cli.backend import CommandBackend
from registry.cli.help.settings_options import settings_options


@click.command()
@command.server_option
@settings_options(*command.SHARED_SETTINGS, "project.file", "server.read_only")
def mcp(server: str | None, **flags: Any) -> None:
    """Speak the Model Context Protocol on standard input. The answers are on standard output.

    An agent starts this command. It searches and reads the catalog of the data directory, or of the server that runs on
    it, or with --server those of a registry, with the login for it.
    """
    command.with_backend(flags, server, _speak, reads=True)


def _speak(backend: CommandBackend) -> None:
    """Answer each line until the input ends."""
    for line in sys.stdin.buffer:
        if line.strip() and (answer := backend.mcp(line)) is not None:
            sys.stdout.buffer.write(answer + b"\n")
            sys.stdout.buffer.flush()
