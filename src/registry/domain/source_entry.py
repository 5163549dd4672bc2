"""The definition of a source, and the skills that a source lists."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from registry.domain.addresses import OutboundError, parse_url
from registry.domain.models import SkillId, SourceName, Usability, Version
from registry.domain.origins import BranchName, HttpUrl, LocalPath, Origin, RegistryOrigin, SourceOrigin
from registry.domain.repository_addresses import RepositoryAddress, as_url, parse_address
from registry.domain.withdrawals import Withdrawn
from registry.errors import FieldError, validation_error

LOCAL = "local"
"""The name of the built-in source for the skills directory."""

REGISTRY = "registry"
"""The name of the built-in source for the records of this service."""


def registry_of(origin: Origin) -> str | None:
    """Return the registry of an origin: its URL, `REGISTRY` for this service; None for origins of other kinds."""
    if isinstance(origin, RegistryOrigin):
        return origin.url
    return REGISTRY if isinstance(origin, SourceOrigin) and origin.source == REGISTRY else None


RESERVED_NAMES = frozenset({LOCAL, REGISTRY})

Priority = Annotated[int, Meta(ge=0, le=1000, extra={"rule": "must be a whole number from 0 to 1000"})]
SourceKind = Literal["git", "http", "zip", "registry", "local"]
SourceKey = Annotated[
    str,
    Meta(
        pattern=r"^[\x21-\x7e]{1,4000}$(?!\n)",
        extra={"rule": "must be an API key or token: 1 to 4,000 visible ASCII characters"},
    ),
]


class SourceEntry(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """One source: a git repository, a marketplace document or a zip of skills at a URL, another registry, or a folder.

    Sources with a lower `priority` number come first. `api_key` is the secret credential for a registry. With `mirror`,
    this service also hands on the packages of a registry. Raises ValueError if the fields contradict each other.
    """

    name: SourceName
    type: SourceKind
    url: HttpUrl | None = None
    path: LocalPath | None = None
    branch: BranchName | None = None
    priority: Priority = 100
    api_key: SourceKey | None = None
    mirror: bool = False

    def __post_init__(self) -> None:
        _check_name(self.name)
        required, forbidden = ("path", "url") if self.type == "local" else ("url", "path")
        if getattr(self, required) is None or getattr(self, forbidden) is not None:
            raise ValueError(f"a source of type {self.type} must have a {required} and no {forbidden}")
        if self.branch is not None and self.type != "git":
            raise ValueError("only a source of type git can have a branch")
        if self.api_key is not None and self.type != "registry":
            raise ValueError("only a source of type registry can have an api_key")
        if self.mirror and self.type != "registry":
            raise ValueError("only a source of type registry can have mirror")
        if self.url is not None:
            _check_url(self.url)
            if self.type == "git":
                _check_repository(self.url, self.branch)
            if self.type == "registry":
                _check_registry_url(self.url)
                msgspec.structs.force_setattr(self, "url", self.url.rstrip("/"))  # one registry has one spelling

    def __repr__(self) -> str:
        return f"SourceEntry(name={self.name!r}, type={self.type!r})"  # without secrets


class NewSource(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """A source to add. Without `type`, the service finds out what is at `url`. Raises ValueError as SourceEntry."""

    name: SourceName
    type: SourceKind | None = None
    url: HttpUrl | None = None
    path: LocalPath | None = None
    branch: BranchName | None = None
    priority: Priority = 100
    api_key: SourceKey | None = None
    mirror: bool = False

    @staticmethod
    def prepared(value: Any) -> Any:
        """Return decoded JSON with the URL that a short form of an address stands for, before the rules are applied."""
        if not isinstance(value, dict) or not isinstance(value.get("url"), str):
            return value
        try:
            return value | {"url": as_url(value["url"])}
        except ValueError as error:
            raise validation_error(FieldError("url", str(error))) from None

    def __post_init__(self) -> None:
        if self.type is not None:
            self.as_type(self.type)
            return
        _check_name(self.name)
        if (self.url is None) == (self.path is None):
            raise ValueError("a source must have a url or a path, and not both")
        if self.path is not None:
            self.as_type("local")
        if self.url is not None:
            _check_url(self.url)

    def as_type(self, kind: SourceKind) -> SourceEntry:
        """Return the source with this type. Raises ValueError."""
        fields = {name: getattr(self, name) for name in self.__struct_fields__}
        return SourceEntry(**fields | {"type": kind})

    def __repr__(self) -> str:
        return f"NewSource(name={self.name!r}, type={self.type!r})"  # without secrets


class ConfiguredSource(SourceEntry, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A source in the configuration file, where an unknown key is an error."""


class Listed(Usability, kw_only=True):
    """One skill in the list of a source. `id` is unique in the source; `body` is the text below the front matter.

    `internal` skills are for the work on their repository: only who names one gets it. `withdrawn` is missing unless
    the registry has deprecated the skill.
    """

    id: SkillId
    name: str
    description: str
    version: Version = "1.0.0"
    author: str = ""
    tags: list[str] = msgspec.field(default_factory=list)
    capabilities: list[str] = msgspec.field(default_factory=list)
    license: str | None = None
    dependencies: list[str] = msgspec.field(default_factory=list)
    origin: Origin | None = None
    download_url: str | None = None
    body: str = ""
    warnings: list[str] = msgspec.field(default_factory=list)
    internal: bool = False
    withdrawn: Withdrawn | UnsetType = UNSET


class PublishedListed(Listed, kw_only=True):
    """A skill that this service has published: `checksum` is `sha256:` and the digest of the zip at `download_url`."""

    checksum: str


class Listing(msgspec.Struct, kw_only=True):
    """The skills of a source, and warnings about entries that were skipped."""

    skills: list[Listed] = msgspec.field(default_factory=list)
    warnings: list[str] = msgspec.field(default_factory=list)


def _check_name(name: str) -> None:
    if name in RESERVED_NAMES:
        raise ValueError(f"the name {name} is reserved: choose another name")


def _check_repository(url: str, branch: str | None) -> None:
    address = parse_address(url)
    if not isinstance(address, RepositoryAddress):
        raise ValueError("a source of type git must have the url of a repository, not of a zip")
    if branch is not None and address.path:
        raise ValueError("the url and the branch name two refs: leave one of them out")
    if address.skill is not None:
        raise ValueError(
            "a source is a repository or a folder in it, not a skill: write the address of the repository alone"
        )


def _check_registry_url(url: str) -> None:
    if parse_url(url).credentials is not None or "?" in url or "#" in url:
        raise ValueError(
            "the url of a source of type registry must have no user, password, query and fragment; api_key is for the "
            "credential"
        )


def _check_url(url: str) -> None:
    try:
        parse_url(url)
    except OutboundError as error:
        raise ValueError(str(error)) from None
