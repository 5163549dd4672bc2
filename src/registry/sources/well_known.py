"""Reads the index of skills of a site, below `.well-known/agent-skills/` or, as it was, `.well-known/skills/`.

An entry of version 0.2 has one artifact, a zip or a SKILL.md. One of version 0.1 has files in a folder of its name. The
index is untrusted: each entry is read separately, and an invalid one is skipped with a warning.
"""

from functools import partial
from urllib.parse import urljoin, urlsplit

import msgspec

from registry.domain.skill_file import SKILL_FILE, is_skill_file
from registry.domain.source_entry import Listed, Listing
from registry.parsing.json_document import JsonUnreadable, read_json
from registry.sources.marketplace import (
    MAX_ENTRIES,
    UnreadableDocument,
    add_or_warn,
    deduplicated,
    file_origin,
    validated,
)

INDEX_PATHS = (".well-known/agent-skills/index.json", ".well-known/skills/index.json")
"""The paths at which an index is searched, in this order."""

_OTHER_ARCHIVES = (".tar.gz", ".tgz", ".tar")


class _Skill(msgspec.Struct):
    name: str
    description: str = ""
    url: str = ""
    version: str = ""
    digest: str | None = None
    files: list[str] = msgspec.field(default_factory=list)


class _Index(msgspec.Struct):
    skills: list[msgspec.Raw]


def is_index(url: str) -> bool:
    """Return whether a URL is that of an index, by its path."""
    path = urlsplit(url).path
    return any(path.endswith(f"/{place}") for place in INDEX_PATHS)


def read_index(data: bytes, base: str) -> Listing:
    """Return the skills of the index at the URL `base`. Raises UnreadableDocument."""
    try:
        index = read_json(data, _Index)
    except JsonUnreadable as error:
        raise UnreadableDocument(f"the index of skills cannot be read: {str(error)[:200]}") from None
    listing = Listing()
    for number, raw in enumerate(index.skills[:MAX_ENTRIES]):
        try:
            skill = read_json(raw, _Skill)
        except JsonUnreadable as error:
            listing.warnings.append(f"entry {number} was skipped: {str(error)[:200]}")
            continue
        add_or_warn(listing, skill.name, partial(_listed, skill, base))
    return deduplicated(listing)


def _listed(skill: _Skill, base: str) -> list[Listed]:
    """Return an entry as a skill. Raises RegistryError, ValueError."""
    fields = {"id": skill.name, "name": skill.name, "description": skill.description, "version": skill.version}
    url, reason = _artifact(skill, base), None
    if url is None:
        reason = "the index names its files and no archive of them"
    elif urlsplit(url).path.lower().endswith(_OTHER_ARCHIVES):
        reason = "its archive is a tar, and of archives only .zip and .skill are read"
    if url is None or reason is not None:
        listed = validated(fields)
        listed.installable, listed.not_installable = False, reason
        return [listed]
    is_zip = not is_skill_file(urlsplit(url).path.rpartition("/")[2])
    return [validated(fields | {"origin": file_origin(url, skill.digest, is_zip=is_zip)})]


def _artifact(skill: _Skill, base: str) -> str | None:
    """Return the URL of what is installed, None if the index names only several files."""
    if skill.url:
        return urljoin(base, skill.url)
    return urljoin(base, f"{skill.name}/{SKILL_FILE}") if skill.files == [SKILL_FILE] else None
