"""`-q` and `-v`: whether a command prints notes and progress, and whether it says what it does."""

import logging
from collections.abc import Callable

import click

Switched = Callable[[click.Context, click.Parameter, bool], None]
"""What takes the value of a switch."""

_QUIET = "skill-registry.quiet"
"""Where the context of a command line keeps that notes are not wanted."""


def is_quiet() -> bool:
    """Return whether the command that runs prints only results, warnings and failures."""
    context = click.get_current_context(silent=True)
    return context is not None and context.meta.get(_QUIET, False) is True


def add_verbosity(command: click.Command) -> None:
    """Give a command `-q` and `-v`, or the commands of a group. A command that logs for itself has neither."""
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            add_verbosity(inner)
    elif command.name not in ("serve", "mcp") and not any("-q" in option.opts for option in command.params):
        command.params += [
            _switch("-q", "--quiet", _be_quiet, "Print no notes and no progress: only results, warnings and failures."),
            _switch("-v", "--verbose", _log, "Also say what is done, and each request, on standard error."),
        ]


def _switch(short: str, long: str, then: Switched, about: str) -> click.Option:
    return click.Option([short, long], is_flag=True, expose_value=False, callback=then, help=about)


def _be_quiet(context: click.Context, _: click.Parameter, is_wanted: bool) -> None:
    if is_wanted:
        context.meta[_QUIET] = True


def _log(_context: click.Context, _: click.Parameter, is_wanted: bool) -> None:
    root = logging.getLogger()
    if is_wanted and not any(isinstance(handler, _Lines) for handler in root.handlers):
        root.addHandler(_Lines())
        for name in ("registry", "search", "embeddings", "httpx"):
            logging.getLogger(name).setLevel(logging.INFO)


class _Lines(logging.Handler):
    """Prints each record as one line of the command."""

    def emit(self, record: logging.LogRecord) -> None:
        from registry.cli.console import tell  # noqa: PLC0415 - loads the tables
        from registry.domain.addresses import redact_text  # noqa: PLC0415 - loads the HTTP library

        tell(redact_text(" ".join(record.getMessage().split())))
