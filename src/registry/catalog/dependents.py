"""Which skills of the catalog need a skill, whether it is published here, installed, or listed by a source."""

from collections.abc import Sequence

import msgspec

from registry.db import Database
from registry.errors import skill_not_found

_IDS_IN_REGISTRIES = (
    "select s.id from skills s where s.id = ?"
    " union select i.listed from installs i join skills s on s.folder = i.folder"
    " where s.id = ? and i.listed is not null"
    " union select a.id from advertised a join skills s on s.key = a.key where s.id = ?"
)
"""Selects the ids under which others may need a skill: its own, and the one that it has in its registry."""

_DEPENDENTS = (
    "from dependencies d join skills s on s.key = d.key where d.needs in ({ids})"
    " and not exists (select 1 from advertised a join installs i on i.source = a.source and i.listed = a.id"
    " where a.key = s.key)"
)
"""Selects the skills that need one of some ids. One that a source lists and that is installed counts once."""


class Dependent(msgspec.Struct, kw_only=True):
    """A skill that needs another one, in the versions that `range` admits."""

    id: str
    version: str
    range: str
    installed: bool


class _Detail(msgspec.Struct):
    version: str
    installed: bool


def list_dependents(database: Database, skill_id: str, limit: int, offset: int) -> tuple[list[Dependent], int]:
    """Return one page of the skills that need a skill, in order of id, and their total number.

    Raises SKILL_NOT_FOUND if the catalog neither has the skill nor one that needs it.
    """
    ids = {skill_id, *(str(row[0]) for row in database.read(_IDS_IN_REGISTRIES, (skill_id,) * 3))}
    dependents = _DEPENDENTS.format(ids=", ".join("?" * len(ids)))
    total = int(database.read(f"select count(*) {dependents}", tuple(ids))[0][0])
    if not total and not database.read("select 1 from skills where id = ?", (skill_id,)):
        raise skill_not_found(skill_id)
    rows = database.read(
        f"select s.id, s.detail, d.admits {dependents} order by s.id limit ? offset ?", (*ids, limit, offset)
    )
    return [
        _dependent(skill, msgspec.json.decode(detail, type=_Detail), admits) for skill, detail, admits in rows
    ], total


def _dependent(skill_id: str, detail: _Detail, admits: str) -> Dependent:
    return Dependent(id=skill_id, version=detail.version, range=admits, installed=detail.installed)


def installed_dependents(database: Database, skill_id: str) -> list[str]:
    """Return the ids of the installed skills that need an installed skill, and those that need these, the last first.

    A skill that is not installed is needed by none.
    """
    if not database.read("select 1 from skills where id = ? and folder is not null", (skill_id,)):
        return []
    skill_ids = [skill_id]
    for needed_id in skill_ids:
        ids = {str(row[0]) for row in database.read(_IDS_IN_REGISTRIES, (needed_id,) * 3)}
        sql = (
            "select distinct s.id from dependencies d join skills s on s.key = d.key"
            f" where s.folder is not null and d.needs in ({', '.join('?' * len(ids))}) order by s.id"
        )
        skill_ids += [str(row[0]) for row in database.read(sql, tuple(ids)) if row[0] not in skill_ids]
    return skill_ids[:0:-1]


def installed_ids(database: Database) -> dict[str, str]:
    """Return the ids here of installed skills by the ids that they have in their registry, and others need them by."""
    sql = "select i.listed, s.id from installs i join skills s on s.folder = i.folder where i.listed is not null"
    return {str(listed): str(skill_id) for listed, skill_id in database.read(f"{sql} order by s.id desc")}


def dependencies_of(database: Database, keys: Sequence[int]) -> dict[int, list[str]]:
    """Return what skills need, as `id@range`, by their keys; nothing for a skill that needs none."""
    needed: dict[int, list[str]] = {}
    sql = f"select key, needs, admits from dependencies where key in ({', '.join('?' * len(keys)) or 'null'})"
    for key, needs, admits in database.read(f"{sql} order by key, needs", keys):
        needed.setdefault(key, []).append(f"{needs}@{admits}")
    return needed
