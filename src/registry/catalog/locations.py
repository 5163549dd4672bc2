"""Where skills are, as an agent needs it: read for all hits of a search at once."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from registry.db import Database
from registry.domain.source_entry import Listed


class _Detail(msgspec.Struct):
    """What is read of a stored skill, with the defaults of `domain.models.Skill`."""

    version: str
    source: str = "local"
    installed: bool = True
    skill_file: str | None = None
    digest: str | None = None


class Location(NamedTuple):
    """Where a skill is.

    `skill_file` is the path of an installed skill's SKILL.md below the skills directory, `digest` that of its content,
    `listed` what its source lists if it is only advertised.
    """

    id: str
    version: str
    source: str
    installed: bool
    skill_file: str | None
    digest: str | None
    listed: Listed | None


def locations(database: Database, keys: Sequence[int]) -> dict[int, Location]:
    """Return where the skills with these keys are, by key. Skills that do not exist any more are omitted."""
    if not keys:
        return {}
    rows = database.read(
        "select s.key, s.id, s.detail, a.record"
        f" from skills s left join advertised a on a.key = s.key where s.key in ({', '.join('?' * len(keys))})",
        keys,
    )
    return {key: _location(skill_id, detail, record) for key, skill_id, detail, record in rows}


def _location(skill_id: str, detail: str, record: str | None) -> Location:
    read = msgspec.json.decode(detail, type=_Detail)
    listed = msgspec.json.decode(record, type=Listed) if record else None
    return Location(skill_id, read.version, read.source, read.installed, read.skill_file, read.digest, listed)
