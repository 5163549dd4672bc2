"""The registries of a user, from which commands install."""

from collections.abc import Sequence
from typing import NamedTuple

from registry.cli import command
from registry.cli.backend import CommandFailed
from registry.cli.credentials import default_server
from registry.cli.remote.client import check_url
from registry.config.settings import Settings


class Registries(NamedTuple):
    """The registries of the user.

    Args:
        given: The URL in --from.
        default: The URL of the registry that is asked for what no source lists.
        named: The URLs of the registries that the user has named.
    """

    given: str | None
    default: str | None
    named: Sequence[str]


def registries_of(settings: Settings, given: str | None) -> Registries:
    """Return the registries of the user, with the URL in --from. Exits if one is not valid."""
    try:
        given = str(check_url(given, "--from")).rstrip("/") if given else None
        default = default_server(settings)
        default = default.rstrip("/") if default else None
        named = [url for url in (given, default) if url]
    except CommandFailed as error:
        command.stop(error, command.WRONG_USAGE)
    return Registries(given, default, named)
