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
    r"(?:/api/v1)?/skills/(?P<skill>(?:[a-z0-9_-]{1,64}/)?[a-z0-9_-]{1,64}(?:\.[a-z0-9_-]{1,64})?)"
    r"(?:@(?P<version>[0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9}))?/?\Z"
)
_PACKAGE = re.compile(
    r"/packages/(?P<skill>[a-z0-9_-]{1,64}/[a-z0-9-]{1,64})/(?P<version>[0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9})\.zip\Z"
)


class SkillPage(NamedTuple):
    """A skill, perhaps with `@` and a version, and the URL of the service that has its page."""

    skill: str
    url: str

    @property
    def may_be_published(self) -> bool:
        """Whether the id is that of a package in a registry: one of a local service may have no scope."""
        return "/" in self.skill and "." not in self.skill.partition("@")[0]


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


def skill_and_server(text: str, server: str | None) -> tuple[str, str | None]:
    """Return the id that a command got, perhaps with `@` and a version, and its server: those of a page's address.

    Exits for another address, and for a `server` besides that of the page.
    """
    if "://" not in text:
        return text, server
    page = skill_page(text)
    if page is None:
        command.stop(
            f"{text}: this is no page of a skill: write the id, or an address such as "
            "https://registry.example.org/skills/acme/pdf-forms",
            command.WRONG_USAGE,
        )
    if server is not None and server.rstrip("/") != page.url:
        command.stop(
            f"the page is of {page.url}: leave out --server, or write the id {page.skill}", command.WRONG_USAGE
        )
    return page.skill, page.url


def installed_skill(text: str) -> str:
    """Return the id that a command for installed skills got, without the version that a page's address may have."""
    return skill_and_server(text, None)[0].partition("@")[0] if "://" in text else text


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
