"""Reads the locks of `npx skills`: `skills-lock.json` of a project, and `.skill-lock.json` below `~/.agents`.

An entry names a repository, perhaps a ref, and the SKILL.md in it, and no commit: what is installed is the latest state
of the ref. Its hash is of the files of one machine, so it proves nothing here. The file is untrusted.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec

from registry.domain.page_addresses import fragment_of
from registry.domain.repository_addresses import HOSTS, is_url, of_owner
from registry.domain.skill_file import is_skill_file
from registry.parsing.json_document import JsonUnreadable, read_json

FILES = frozenset({"skills-lock.json", ".skill-lock.json"})
"""The names of such locks: in a project, and of a user."""

_MAX_BYTES = 4 << 20
_NAMED_GIT = re.compile(r"([^/])\.git\Z")
"""The end of a repository's address that may be left out."""


class OtherSkill(NamedTuple):
    """A skill in such a lock: the address to install it from, or why there is none."""

    name: str
    address: str | None
    reason: str = ""


class _Entry(msgspec.Struct, rename="camel"):
    source: str = ""
    source_type: str = ""
    source_url: str = ""
    ref: str = ""
    skill_path: str = ""


class _Lock(msgspec.Struct):
    skills: dict[str, msgspec.Raw]


def is_other_lock(text: str) -> bool:
    """Return whether a text is the path of such a lock."""
    return Path(text).name in FILES and Path(text).is_file()


def skills_in(path: Path) -> Iterator[OtherSkill]:
    """Yield the skills that a lock names, in its order. Raises ValueError for a file that is none, and OSError."""
    with path.open("rb") as file:
        data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise ValueError(f"{path} has more than {_MAX_BYTES:,} bytes")
    try:
        lock = read_json(data, _Lock)
    except JsonUnreadable as error:
        raise ValueError(f"{path} is no lock of 'npx skills': {str(error)[:200]}") from None
    for name, raw in lock.skills.items():
        try:
            yield _skill(name, read_json(raw, _Entry), path.parent)
        except JsonUnreadable as error:
            yield OtherSkill(name, None, f"its entry cannot be read: {str(error)[:200]}")


def _skill(name: str, entry: _Entry, folder: Path) -> OtherSkill:
    """Return a skill of the lock in a folder."""
    if entry.source_type == "local":
        path = folder / entry.source / _folder_of(entry.skill_path)
        return OtherSkill(name, str(path) if path.is_absolute() else f"./{path}")
    if entry.source_type == "node_modules":
        return OtherSkill(name, None, f"it comes from the npm package {entry.source}: install its folder there")
    repository = _repository(entry)
    if repository is None:
        site = urlsplit(entry.source_url).netloc or entry.source
        return OtherSkill(
            name,
            None,
            f"it comes from the site {site}: 'skill-registry sources add NAME https://{site}' lists its skills",
        )
    fragment = fragment_of(entry.ref, _folder_of(entry.skill_path))
    skill = "" if entry.skill_path else f"@{name}"
    return OtherSkill(name, repository + (f"#{fragment}" if fragment else "") + skill)


def _repository(entry: _Entry) -> str | None:
    """Return the URL of the repository of an entry, None if it has none."""
    if entry.source_type in ("well-known", "mintlify"):
        return None
    for url in (entry.source, entry.source_url):
        if is_url(url):
            return _NAMED_GIT.sub(r"\1", url.partition("#")[0].rstrip("/"))
    host = HOSTS.get(entry.source_type)
    if host is not None and "://" not in entry.source and "/" in entry.source:
        return of_owner(entry.source) if entry.source_type == "github" else f"https://{host}/{entry.source}"
    return entry.source_url or (entry.source if "/" in entry.source or ":" in entry.source else None)


def _folder_of(skill_path: str) -> str:
    """Return the folder of a path that may name the SKILL.md in it."""
    folder, _, last = skill_path.replace("\\", "/").strip("/").rpartition("/")
    return folder if is_skill_file(last) else "/".join(filter(None, (folder, last)))
