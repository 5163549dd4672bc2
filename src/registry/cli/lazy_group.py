"""A click group that imports the module of a command when the command is used, and not before."""

import gc
import importlib
import keyword
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import click


class LazyCommand(NamedTuple):
    """Where a command is defined, and the line that `--help` of the group shows for it.

    The command is the attribute of the module with the command's name, with underscores for hyphens, and with one at
    the end if the name is a keyword of Python.
    """

    module: str
    help: str


class LazyGroup(click.Group):
    """A group of commands that are imported on use. Its own `--help` imports none of them.

    Args:
        lazy_commands: The commands by name.
        attributes: The arguments of `click.Group`.
    """

    def __init__(self, *, lazy_commands: Mapping[str, LazyCommand], **attributes: Any) -> None:
        super().__init__(**attributes)
        self.lazy_commands = lazy_commands

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands in alphabetical order."""
        return sorted(self.lazy_commands)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command, or return None for an unknown name."""
        if cmd_name not in self.lazy_commands:
            return None
        with _without_collection():
            module = importlib.import_module(self.lazy_commands[cmd_name].module)
        attribute = f"{cmd_name}_" if keyword.iskeyword(cmd_name) else cmd_name.replace("-", "_")
        command: click.Command = getattr(module, attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table of commands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.lazy_commands[name].help) for name in self.list_commands(ctx)])


@contextmanager
def _without_collection() -> Iterator[None]:
    """Pause the garbage collector, and exempt the objects of the block from it.

    Imported objects live until the process ends. Without this, the collector takes a fifth of a short command's time:
    it looks at all of them several times during the imports, and again at exit.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
