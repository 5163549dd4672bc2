"""The filters and orders of a search as options of the command: those that `FilterValues` declares."""

from contextlib import suppress
from types import MappingProxyType
from typing import Any, get_args

import click
import msgspec

from registry.cli import command, console
from registry.cli.backend import CommandBackend, CommandFailed
from registry.cli.help.known_names import complete_source, complete_tag
from registry.cli.help.settings_options import Command
from registry.domain.findings import RISKS
from registry.services.schemas import FILTERS, FilterValues, SearchFilters

_FIELDS = MappingProxyType({field.name: field.type for field in msgspec.structs.fields(FilterValues)})
_OPTIONS = MappingProxyType(
    {
        name: {"any_tags": "any-tag", "tags": "tag"}.get(name, name.replace("capabilities", "capability"))
        for name in _FIELDS
    }
)
"""The name of the option of each field: of a list, in the singular, as each value is an option of its own."""

_COMPLETED = MappingProxyType({"source": complete_source, "tags": complete_tag, "any_tags": complete_tag})
"""What a shell offers as values of a filter."""


def _is_choice(name: str) -> bool:
    return bool in get_args(_FIELDS[name])


def filter_options(function: Command) -> Command:
    """Add an option for each filter, and `--not` for what skills must not have."""
    excluded = click.option(
        "--not",
        "not_",
        metavar="FILTER=VALUE",
        multiple=True,
        help="Only skills without this value of a filter, such as tag=draft or license=GPL-3.0.",
    )
    function = excluded(function)
    for name, option in reversed([*_OPTIONS.items()]):
        flag, about = option.replace("_", "-"), f"{FILTERS[name]}."
        if _is_choice(name):
            add = click.option(f"--{flag}/--no-{flag}", name, default=None, help=about)
        elif name == "max_risk":
            add = click.option(f"--{flag}", name, type=click.Choice(RISKS), help=about)
        else:
            complete = _COMPLETED.get(name)
            add = click.option(f"--{flag}", name, metavar="VALUE", multiple=True, help=about, shell_complete=complete)
        function = add(function)
    return function


def taken_filters(flags: dict[str, Any]) -> SearchFilters:
    """Take the filters out of the options, and return them. Exits if they are not valid."""
    values = {name: flags.pop(name) for name in _FIELDS}
    members = {
        name: list(value) if isinstance(value, tuple) else value for name, value in values.items() if value != ()
    }
    unwanted: dict[str, Any] = {}
    for text in flags.pop("not_"):
        name, value = _excluded(text)
        if isinstance(value, str) and name != "max_risk":
            unwanted.setdefault(name, []).append(value)
        else:
            unwanted[name] = value
    return command.converted(members | ({"not": unwanted} if unwanted else {}), SearchFilters)


def tell_of_unknown_sources(backend: CommandBackend, filters: SearchFilters) -> None:
    """Say which sources of a filter that has left nothing do not exist, if the caller may know the sources."""
    wanted = [filters.source] if isinstance(filters.source, str) else filters.source or []
    with suppress(CommandFailed):
        names = [str(source["name"]) for source in backend.sources()] if wanted else []
        for name in wanted:
            if name not in names:
                console.note(f"there is no source '{name}': there are {', '.join(names)}")


def _excluded(text: str) -> tuple[str, Any]:
    """Return the field and the value of `tag=draft`. Exits if there is no such filter."""
    option, _, value = text.partition("=")
    name = next(
        (name for name, parameter in _OPTIONS.items() if option.replace("-", "_") in {parameter.replace("-", "_")}), ""
    )
    if not name or not value:
        names = ", ".join(_OPTIONS.values()).replace("_", "-")
        command.stop(f"--not {text!r}: must be FILTER=VALUE, where FILTER is one of {names}", command.WRONG_USAGE)
    if not _is_choice(name):
        return name, value
    if value not in ("true", "false"):
        command.stop(f"--not {text!r}: the value must be true or false", command.WRONG_USAGE)
    return name, value == "true"
