"""Skills as entries of Agentic Resource Discovery: <https://github.com/ards-project/ard-spec>."""

import re
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from registry.domain.api import API
from registry.services.container import Services
from registry.services.schemas import FoundSkill
from registry.skill_folder.tree import SKILL_FILE

SKILL_TYPE: Literal["application/ai-skill"] = "application/ai-skill"
REGISTRY_TYPE: Literal["application/ai-registry+json"] = "application/ai-registry+json"

_DOMAIN = re.compile(r"(?=.{1,253}\Z)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}", re.IGNORECASE)
_NO_DOMAIN = "localhost.localdomain"
"""Stands in identifiers for a host without a domain name, such as an IP address: they demand one."""


class SkillCard(msgspec.Struct):
    """What an entry says of a skill."""

    id: str
    name: str
    description: str
    version: str
    updated_at: str
    tags: list[str]
    installed: bool


class Entry(msgspec.Struct, kw_only=True, rename="camel"):
    """A skill in a list."""

    identifier: str
    display_name: str
    type: str = SKILL_TYPE
    url: str
    description: str
    version: str
    updated_at: str
    tags: list[str]


class Result(Entry, kw_only=True, rename="camel"):
    """A skill that a search found. `score` is 0 to 100, `source` the registry that was searched."""

    score: int
    source: str


class RegistryEntry(msgspec.Struct, kw_only=True, rename="camel"):
    """A registry in a catalog; `url` is its search."""

    identifier: str
    display_name: str
    type: str = REGISTRY_TYPE
    url: str
    description: str


def identifier(base_url: str, *names: str) -> str:
    """Return an identifier: names below the domain of a service, which `base_url` leads to."""
    host = urlsplit(base_url).hostname or ""
    return ":".join(["urn:air", host if _DOMAIN.fullmatch(host) else _NO_DOMAIN, *names])


def entry(services: Services, base_url: str, card: bytes) -> Entry:
    """Return the entry of a skill by its card."""
    read = msgspec.json.decode(card, type=SkillCard)
    return Entry(
        identifier=identifier(base_url, *read.id.split("/")),
        display_name=read.name,
        url=_url(services, base_url, read),
        description=read.description,
        version=read.version,
        updated_at=read.updated_at,
        tags=read.tags,
    )


def result(services: Services, base_url: str, hit: FoundSkill) -> Result:
    """Return the entry of a skill that a search found."""
    fields = msgspec.structs.asdict(entry(services, base_url, bytes(hit.skill)))
    return Result(**fields, score=round(100 * min(max(hit.score, 0.0), 1.0)), source=f"{base_url}/ard")


def _url(services: Services, base_url: str, card: SkillCard) -> str:
    """Return where the SKILL.md of a skill is, or its record, which names the origin of an advertised skill."""
    record = f"{base_url}{API}/skills/{card.id}"
    has_files = card.installed or services.is_published(card.id)
    return f"{record}/files/{SKILL_FILE}" if has_files else record
