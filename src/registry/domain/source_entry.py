"""The definition of a source, and the skills that a source lists."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from registry.domain.addresses import OutboundError, parse_url
from registry.domain.models import SkillId, SourceName, Version
from registry.domain.origins import BranchName, HttpUrl, LocalPath, Origin

LOCAL = "local"
"""The name of the built-in source for the skills directory."""

REGISTRY = "registry"
"""The name of the built-in source for the records of this service."""

RESERVED_NAMES = frozenset({LOCAL, REGISTRY})

Priority = Annotated[int, Meta(ge=0, le=1000, extra={"rule": "must be a whole number from 0 to 1000"})]
SourceKind = Literal["git", "http", "zip", "local"]


class SourceEntry(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """One source: a git repository, a marketplace document or a zip of skills at a URL, or a folder.

    Sources with a lower `priority` number come first. Raises ValueError if the fields contradict each other.
    """

    name: SourceName
    type: SourceKind
    url: HttpUrl | None = None
    path: LocalPath | None = None
    branch: BranchName | None = None
    priority: Priority = 100

    def __post_init__(self) -> None:
        if self.name in RESERVED_NAMES:
            raise ValueError(f"the name {self.name} is reserved: choose another name")
        required, forbidden = ("path", "url") if self.type == "local" else ("url", "path")
        if getattr(self, required) is None or getattr(self, forbidden) is not None:
            raise ValueError(f"a source of type {self.type} must have a {required} and no {forbidden}")
        if self.branch is not None and self.type != "git":
            raise ValueError("only a source of type git can have a branch")
        if self.url is not None:
            _check_url(self.url)


class ConfiguredSource(SourceEntry, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A source in the configuration file, where an unknown key is an error."""


class Listed(msgspec.Struct, kw_only=True):
    """One skill in the list of a source. `id` is unique in the source; `body` is the text below the front matter."""

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
    """The skills of a source, and warnings about entries that were skipped."""

    skills: list[Listed] = msgspec.field(default_factory=list)
    warnings: list[str] = msgspec.field(default_factory=list)


def _check_url(url: str) -> None:
    try:
        parse_url(url)
    except OutboundError as error:
        raise ValueError(str(error)) from None
