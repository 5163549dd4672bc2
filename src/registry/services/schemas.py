"""Request and response bodies of search, resolve and status. Servers and clients share them, so imports stay light."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from registry.domain.findings import Risk
from registry.domain.origins import Origin
from search.corrections import Correction
from search.explanation import Explanation
from search.modes import MatchedBy, Mode, RanMode, Relevance
from search.snippet import Snippet

Query = Annotated[
    str,
    Meta(
        pattern=r"\S",
        extra={"rule": "must be 1 character or more, not all white space", "multiline": True},
    ),
]
Limit = Annotated[int, Meta(ge=1, le=2**53, extra={"rule": "must be a number from 1 on; above 100 counts as 100"})]
Offset = Annotated[int, Meta(ge=0, le=2**53, extra={"rule": "must be a number from 0 on"})]
Score = Annotated[float, Meta(ge=0, le=1, extra={"rule": "must be a number from 0 to 1"})]
Label = Annotated[str, Meta(min_length=1, max_length=100, extra={"rule": "must be 1 to 100 characters"})]
Attribute = Annotated[
    str, Meta(min_length=1, max_length=200, extra={"rule": "must be 1 to 200 characters, not all white space"})
]
"""Without a pattern: msgspec 0.22 frees one in use where a type is this text or a list, and the process ends.

`SearchBody.prepared` trims the texts, so that white space alone is too short.
"""

LeftOutReason = Literal["id_not_allowed", "name_differs"]
"""The id, after its scope, is not a name of agentskills.io; or the `name` in `SKILL.md` is another one."""

ContentDetail = Literal["none", "preview", "full"]


class FilterValues(msgspec.Struct, kw_only=True):
    """Values of skills. Each list but `tags` and `capabilities` has alternatives; an empty list says nothing.

    `author` and `license` are compared without differences of case and white space, `os` and `agent` by the usual names
    of systems and agents (`macos` is `darwin`).
    """

    tags: list[Label] = msgspec.field(default_factory=list)
    any_tags: list[Label] = msgspec.field(default_factory=list)
    capabilities: list[Label] = msgspec.field(default_factory=list)
    any_capabilities: list[Label] = msgspec.field(default_factory=list)
    source: Label | list[Label] | None = None
    scope: Label | list[Label] | None = None
    author: Attribute | list[Attribute] | None = None
    license: Attribute | list[Attribute] | None = None
    installed: bool | None = None
    enabled: bool | None = None
    max_risk: Risk | None = None
    os: Label | list[Label] | None = None
    agent: Label | list[Label] | None = None
    model_invocation: bool | None = None


class SearchFilters(FilterValues, kw_only=True):
    """Which skills a search or a list admits: those with all `tags` and `capabilities` and every other value given.

    Of `any_tags`, `any_capabilities` and of a list of other values, a skill has at least one. It has none of the values
    in `not`: there, each of several tags excludes a skill.

    `max_risk` admits skills with findings up to this risk. It does not admit skills that have not been scanned.

    `os` and `agent` admit skills that are for this operating system or agent, and those that do not say; in `not`, they
    exclude only those that say so. `model_invocation` admits only skills that agents may choose by themselves, or only
    those that persons choose. An installed skill whose version was revoked is none for agents.
    """

    not_: FilterValues | None = msgspec.field(default=None, name="not")


FILTERS: Mapping[str, str] = MappingProxyType(
    {
        "tags": "All of these tags",
        "any_tags": "Any of these tags",
        "capabilities": "All of these capabilities",
        "any_capabilities": "Any of these capabilities",
        "source": "A source; local: the skills directory",
        "scope": "A scope of published skills",
        "author": "An author",
        "license": "A licence, such as MIT",
        "installed": "Installed, or not",
        "enabled": "Enabled, or not",
        "max_risk": "Findings at most this severe",
        "os": "An operating system: skills for it, and those that do not say",
        "agent": "An agent: skills for it, and those that do not say",
        "model_invocation": "Chosen by agents, or only by persons",
    }
)
"""What each field of `FilterValues` means, for query strings and options of the command."""

ListSort = Literal["name", "source", "updated", "created", "risk", "uses", "unused"]
"""An order: by name, by source (the service's own first), the last change, newest or gravest risk first.

By uses in the last 30 days: the most first, or, for `unused`, none first.
"""

Sort = Literal["relevance", ListSort]


def _trimmed(value: Any, *names: str) -> Any:
    if isinstance(value, dict):
        return value | {name: _trimmed_texts(value[name]) for name in names if name in value}
    return value


def _with_trimmed_filters(value: Any) -> Any:
    if not (isinstance(value, dict) and isinstance(filters := value.get("filters"), dict)):
        return value
    parts = {"not": _trimmed(filters["not"], "author", "license")} if "not" in filters else {}
    return value | {"filters": _trimmed(filters | parts, "author", "license")}


def _trimmed_texts(value: Any) -> Any:
    if isinstance(value, list):
        return [_trimmed_texts(each) if isinstance(each, str) else each for each in value]
    return value.strip() if isinstance(value, str) else value


class _Lenient(msgspec.Struct, dict=True):
    """A body whose unknown names are no errors, because a newer client may send them: `ignored` tells them."""

    @property
    def ignored(self) -> Sequence[str]:
        """The names that the service does not know."""
        names: Sequence[str] = self.__dict__.get("ignored_names", ())
        return names

    def ignoring(self, names: Sequence[str]) -> None:
        """Note the names."""
        self.__dict__["ignored_names"] = names


SEARCH_LIMIT = 10
"""How many hits a search returns if it does not say how many."""


class SearchBody(_Lenient, kw_only=True):
    """The body of a search.

    Without `weak`, skills of low relevance are left out; so they are in another order than that of relevance.
    """

    query: Query
    limit: Limit = SEARCH_LIMIT
    offset: Offset = 0
    mode: Mode = "auto"
    filters: SearchFilters | None = None
    min_score: Score = 0.0
    content: ContentDetail = "none"
    explain: bool = False
    highlight: bool = False
    facets: bool = False
    group: bool = True
    weak: bool = True
    sort: Sort = "relevance"

    @staticmethod
    def prepared(value: Any) -> Any:
        """Return decoded JSON with the query and the texts of filters trimmed, before the rules are applied."""
        return _trimmed(_with_trimmed_filters(value), "query")


class Grouped(msgspec.Struct, kw_only=True):
    """The near-copies that share the place of a hit: how many, and the ids of the first 20, oldest first."""

    count: int
    ids: Sequence[str]


class FoundSkill(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One hit: its score, why it matched, and the card of the skill.

    `snippet` is the passage with the words of the query, if the search requested it and there is one. `grouped` are
    the near-copies of the skill that have no place of their own, if there are any.
    """

    score: float
    relevance: Relevance
    matched_by: tuple[MatchedBy, ...]
    skill: msgspec.Raw
    content: str | None = None
    snippet: Snippet | None = None
    explanation: Explanation | None = None
    grouped: Grouped | None = None


class Facets(msgspec.Struct, kw_only=True):
    """How many of the skills that `total` counts have each value: most first, at most 40 of each kind.

    Of more than were ranked (`total_is_floor`, or words alone), those that were ranked.
    """

    sources: list[tuple[str, int]]
    tags: list[tuple[str, int]]
    capabilities: list[tuple[str, int]]
    authors: list[tuple[str, int]]
    licenses: list[tuple[str, int]]
    risks: list[tuple[str, int]]
    systems: list[tuple[str, int]]
    agents: list[tuple[str, int]]
    installed: int


class SearchData(msgspec.Struct, kw_only=True):
    """The result of a search. `mode` is what ran, `limit` what was used; `count` is the number of skills here.

    `total` is the number of skills on all pages but weak ones, which any query finds, whatever the page is; with
    `total_is_floor`, there are at least as many.
    `search_id` names the search in feedback; it is missing where the service does not learn from use. `corrections` are
    missing where every word was searched as it is written.
    """

    query: str
    mode: RanMode
    limit: int
    count: int
    total: int
    total_is_floor: bool
    took_ms: float
    warnings: list[str]
    skills: list[FoundSkill]
    facets: Facets | UnsetType = UNSET
    search_id: str | UnsetType = UNSET
    corrections: list[Correction] | UnsetType = UNSET


class ResolveBody(_Lenient, kw_only=True):
    """The body of an agent's search: its prompt."""

    prompt: Query
    limit: Limit = 5
    content: ContentDetail = "none"
    explain: bool = False
    group: bool = True
    filters: SearchFilters | None = None

    @staticmethod
    def prepared(value: Any) -> Any:
        """Return decoded JSON with the prompt and the texts of filters trimmed, before the rules are applied."""
        return _trimmed(_with_trimmed_filters(value), "prompt")


class ResolvedSkill(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One skill for an agent: where its SKILL.md is on this machine or on this service, or where its package is.

    `checksum` is `sha256:` and the digest of the zip at `download_url`, if this service has published it.
    `dependencies` are the skills that it needs, as `id@range`.
    """

    skill_id: str
    name: str
    description: str
    score: float
    relevance: Relevance
    risk: Risk | None = None
    skill_md_path: str | None = None
    source: str | None = None
    origin: Origin | None = None
    download_url: str | None = None
    checksum: str | None = None
    dependencies: list[str] = msgspec.field(default_factory=list)
    content: str | None = None
    explanation: Explanation | None = None
    grouped: Grouped | None = None


class ResolveData(msgspec.Struct, kw_only=True):
    """The skills for an agent's prompt, best first. `warnings` and `corrections` are those of `SearchData`."""

    query: str
    warnings: list[str]
    results: list[ResolvedSkill]
    corrections: list[Correction] | UnsetType = UNSET


class EmbeddingStatus(msgspec.Struct, kw_only=True):
    """The embedding model; all null if only keyword search runs."""

    provider: str | None
    model: str | None
    dim: int | None
    error: str | None


class LeftOut(msgspec.Struct, kw_only=True, frozen=True):
    """How many of the listed skills have no name of agentskills.io. `unchecked` are still to be checked."""

    count: int
    reasons: dict[LeftOutReason, int]
    unchecked: int


class ProtocolsStatus(msgspec.Struct, kw_only=True):
    """What the protocols below `protocols.enabled` do not show."""

    left_out: LeftOut


State = Literal["ok", "starting", "degraded", "draining"]


class StatusData(msgspec.Struct, kw_only=True):
    """The status of the service. `skipped` maps folders that could not be read to reasons; `warnings` lists defects.

    `status` is `degraded` while `problems` names parts that do not work, with the reason; each is retried.

    `public_url` is the setting of that name: where others reach the service.

    `issuer` says who gets a token without a credential: any caller, no caller, or callers on loopback.
    `anonymous_read` says whether reading works without one, and `sign_in` whether people sign in at an issuer of
    OpenID Connect, from `/auth/sign-in`. They are null in the local profile. `notices` maps settings to what an
    administrator should do, and installed skills to how their registry has withdrawn them; in a registry, only
    administrators see it.

    `publishing` says whether packages are published here.

    `protocols` says how many skills the protocols leave out that demand names of agentskills.io.
    """

    status: State
    version: str
    profile: str
    uptime_seconds: float
    skills: int
    indexed: int
    pending: int
    drift: int
    embedding: EmbeddingStatus
    generation: int
    writable: bool
    public_url: str | None
    issuer: Literal["open", "closed", "loopback"] | None
    sign_in: bool | None
    anonymous_read: bool | None
    problems: dict[str, str]
    skipped: dict[str, str]
    warnings: dict[str, list[str]]
    notices: dict[str, str]
    publishing: bool
    protocols: ProtocolsStatus
