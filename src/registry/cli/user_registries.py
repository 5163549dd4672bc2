"""The registries of a user, from which commands install."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from registry.cli import command
from registry.cli.backend import CommandFailed
from registry.cli.credentials import default_server, has_credential_for
from registry.cli.remote.client import check_url
from registry.config.settings import Settings

_PAGE = re.compile(
    r"/skills/(?P<skill>[a-z0-9_-]{1,64}/[a-z0-9-]{1,64})(?:@(?P<version>[0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9}))?/?\Z"
)
_PACKAGE = re.compile(
    r"/packages/(?P<skill>[a-z0-9_-]{1,64}/[a-z0-9-]{1,64})/(?P<version>[0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9})\.zip\Z"
)


class SkillPage(NamedTuple):
    """A skill, perhaps with `@` and a version, and the URL of the registry that has its page."""

    skill: str
    url: str


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


def skill_page(address: str) -> SkillPage | None:
    """Return what an address means that people copy from the page of a skill, or from the link to its package.

    Others may have such addresses too: `https://github.com/skills/acme/pdf` is a folder of a repository.
    """
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    match = _PAGE.search(parts.path) or _PACKAGE.search(parts.path)
    if match is None or parts.scheme not in {"http", "https"} or "@" in parts.netloc:
        return None
    version = f"@{match['version']}" if match["version"] else ""
    return SkillPage(match["skill"] + version, f"{parts.scheme}://{parts.netloc}{parts.path[: match.start()]}")


def with_pages(registries: Registries, settings: Settings, origins: Iterable[str]) -> Registries:
    """Return the registries with those whose pages the user has named, if the user has a credential for them.

    Exits if the logins cannot be read.
    """
    pages = filter(None, map(skill_page, origins))
    try:
        own = dict.fromkeys(page.url for page in pages if has_credential_for(settings, page.url))
    except CommandFailed as error:
        command.stop(error)
    return registries._replace(named=[*registries.named, *own])
