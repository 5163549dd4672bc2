"""The types of the domain and their validation rules. Each rule is one type alias, used for all input of its kind.

The rules are the specification's *Validation rules for skill definitions* and the contract's sections 2 and 4.
`extra["rule"]` is the error message for a value that violates the rule.
"""

import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from registry.domain.findings import Risk, SkillFindings
from registry.domain.release_proofs import PublisherRun
from registry.domain.runtime_needs import RuntimeNeeds
from registry.domain.withdrawals import Withdrawn

_ONE_LINE = r"^[^\x00-\x1f\x7f]*$(?!\n)"

RESERVED_IDS = frozenset(
    {"upgrade", "install", "versions", "search", "content", "files", "dependents", "usage", "view"}
)
"""Ids, and names within a scope, that would conflict with routes at `/skills` or below `/skills/{id}`."""

NewSkillId = Annotated[
    str,
    Meta(
        pattern=r"^[a-z0-9][a-z0-9_-]{1,48}[a-z0-9]$(?!\n)",
        extra={"rule": "must be 3 to 50 characters of a-z, 0-9, '-' and '_', with a letter or digit at both ends"},
    ),
]
Name = Annotated[
    str,
    Meta(min_length=1, max_length=100, pattern=_ONE_LINE, extra={"rule": "must be one line of 1 to 100 characters"}),
]
Description = Annotated[
    str,
    Meta(
        min_length=10,
        max_length=500,
        pattern=r"\S",
        extra={"rule": "must be 10 to 500 characters, not only white space", "multiline": True},
    ),
]
Version = Annotated[
    str,
    Meta(
        pattern=r"^(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})$(?!\n)",
        extra={"rule": "must be a semantic version MAJOR.MINOR.PATCH, such as 1.2.0"},
    ),
]
Author = Annotated[
    str, Meta(max_length=200, pattern=_ONE_LINE, extra={"rule": "must be one line of at most 200 characters"})
]
Tag = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9_-]{2,30}$(?!\n)",
        extra={"rule": "each must be 2 to 30 characters of a-z, A-Z, 0-9, '-' and '_'"},
    ),
]
Capability = Annotated[
    str,
    Meta(
        min_length=3,
        max_length=50,
        pattern=_ONE_LINE,
        extra={"rule": "each must be one line of 3 to 50 characters"},
    ),
]
Content = Annotated[
    str, Meta(max_length=500_000, extra={"rule": "must be at most 500,000 characters", "multiline": True})
]
ExecutionTimeout = Annotated[int, Meta(ge=1, le=300, extra={"rule": "must be 1 to 300 seconds"})]
MemoryLimit = Annotated[int, Meta(ge=32, le=2048, extra={"rule": "must be 32 to 2048"})]
Url = Annotated[
    str, Meta(max_length=2048, pattern=_ONE_LINE, extra={"rule": "must be one line of at most 2,048 characters"})
]
SkillFile = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=500,
        pattern=_ONE_LINE,
        extra={"rule": "must be a path of 1 to 500 characters below the skills directory"},
    ),
]
VersionNote = Annotated[
    str, Meta(min_length=1, max_length=500, extra={"rule": "must be 1 to 500 characters", "multiline": True})
]
VersionNotes = Annotated[list[VersionNote], Meta(max_length=100, extra={"rule": "must be at most 100"})]
SourceType = Literal["git", "local", "http", "zip"]

SkillId = Annotated[
    str,
    Meta(
        pattern=r"^([a-z0-9]([a-z0-9_-]{0,78}[a-z0-9])?/)?[a-z0-9]([a-z0-9_-]{0,78}[a-z0-9])?$(?!\n)",
        extra={"rule": "must be an id of a-z, 0-9, '-' and '_', or scope/id"},
    ),
]
"""The id of any skill. `NewSkillId` is the stricter rule for skills that are created over HTTP."""

SourceName = Annotated[
    str,
    Meta(
        pattern=r"^[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?$(?!\n)",
        extra={"rule": "must be 1 to 64 characters of a-z, 0-9, '-' and '_', with a letter or digit at both ends"},
    ),
]
Group = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,49}$(?!\n)",
        extra={"rule": "each must be 1 to 50 letters, digits, '.', '-' or '_', beginning with a letter or digit"},
    ),
]
Groups = Annotated[list[Group], Meta(max_length=20, extra={"rule": "must be at most 20"})]

Tags = Annotated[list[Tag], Meta(max_length=20, extra={"rule": "must be at most 20"})]
Capabilities = Annotated[list[Capability], Meta(max_length=20, extra={"rule": "must be at most 20"})]


class _Labelled(msgspec.Struct):
    """A request body with tags and capabilities."""

    @staticmethod
    def prepared(value: Any) -> Any:
        """Return decoded JSON with tags and capabilities as `split_labels` makes them, before the rules are applied."""
        if not isinstance(value, dict):
            return value
        members = {name: value[name] for name in ("tags", "capabilities") if name in value}
        return value | {name: split_labels(labels) for name, labels in members.items() if _are_labels(labels)}


class NewSkill(_Labelled, kw_only=True, forbid_unknown_fields=False):
    """The request body that creates a skill. `tags` and `capabilities` may also be one comma-separated string."""

    id: NewSkillId
    name: Name
    description: Description
    version: Version
    author: Author = ""
    tags: Tags | str = msgspec.field(default_factory=list)
    capabilities: Capabilities | str = msgspec.field(default_factory=list)
    enabled: bool = True
    source_url: Url | None = None
    source_type: SourceType | None = None
    source_branch: Url | None = None
    editable: bool = False
    execution_timeout: ExecutionTimeout | None = None
    memory_limit_mb: MemoryLimit | None = None
    skill_file: SkillFile | None = None
    content: Content | None = None


class SkillChanges(_Labelled, kw_only=True):
    """The request body that updates a skill. Fields that are not sent do not change."""

    id: str | UnsetType = UNSET
    name: Name | UnsetType = UNSET
    description: Description | UnsetType = UNSET
    version: Version | UnsetType = UNSET
    author: Author | UnsetType = UNSET
    tags: Tags | str | UnsetType = UNSET
    capabilities: Capabilities | str | UnsetType = UNSET
    enabled: bool | UnsetType = UNSET
    source_url: Url | None | UnsetType = UNSET
    source_type: SourceType | None | UnsetType = UNSET
    source_branch: Url | None | UnsetType = UNSET
    editable: bool | UnsetType = UNSET
    execution_timeout: ExecutionTimeout | None | UnsetType = UNSET
    memory_limit_mb: MemoryLimit | None | UnsetType = UNSET
    skill_file: SkillFile | None | UnsetType = UNSET
    content: Content | UnsetType = UNSET


class Usability(RuntimeNeeds, kw_only=True):
    """Whether a skill can be used here: what it needs, and whether it can be installed.

    `not_installable` says why it cannot be installed, and is null if it can.
    """

    installable: bool = True
    not_installable: str | None = None


class Card(Usability, kw_only=True):
    """A skill in lists and search results. `findings` is its risk, or null if the skill was not scanned.

    `withdrawn` is missing unless its registry has deprecated it, or withdrawn the version that is installed. `uses_30d`
    is set in responses, and missing where no use was counted in the last 30 days.
    """

    id: str
    name: str
    description: str
    version: str
    author: str
    enabled: bool
    created_at: str
    updated_at: str
    tags: list[str]
    capabilities: list[str]
    installed: bool
    source: str
    license: str | None
    findings: Risk | None = None
    withdrawn: Withdrawn | UnsetType = UNSET
    uses_30d: int | UnsetType = UNSET


class Skill(Usability, kw_only=True):
    """All fields of a skill: the specification's table *Skill (detail)* and the contract's additions (section 4).

    `download_url` is where the package of a published skill is. It is set in responses and not stored. `withdrawn` is
    missing unless its registry has deprecated it, or withdrawn the version that is installed. `dependencies_installed`
    is only in the response of an installation that has installed or replaced other skills too: their ids.
    `publisher` is missing unless a trusted publisher has published the current version. `uses_30d` is that of the card.
    """

    id: str
    name: str
    description: str
    version: str
    author: str = ""
    tags: list[str] = msgspec.field(default_factory=list)
    capabilities: list[str] = msgspec.field(default_factory=list)
    enabled: bool = True
    skill_file: str | None = None
    source_url: str | None = None
    source_type: SourceType = "local"
    source_branch: str | None = None
    editable: bool = False
    created_at: str = ""
    updated_at: str = ""
    execution_environment: str | None = None
    dependencies: list[str] = msgspec.field(default_factory=list)
    timeout: int | None = None
    scope: str | None = None
    source: str = "local"
    installed: bool = True
    license: str | None = None
    digest: str | None = None
    execution_timeout: int | None = None
    memory_limit_mb: int | None = None
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    latest_version: str = ""
    etag: str = ""
    warnings: list[str] = msgspec.field(default_factory=list)
    findings: SkillFindings | None = None
    download_url: str | None = None
    withdrawn: Withdrawn | UnsetType = UNSET
    dependencies_installed: list[str] | UnsetType = UNSET
    publisher: PublisherRun | UnsetType = UNSET
    uses_30d: int | UnsetType = UNSET

    def card(self) -> Card:
        """Return the skill as a list item."""
        same = {name: getattr(self, name) for name in Card.__struct_fields__ if name != "findings"}
        return Card(**same, findings=self.findings.risk if self.findings else None)


class NewVersion(msgspec.Struct, kw_only=True):
    """The request body that creates a version of a skill. The default description is the skill's."""

    version: Version
    description: VersionNote | None = None
    changes: VersionNotes = msgspec.field(default_factory=list)


class VersionItem(msgspec.Struct, kw_only=True):
    """A version as a list item."""

    skill_id: str
    version: str
    description: str
    created_at: str


class SkillVersion(VersionItem, kw_only=True):
    """One version of a skill, with its changes.

    `dependencies` are missing unless it needs others, `withdrawn` unless it, or all of the skill, is withdrawn.
    """

    changes: list[str]
    dependencies: list[str] | UnsetType = UNSET
    withdrawn: Withdrawn | UnsetType = UNSET
    publisher: PublisherRun | UnsetType = UNSET


_MOST_PARTS = 1_000


def example_texts(value: object) -> list[str]:
    """Return the texts of `metadata.examples`: a list, or one text with an example on each line."""
    lines = value.splitlines() if isinstance(value, str) else value if isinstance(value, list) else []
    return [text for text in lines if isinstance(text, str)]


def split_labels(value: list[str] | str) -> list[str]:
    """Return tags or capabilities as a list: trimmed, without empty texts and duplicates, in order.

    What follows a thousand commas of a text stays one label, because each of a hundred thousand costs microseconds.
    """
    parts = value.split(",", _MOST_PARTS) if isinstance(value, str) else value
    return list(dict.fromkeys(part.strip() for part in parts if part.strip()))


def _are_labels(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(item, str) for item in value))


def version_parts(version: str) -> tuple[int, int, int]:
    """Return the numbers of a MAJOR.MINOR.PATCH version, as a sort key for versions."""
    major, minor, patch = version.split(".")
    return int(major), int(minor), int(patch)


def timestamp(moment: datetime.datetime) -> str:
    """Format a time as `YYYY-MM-DDTHH:MM:SS.sssZ`."""
    return moment.astimezone(datetime.UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def timestamp_of(seconds: int) -> str:
    """Format a Unix time in seconds as `YYYY-MM-DDTHH:MM:SS.sssZ`."""
    return timestamp(datetime.datetime.fromtimestamp(seconds, datetime.UTC))


def now() -> datetime.datetime:
    """Return the current time in UTC. It is the clock of all services outside of tests."""
    return datetime.datetime.now(datetime.UTC)
