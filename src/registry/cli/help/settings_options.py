"""Settings as options of commands: their metavars, defaults, and which of them `--help` of `serve` shows."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar, cast, get_args, get_origin

import click

from registry.config.settings import SETTINGS, Setting
from registry.config.types import Url

Command = TypeVar("Command", bound=Callable[..., Any])
"""A function that becomes a command: what options decorate."""

OFTEN_USED = frozenset(
    {
        *("skills_dir", "data_dir", "server.host", "server.port", "server.public_url", "server.workers"),
        *("server.allowed_hosts", "server.trusted_proxies", "server.read_only", "profile", "registry.enabled"),
        *("blobs.dir", "s3.bucket", "registryIndex.url", "database.url", "embedding.provider", "embedding.model"),
        *("auth.issuer", "log.level"),
    }
)
"""The settings that `serve --help` shows, with --config: most people need no other. `--help-all` shows the rest."""

_METAVARS: Mapping[str, str] = {
    "server.port": "PORT",
    "server.trusted_proxies": "ADDRESS",
    "outbound.allowed_hosts": "HOST",
    "server.allowed_hosts": "HOST",
    "server.allowed_origins": "ORIGIN",
    "install.allowed_roots": "DIR",
    "protocols.root_skills": "ID",
    "transparency.checkpoints": "URL",
    "transparency.witnesses": "WITNESS",
    "webhooks.validation_failed.events": "EVENT",
    "webhooks.validation_passed.events": "EVENT",
    "protocols.enabled": "PROTOCOL",
    "project.file": "FILE",
    "embedding.adapter": "PATH",
    "s3.bucket": "BUCKET",
    "s3.privateBucket": "BUCKET",
    "embedding.rate": "NUMBER",
}
"""The metavars that neither the type nor the key gives."""

_UNITS = ("seconds", "bytes")


def parameter(key: str) -> str:
    """Return the name of a setting as a Python parameter."""
    return key.replace(".", "__")


def settings_options(*keys: str, hides_rare: bool = False) -> Callable[[Command], Command]:
    """Give a command the options of these settings, or of all. `hides_rare` leaves out of its help what few people use.

    The hidden options are in the help that `--help-all` prints.
    """

    def add(command: Command) -> Command:
        for setting in reversed(SETTINGS):
            if setting.flag and (not keys or setting.key in keys):
                command = _option(setting, hidden=hides_rare and setting.key not in OFTEN_USED)(command)
        add_config = click.option(
            "--config",
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            help="Configuration file. Default: registry.toml in the current folder, if there is one.",
        )
        return _help_all(add_config(command)) if hides_rare else add_config(command)

    return add


def _option(setting: Setting, *, hidden: bool) -> Callable[[Command], Command]:
    is_switch = setting.type is bool
    return click.option(
        cast(str, setting.flag),
        parameter(setting.key),
        default=None,
        multiple=setting.type is tuple,
        is_flag=is_switch,
        flag_value=not setting.default if is_switch else None,
        metavar=None if is_switch else metavar(setting),
        hidden=hidden,
        help=f"{_sentence(_effect(setting))}{_default(setting)}",
    )


def _effect(setting: Setting) -> str:
    return f"do not {setting.description}" if setting.default is True else setting.description


def _sentence(description: str) -> str:
    """Return a description as a sentence. A literal at its start, such as `auto:`, keeps its case."""
    is_literal = ":" in description.split(" ", 1)[0]
    return f"{description if is_literal else description[0].upper() + description[1:]}."


def metavar(setting: Setting) -> str:
    """Return what stands for the value of a setting in a help: its choices, or a name such as PORT."""
    if choices := _choices(setting.annotation):
        return f"[{'|'.join(choices)}]"
    last = setting.key.rpartition(".")[2]
    if setting.key in _METAVARS:
        return _METAVARS[setting.key]
    if issubclass(setting.type, Url):
        return "URL"
    if setting.type is Path:
        return "DIR"
    unit = last.rpartition("_")[2]
    if unit in _UNITS:
        return unit.upper()
    return "NUMBER" if setting.type is int else unit.upper()


def _choices(annotation: Any) -> list[str]:
    """Return the choices of a literal type, through `Annotated` and unions."""
    if get_origin(annotation) is Literal:
        return [str(choice) for choice in get_args(annotation)]
    if get_origin(annotation) is tuple:
        return []
    return [choice for inner in get_args(annotation) for choice in _choices(inner)]


def _default(setting: Setting) -> str:
    value = setting.default
    if value is None or isinstance(value, bool) or value == () or "default:" in setting.description:
        return ""
    return f"  [default: {', '.join(value) if isinstance(value, tuple) else value}]"


def _help_all(command: Command) -> Command:
    def show(context: click.Context, _: click.Parameter, wanted: bool) -> None:
        if wanted:
            for option in context.command.params:
                if isinstance(option, click.Option):
                    option.hidden = False
            click.echo(context.get_help())
            context.exit()

    return click.option(
        "--help-all", is_flag=True, is_eager=True, expose_value=False, callback=show, help="Show every option and exit."
    )(command)
