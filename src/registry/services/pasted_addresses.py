"""Queries that are the address of a source, or of a skill in it, as people paste it from a page or a README.

`owner/repo`, `owner/repo@pdf`, the URL of a repository or of a page in it, `@acme` and `acme/`, and commands with them
such as `npx skills add owner/repo --skill pdf`. The words of an address say nothing of what its skills do.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from urllib.parse import urlsplit

from registry.domain.repository_addresses import RepositoryAddress, as_url, parse_address, place_of
from registry.domain.source_entry import SourceEntry
from search.text import fold
from search.types import Filter, Named

_MOST_CHARACTERS = 400
_MOST_WORDS = 16

_COMMANDS = frozenset(
    {"$", ">", "%", "npx", "pnpx", "bunx", "uvx", "pnpm", "yarn", "dlx", "-y", "--yes", "skills", "skill", "plugin"}
    | {"plugins", "marketplace", "claude", "codex", "copilot", "gemini", "extensions", "skill-registry", "openskills"}
    | {"add-skill", "clawhub", "add", "install", "i", "source", "git", "clone", "gh", "repo", "use"}
)
"""The words of commands that come before an address."""

_OF_SKILL = frozenset({"--skill", "-s"})
_WITH_VALUE = frozenset({"-a", "--agent", "--scope", "--name", "--branch", "--ref", "--depth"})
_PUBLISHER = re.compile(r"@([a-z0-9][a-z0-9_-]{0,63})/?|([a-z0-9][a-z0-9_-]{0,63})/(?:\*\*?)?")


def named_by_address(query: str, entries: Callable[[], Iterable[SourceEntry]]) -> Named | None:
    """Return the skills that a query names by the address of a source, None if it is none of a known source.

    A query that goes on after an address is a request about what is there, and names nothing.
    """
    words = query.split(None, _MOST_WORDS) if len(query) <= _MOST_CHARACTERS else []
    while words and words[0].lower().lstrip("/") in _COMMANDS:
        del words[0]
    options = _options(words[1:])
    if not words or options is None:
        return None
    if publisher := _PUBLISHER.fullmatch(words[0].lower()):
        name = publisher[1] or publisher[2]
        return Named(Filter(((f"scope:{name}", f"source:{name}"),)), options)
    address = _address(words[0])
    names = () if address is None else _at(address.url, entries())
    if address is None or not names:
        return None
    folder = (address.path.partition("/")[2] if address.folder is None else address.folder).rpartition("/")[2]
    skills = [*options, *map(fold, filter(None, (address.skill, folder)))]
    return Named(Filter((tuple(f"source:{name}" for name in names),)), skills)


def _options(words: Sequence[str]) -> list[str] | None:
    """Return the folded names of skills in the options after an address, None if something else follows it."""
    skills, rest = [], iter(words)
    for word in rest:
        option, _, value = word.partition("=")
        if option in _OF_SKILL:
            skills.append(fold(value or next(rest, "")))
        elif option in _WITH_VALUE and not value:
            next(rest, None)
        elif not word.startswith("-"):
            return None
    return [skill for skill in skills if skill]


def _address(text: str) -> RepositoryAddress | None:
    try:
        address = parse_address(as_url(text))
    except ValueError:
        return None
    return address if isinstance(address, RepositoryAddress) else RepositoryAddress(address.url)


def _at(url: str, entries: Iterable[SourceEntry]) -> list[str]:
    """Return the names of the sources at a URL."""
    place = _same(url)
    return [entry.name for entry in entries if entry.url is not None and _same(place_of(entry.url)) == place]


def _same(url: str) -> str:
    """Return what is equal for two URLs of one repository: hosts of git ignore case and `.git`."""
    parts = urlsplit(url)
    host = (parts.hostname or "").removeprefix("www.") + (f":{parts.port}" if parts.port else "")
    return f"{host}{parts.path}".lower().rstrip("/").removesuffix(".git")
