"""A source as it is configured or added, and one skill as a source lists it."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from registry.domain.addresses import OutboundError, parse_url
from registry.domain.models import SkillId, SourceName, Version
from registry.domain.origins import BranchName, HttpUrl, LocalPath, Origin

LOCAL = "local"
"""The name of the source that is the skills directory."""

REGISTRY = "registry"
"""The name of the source that is the records kept here."""

RESERVED_NAMES = frozenset({LOCAL, REGISTRY})

Priority = Annotated[int, Meta(ge=0, le=1000, extra={"rule": "must be a whole number from 0 to 1000"})]
SourceKind = Literal["git", "http", "zip", "local"]


class SourceEntry(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """One source: a git repository, a marketplace document or a zip of skills behind a URL, or a folder.

    Of two sources the one with the lower priority number comes first. Raises ValueError where the parts do not fit.
    """

    name: SourceName
    type: SourceKind
    url: HttpUrl | None = None
    path: LocalPath | None = None
    branch: BranchName | None = None
    priority: Priority = 100

    def __post_init__(self) -> None:
        if self.name in RESERVED_NAMES:
            raise ValueError(f"the name {self.name} is reserved")
        wanted, other = ("path", "url") if self.type == "local" else ("url", "path")
        if getattr(self, wanted) is None or getattr(self, other) is not None:
            raise ValueError(f"a source of type {self.type} has a {wanted} and no {other}")
        if self.branch is not None and self.type != "git":
            raise ValueError("only a source of type git has a branch")
        if self.url is not None:
            _check_url(self.url)


class ConfiguredSource(SourceEntry, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A source in the configuration file, where a misspelt key is a mistake."""


class Listed(msgspec.Struct, kw_only=True):
    """One skill as its source lists it. `id` is unique within the source; `body` is the text below the front matter."""

    id: SkillId
    name: str
    description: str
    version: Version = "1.0.0"
    author: str = ""
    tags: list[str] = msgspec.field(default_factory=list)
    capabilities: list[str] = msgspec.field(default_factory=list)
    license: str | None = None
    origin: Origin | None = None
    download_url: str | None = None
    body: str = ""
    warnings: list[str] = msgspec.field(default_factory=list)


class Listing(msgspec.Struct, kw_only=True):
    """What a source lists, and what had to be left out of it."""

    skills: list[Listed] = msgspec.field(default_factory=list)
    warnings: list[str] = msgspec.field(default_factory=list)


def _check_url(url: str) -> None:
    try:
        parse_url(url)
    except OutboundError as error:
        raise ValueError(str(error)) from None
