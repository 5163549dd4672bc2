"""A click group that imports the module of a command when the command is used, and not before."""

import gc
import importlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from registry.cli.help.verbosity import add_verbosity

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class LazyCommand(NamedTuple):
    """Where a command is defined, the line that `--help` of the group shows for it, and the section of that line.

    The module has one command of that name.
    """

    module: str
    help: str
    section: str


Sections = Mapping[str, Sequence[tuple[str, str, str]]]
"""The commands of a group by section: the module below a package, the name and the summary of each."""


def lazy_commands(package: str, sections: Sections) -> dict[str, LazyCommand]:
    """Return the commands of a group by name, in the order of `sections`."""
    return {
        name: LazyCommand(f"{package}.{module}", summary, section)
        for section, commands in sections.items()
        for module, name, summary in commands
    }


_NONE: Mapping[str, str] = MappingProxyType({})


class LazyGroup(click.Group):
    """A group of commands that are imported on use. Its own `--help` imports none of them.

    Args:
        lazy_commands: The commands by name.
        former: The modules of commands that have another name or place now, by the name they had. No help lists them.
        meant: The commands by the names that other tools have for them, which are suggested and do nothing.
        meant_options: The same for options; an empty name is that of an option to leave out.
        attributes: The arguments of `click.Group`.
    """

    def __init__(
        self,
        *,
        lazy_commands: Mapping[str, LazyCommand],
        former: Mapping[str, str] = _NONE,
        meant: Mapping[str, str] = _NONE,
        meant_options: Mapping[str, str] = _NONE,
        **attributes: Any,
    ) -> None:
        super().__init__(**attributes)
        self._meant = meant
        self._meant_options = meant_options
        self.lazy_commands = lazy_commands
        self._modules = {**former, **{name: entry.module for name, entry in lazy_commands.items()}}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, section by section."""
        return list(self.lazy_commands)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command, or return None for an unknown name."""
        if cmd_name not in self._modules:
            return None
        with _without_collection():
            module = importlib.import_module(self._modules[cmd_name])
        commands = (value for value in vars(module).values() if isinstance(value, click.Command))
        command = next(command for command in commands if command.name == cmd_name)
        add_verbosity(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command of these arguments. Suggests a name for an unknown one, without importing any command."""
        name = args[0]
        if name in self._modules or name.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        from difflib import get_close_matches  # noqa: PLC0415 - only a mistake needs it

        close = [self._meant[name]] if name in self._meant else get_close_matches(name, self.lazy_commands, n=1)
        guess = "".join(f" Did you mean '{command}'?" for command in close)
        raise click.UsageError(f"No such command '{name}'.{guess}", ctx)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. Suggests the name here of an option that other tools have."""
        try:
            return super().invoke(ctx)
        except click.NoSuchOption as error:
            guess = self._guess(error)
            if guess is None:
                raise
            raise click.UsageError(f"No such option '{error.option_name}'. {guess}", error.ctx) from None

    def _guess(self, error: click.NoSuchOption) -> str | None:
        meant = self._meant_options.get(error.option_name)
        if meant == "":
            return "Leave it out: no command waits for a confirmation."
        has_it = error.ctx is not None and any(meant in option.opts for option in error.ctx.command.params)
        return f"Did you mean '{meant}'?" if has_it else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a table of commands for each section, all of the same widths."""
        width = max(map(len, self.lazy_commands))
        for section, commands in itertools.groupby(self.lazy_commands.items(), lambda item: item[1].section):
            with formatter.section(section):
                formatter.write_dl([(name.ljust(width), command.help) for name, command in commands])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Return the commands that begin with a text, without importing any, and the options of the group."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415 - only completion needs it

        names = (name for name in self.lazy_commands if name.startswith(incomplete))
        commands = [CompletionItem(name, help=self.lazy_commands[name].help) for name in names]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]


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
