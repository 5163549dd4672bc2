"""The published skills in the list of the index."""

from itertools import groupby

import msgspec

from registry.catalog.listing import descriptions
from registry.db import Database, Row

_ACTIVE = (
    "select skill_id, version, published_at from published where state = 'active'"
    " order by skill_id, major, minor, patch"
)


class IndexedSkill(msgspec.Struct, kw_only=True):
    """A published skill in the list of the index. `versions` are the active ones, newest first."""

    id: str
    scope: str
    name: str
    description: str
    latest_version: str
    published_at: str
    versions: list[str]


def indexed_skills(database: Database) -> list[IndexedSkill]:
    """Return the published skills that have an active version, in order of id.

    Descriptions are those of the catalog, because the record of a version may be a megabyte.
    """
    described = descriptions(database)
    by_skill = groupby(database.read(_ACTIVE), key=lambda row: str(row[0]))
    return [_indexed(skill_id, list(rows), described.get(skill_id, "")) for skill_id, rows in by_skill]


def _indexed(skill_id: str, active: list[Row], description: str) -> IndexedSkill:
    _, latest, published_at = active[-1]
    scope, _, name = skill_id.partition("/")
    return IndexedSkill(
        id=skill_id,
        scope=scope,
        name=name,
        description=description,
        latest_version=latest,
        published_at=published_at,
        versions=[row[1] for row in reversed(active)],
    )
