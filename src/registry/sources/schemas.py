"""The sources and their skills in responses."""

import msgspec

from registry.domain.source_entry import SourceKind


class SourceData(msgspec.Struct, kw_only=True):
    """A source in responses. `skills` is the number of its skills. `error` tells why the last refresh failed."""

    name: str
    type: SourceKind
    url: str | None
    path: str | None
    branch: str | None
    priority: int
    skills: int
    last_refreshed: str | None
    error: str | None
    warnings: list[str]
    configured: bool
    mirror: bool = False


class SourceSkills(msgspec.Struct, kw_only=True):
    """The cards of the skills of one source."""

    source_name: str
    skills: list[msgspec.Raw]
    count: int


class SourceFault(msgspec.Struct, kw_only=True):
    """The error of the last refresh of a source."""

    source_name: str
    message: str


class AllSkills(msgspec.Struct, kw_only=True):
    """The skills of all sources. A failed source keeps its previous skills."""

    sources: list[SourceSkills]
    total_skills: int
    total_sources: int
    errors: list[SourceFault]


class MarketplaceSkill(msgspec.Struct, kw_only=True):
    """A skill in the flat form of a marketplace document. Its id is the id within the source."""

    id: str
    name: str
    description: str
    version: str
    author: str
    tags: list[str]
    capabilities: list[str]
    download_url: str | None


class Marketplace(msgspec.Struct, kw_only=True):
    """A source as a marketplace document in the flat form."""

    version: str = "1.0"
    skills: list[MarketplaceSkill]
