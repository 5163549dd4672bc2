"""What the commands share: flags for settings, reaching a catalog, and stopping with one line."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeVar, cast

import click

from embeddings import EmbeddingUnavailable
from registry.cli.backend import CommandFailed
from registry.cli.client import open_backend
from registry.config.settings import SETTINGS, Setting, Settings, SettingsError, load_settings
from registry.db import DatabaseUnusable

FAILED, WRONG_USE, NOTHING_FOUND = 1, 2, 3

_Command = TypeVar("_Command", bound=Callable[..., Any])

SHARED_SETTINGS = ("skills_dir", "data_dir", "embedding.provider", "embedding.model")
"""The settings of commands that only look at a catalog."""


def _parameter(key: str) -> str:
    """Return the name of a setting as a Python parameter."""
    return key.replace(".", "__")


def _option(setting: Setting) -> Callable[[_Command], _Command]:
    flag = cast(str, setting.flag)
    several = setting.type is tuple
    switch = setting.type is bool
    return click.option(
        flag,
        _parameter(setting.key),
        default=None,
        multiple=several,
        is_flag=switch,
        flag_value=True if switch else None,
        metavar=None if switch else setting.expected.upper(),
        help=f"{setting.description[0].upper()}{setting.description[1:]}.",
    )


def settings_options(*keys: str) -> Callable[[_Command], _Command]:
    """Give a command the flags of these settings, or of all."""

    def add(command: _Command) -> _Command:
        for setting in reversed(SETTINGS):
            if setting.flag and (not keys or setting.key in keys):
                command = _option(setting)(command)
        return click.option("--config", type=click.Path(path_type=Path, dir_okay=False), help="Configuration file.")(
            command
        )

    return add


server_option = click.option("--server", metavar="URL", help="A running server, instead of the data directory.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")


def target_options(command: _Command) -> _Command:
    """Give a command the flags by which it finds a catalog, and `--json`."""
    return json_option(server_option(settings_options(*SHARED_SETTINGS)(command)))


def load(flags: dict[str, Any]) -> Settings:
    """Return the settings; the group the command belongs to holds the environment as its object."""
    config = flags.pop("config", None)
    given = {setting.key: flags.get(_parameter(setting.key)) for setting in SETTINGS}
    environment: Mapping[str, str] = click.get_current_context().find_root().obj
    try:
        return load_settings(given, environment, config)
    except SettingsError as error:
        stop(str(error), WRONG_USE)


def stop(message: str, code: int = FAILED) -> NoReturn:
    """End the command with one line that says why."""
    click.echo(f"skill-registry: {message}", err=True)
    sys.exit(code)


def with_target(
    flags: dict[str, Any],
    server: str | None,
    call: Callable[[Any], Any],
    *,
    searching: bool = True,
    making: bool = False,
) -> Any:
    """Return what `call` makes of the catalog the flags lead to.

    `searching` says whether it needs the indexes, `making` whether a catalog is made where there is none.
    """
    settings = load(flags)
    try:
        with open_backend(settings, server, searching=searching and not making, making=making) as target:
            return call(target)
    except (CommandFailed, DatabaseUnusable, EmbeddingUnavailable, OSError) as error:
        stop(str(error))
