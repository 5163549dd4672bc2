"""The use case of a batch: many skills created from lines of JSON, each accepted or refused for itself."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

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
from registry.services.skills import check_names, is_install

MOST_SKILLS = 1_000
"""The number of skills that one batch may have."""

_SKILLS_PER_TRANSACTION = 100
_BYTES_PER_TRANSACTION = 1 << 20
"""What one transaction takes, because other writers wait for it, and other scans for those of its texts."""


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
    lines = [Line(number, line) for number, line in enumerate(body.split(b"\n"), 1) if line.strip()]
    if not 1 <= len(lines) <= MOST_SKILLS:
        raise validation_error(FieldError("body", f"must be 1 to {MOST_SKILLS:,} lines, each a JSON object"))
    return lines


def create_skills(services: Services, lines: Iterable[Line], caller: Principal | None = None) -> list[Outcome]:
    """Create a skill from each line, as `skills.create_from_fields`, and return the outcomes in order.

    A transaction takes up to 100 lines. A line that is refused, or that meets an unexpected error, changes nothing and
    stops no other. The indexes of this process follow once, at the end, or with the first search before it.
    """
    with services.database.hooks.batch():
        return [outcome for group in _groups(lines) for outcome in _created_group(services, group, caller)]


def _created_group(services: Services, group: Sequence[Line], caller: Principal | None) -> Iterator[Outcome]:
    asked = [result_or_error(_request, services, line.content, caller) for line in group]
    news = [new for new in asked if isinstance(new, NewSkill)]
    made = iter(_created(services, news, caller.scope if caller else None))
    for line, new in zip(group, asked, strict=True):
        yield Outcome(line.number, next(made) if isinstance(new, NewSkill) else new)


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
    check_names(services, caller, (new.id, new.name))
    return new


def _created(services: Services, news: Sequence[NewSkill], scope: str | None) -> Sequence[Skill | Exception]:
    """Create skills in one transaction. After an unexpected error, create each in its own, so that one fails alone."""
    if not news:
        return []
    try:
        return services.skill_backends.create_all(news, scope)
    except (RegistryError, DatabaseError, OSError) as error:  # of the service, and not of one skill
        return [error] * len(news)
    except Exception as error:
        if len(news) == 1:
            return [error]
        return [outcome for new in news for outcome in _created(services, [new], scope)]
