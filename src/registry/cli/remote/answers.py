"""The shape of a server's answers, as far as the commands rely on it. Fields that they only print are not named here.

An answer is checked once, where it arrives, and then used as it came: `--json` prints all of it.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from registry.parsing.json_document import JsonUnreadable, read_json
from registry.parsing.strict_json import MAX_INTEGER, has_more_values
from search.corrections import Correction

_MAX_DEPTH = 64
_MAX_VALUES = 1_000_000
"""About 100 MB of memory. A list of 1,000 results of an import has 10,000 values."""

Count = Annotated[int, Meta(ge=0, le=MAX_INTEGER)]

Credential = Annotated[str, Meta(min_length=1, max_length=16_384, pattern=r"^[!-~]+$")]
"""A token, as a header carries it."""

Moment = Annotated[str, Meta(pattern=r"^[0-9]{4}[-0-9T:.Z+]{0,36}$")]
"""A time in RFC 3339, whose texts compare as the times do."""


class WrongShape(Exception):
    """An answer is not what the protocol says."""


class Findings(Struct):
    """What was found in a skill."""

    class Finding(Struct):
        """One finding."""

        severity: str
        rule: str
        message: str
        file: str | None
        line: Count | None

    risk: str
    findings: list[Finding]


class Card(Struct):
    """A skill in a list."""

    id: str
    version: str
    description: str
    source: str
    installed: bool
    findings: str | None


class BinnedSkill(Struct):
    """A removed skill that can be restored."""

    id: str
    removed_at: Moment
    kept_until: Moment


class Skill(Struct):
    """A skill in full."""

    id: str
    version: str
    installed: bool
    findings: Findings | None
    warnings: list[str]


class Version(Struct):
    """A version of a skill."""

    skill_id: str
    version: str
    description: str
    created_at: Moment
    changes: list[str] = []


class OwnToken(Struct):
    """A token of the user, without its text."""

    id: str
    name: str
    operations: list[str]
    skills: list[str]
    expires_at: Moment
    last_used_at: Moment | None


class MadeOwnToken(OwnToken):
    """A new token with its text."""

    token: Credential


class Content(Struct):
    """The SKILL.md of a skill."""

    content: str


class Found(Struct):
    """The answer of a search."""

    class Hit(Struct):
        """A result."""

        skill: Card
        score: float
        relevance: str
        matched_by: list[str]

    skills: Sequence[Hit]
    warnings: list[str]
    mode: str
    took_ms: float
    count: Count
    corrections: list[Correction] = []
    search_id: str | None = None


class Explained(Found):
    """The answer of a search with explanations."""

    class Hit(Found.Hit):
        """A result, and why it has its rank."""

        class Explanation(Struct):
            """The parts of a rank."""

            class Word(Struct):
                """A word of the query, and where it is."""

                word: str
                weight: float
                fields: list[str]

            evidence: float
            parts: dict[str, float]
            cosine: float | None
            tier: str | None
            words: list[Word]
            examples: list[str]

        explanation: Explanation

    skills: Sequence[Hit]


class Page(Struct):
    """One page of a list."""

    class Pagination(Struct):
        """The size of the whole list."""

        total: Count

    data: list[Any]
    pagination: Pagination


class Status(Struct):
    """The state of a service."""

    class Embedding(Struct):
        """The model of its vectors."""

        provider: str | None
        model: str | None
        dim: Count | None

    embedding: Embedding
    skipped: dict[str, str]
    problems: dict[str, str] = {}


class Issuer(Struct):
    """To whom a service issues tokens; None if it issues none. And whether people sign in at an issuer of theirs."""

    issuer: str | None = None
    sign_in: bool | None = None


class Job(Struct):
    """A job that has begun."""

    job_id: str


class Reindexing(Struct):
    """The state of a reindexing."""

    class Result(Struct):
        """What it has done."""

        failed: Count
        errors: list[str]

    status: str
    done: Count
    total: Count
    result: Result | None = None
    error: str | None = None


class Source(Struct):
    """A source of skills."""

    name: str
    type: str
    skills: Count
    last_refreshed: str | None
    url: str | None
    path: str | None
    error: str | None
    warnings: list[str]


class Error(Struct):
    """An error of the API."""

    class Detail(Struct):
        """What is wrong with a field."""

        field: str
        message: str

    message: str
    code: str | None = None
    details: list[Detail] | None = None


class Batch(Struct):
    """What became of each line of a batch."""

    class Result(Struct):
        """One line."""

        success: bool
        error: Error | None = None

    results: list[Result]


class Upgrades(Struct):
    """What became of each skill of an upgrade."""

    class Row(Struct):
        """One skill."""

        class LocalChanges(Struct):
            """What was changed in its folder."""

            diff: str

        id: str
        outcome: str
        reason: str | None
        resolved_version: str | None
        local_changes: LocalChanges | None = None

    results: list[Row]


class RuleFile(Struct):
    """A rule file for editors that was written."""

    skills_count: Count
    path: str


class NewToken(Struct):
    """A token that was issued."""

    token: Credential
    role: str
    expires_at: Moment


class DeviceCode(Struct):
    """A code with which a person signs in for this command. `expires_in` and `interval` are in seconds."""

    device_code: Annotated[str, Meta(min_length=1, max_length=4000)]
    user_code: Annotated[str, Meta(min_length=1, max_length=100)]
    verification_uri: Annotated[str, Meta(pattern=r"^https?://[^\s]{1,2000}$(?!\n)")]
    expires_in: Annotated[int, Meta(ge=1, le=86_400)]
    interval: Annotated[int, Meta(ge=1, le=60)]


class SignInAnswer(Struct):
    """How the sign-in of a person goes: `token` is absent until it has ended."""

    token: NewToken | None = None
    slow_down: bool = False


class Audience(Struct):
    """What an identity token must be for."""

    audience: Annotated[str, Meta(min_length=1, max_length=1000)]


class Told(Struct):
    """A message."""

    message: str


def read_answer(content: bytes) -> Any:
    """Return the JSON of an answer. Raises WrongShape for what is none, or is too large or too deep to work with."""
    if has_more_values(content, _MAX_VALUES):
        raise WrongShape
    try:
        answer = read_json(content)
    except JsonUnreadable:
        raise WrongShape from None
    if content.count(b"[") + content.count(b"{") > _MAX_DEPTH and any(level > _MAX_DEPTH for level in _levels(answer)):
        raise WrongShape
    return answer


def _levels(value: object) -> Iterator[int]:
    """Yield the depth of each list and object."""
    waiting = [(value, 1)]
    while waiting:
        item, level = waiting.pop()
        if isinstance(item, dict | list):
            yield level
            waiting += [(inner, level + 1) for inner in (item.values() if isinstance(item, dict) else item)]


def checked(value: Any, kind: Any) -> Any:
    """Return a value of an answer as it is, if it can be read as a `kind`. Raises WrongShape."""
    try:
        msgspec.convert(value, kind)
    except (msgspec.ValidationError, RecursionError):
        raise WrongShape from None
    return value
