"""The use case of a batch: many skills created from lines of JSON, each accepted or refused for itself."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import msgspec

from registry.catalog.new_skills import NewSkills
from registry.db import DatabaseError
from registry.domain.models import NewSkill, Skill
from registry.domain.roles import Principal
from registry.errors import (
    FieldError,
    RegistryError,
    payload_too_large,
    result_or_error,
    validation_error,
)
from registry.install.schemas import SkillRequest
from registry.parsing.strict_json import decode
from registry.services.container import Services
from registry.services.skills import check_new, is_install

MOST_SKILLS = 1_000
"""The number of skills that one batch may have."""

_MOST_LINES = 2 * MOST_SKILLS
"""The number of lines of a batch with those that are blank."""

_SKILLS_PER_TRANSACTION = 100
_BYTES_PER_TRANSACTION = 1 << 20
"""What one transaction takes, because other writers wait for it, and other scans for those of its texts."""

_AHEAD = 2
"""The number of transactions that are prepared at a time: one waits for the disk and its scan, another is decoded."""


class CreatedSkill(msgspec.Struct, kw_only=True):
    """A skill that a batch has created."""

    id: str
    version: str
    etag: str


class Line(NamedTuple):
    """A line of a batch: its number, from 1, and its bytes."""

    number: int
    content: bytes


class Outcome(NamedTuple):
    """What became of a line: the skill as stored, or why nothing was changed."""

    line: int
    result: Skill | Exception


def lines_of(body: bytes) -> list[Line]:
    """Return the lines of a batch that are not blank. Raises VALIDATION_ERROR for none, or too many."""
    lines: list[Line] = []
    if body.count(b"\n") <= _MOST_LINES:  # a list of millions of lines would take gigabytes
        lines = [Line(number, line) for number, line in enumerate(body.split(b"\n"), 1) if line and not line.isspace()]
    if not 1 <= len(lines) <= MOST_SKILLS:
        raise validation_error(FieldError("body", f"must be 1 to {MOST_SKILLS:,} lines, each a JSON object"))
    return lines


def create_skills(services: Services, lines: Iterable[Line], caller: Principal | None = None) -> list[Outcome]:
    """Create a skill from each line, as `skills.create_from_fields`, and return the outcomes in order.

    A transaction takes up to 100 lines, and meanwhile those of the next two are prepared. A line that is refused, or
    that meets an unexpected error, changes nothing and stops no other. The indexes of this process follow once, at the
    end, or with the first search before it.
    """
    outcomes: list[Outcome] = []
    pending: deque[Future[_Group]] = deque()
    with services.database.hooks.batch(), ThreadPoolExecutor(_AHEAD) as ahead:
        try:
            for group in _groups(lines):
                pending.append(ahead.submit(_group, services, group, caller))
                if len(pending) > _AHEAD:
                    outcomes += _outcomes(services, pending.popleft().result())
            while pending:
                outcomes += _outcomes(services, pending.popleft().result())
        finally:
            for left in pending:
                left.result().discard()
    return outcomes


class _Group(NamedTuple):
    """What the lines of one transaction ask for, in the scope of the caller, and the skills prepared for it."""

    lines: list[Line]
    asked: list[NewSkill | RegistryError]
    scope: str | None
    prepared: NewSkills | Exception

    def discard(self) -> None:
        """Remove what was prepared and will not be stored."""
        if isinstance(self.prepared, NewSkills):
            self.prepared.discard()


def _group(services: Services, lines: list[Line], caller: Principal | None) -> _Group:
    requests = [result_or_error(_request, services, line.content, caller) for line in lines]
    scope = caller.scope if caller else None
    return _Group(
        lines, requests, scope, _prepared(services, [new for new in requests if isinstance(new, NewSkill)], scope)
    )


def _prepared(services: Services, news: Sequence[NewSkill], scope: str | None) -> NewSkills | Exception:
    try:
        return services.skill_backends.prepare(news, scope)
    except Exception as error:  # what to do about it is decided where the skills are stored
        return error


def _outcomes(services: Services, group: _Group) -> Iterator[Outcome]:
    news = [new for new in group.asked if isinstance(new, NewSkill)]
    outcomes = iter(_stored(services, news, group.scope, group.prepared))
    for line, new in zip(group.lines, group.asked, strict=True):
        yield Outcome(line.number, next(outcomes) if isinstance(new, NewSkill) else new)


def _groups(lines: Iterable[Line]) -> Iterator[list[Line]]:
    group: list[Line] = []
    size = 0
    for line in lines:
        if group and (len(group) == _SKILLS_PER_TRANSACTION or size + len(line.content) > _BYTES_PER_TRANSACTION):
            yield group
            group, size = [], 0
        group.append(line)
        size += len(line.content)
    if group:
        yield group


def _request(services: Services, content: bytes, caller: Principal | None) -> NewSkill:
    most = services.settings.limits.json_body_bytes
    if len(content) > most:
        raise RegistryError("PAYLOAD_TOO_LARGE", payload_too_large(most).message.replace("body", "line"))
    request = decode(content, SkillRequest)
    if is_install(services, request):
        raise validation_error(message="A batch creates skills: install this one with POST /api/v1/skills")
    new: NewSkill = request
    check_new(services, caller, new)
    return new


def _stored(
    services: Services, news: Sequence[NewSkill], scope: str | None, prepared: NewSkills | Exception
) -> Sequence[Skill | Exception]:
    """Store skills in one transaction. After an unexpected error, create each in its own, so that one fails alone."""
    try:
        if isinstance(prepared, Exception):
            raise prepared
        return prepared.store()
    except (RegistryError, DatabaseError, OSError) as error:  # of the service, and not of one skill
        return [error] * len(news)
    except Exception as error:
        if len(news) == 1:
            return [error]
        return [
            outcome for new in news for outcome in _stored(services, [new], scope, _prepared(services, [new], scope))
        ]
