"""Lists the catalog's own skills page by page, in the order of their creation."""

from typing import NamedTuple

from registry.db import Database
from registry.errors import FieldError, validation_error


class CardPage(NamedTuple):
    """One page of encoded cards, the total number of skills, and whether more follow."""

    cards: list[bytes]
    total: int
    has_more: bool


def list_cards(
    database: Database,
    limit: int,
    offset: int,
    enabled: bool | None,
    *,
    after: str | None = None,
    newest_first: bool = False,
) -> CardPage:
    """Return the cards of at most `limit` skills, behind `offset` skills and behind the skill `after`.

    Advertised skills are not listed. Raises VALIDATION_ERROR if there is no skill `after`.
    """
    where = "s.advertised = 0" + ("" if enabled is None else f" and s.enabled = {int(enabled)}")
    order, comparison = ("desc", "<") if newest_first else ("asc", ">")
    start: tuple[object, ...] = ()
    total = database.read(f"select count(*) from skills s where {where}")[0][0]
    if after is not None:
        rows = database.read("select sequence, id from skills where id = ? and advertised = 0", (after,))
        if not rows:
            raise validation_error(FieldError("after", "must be the id of a listed skill"))
        where, start = f"{where} and (s.sequence, s.id) {comparison} (?, ?)", rows[0]
    rows = database.read(
        f"select d.card from skills s join documents d on d.key = s.key where {where}"
        f" order by s.sequence {order}, s.id {order} limit ? offset ?",
        (*start, limit + 1, offset),
    )
    return CardPage([row[0].encode() for row in rows[:limit]], total, len(rows) > limit)


class EnabledSkill(NamedTuple):
    """An enabled skill, whether it is a folder, and the revision of its last change."""

    id: str
    is_folder: bool
    revision: int


def enabled_skills(database: Database) -> list[EnabledSkill]:
    """Return the catalog's own skills that are enabled, in order of id."""
    sql = (
        "select s.id, s.folder is not null, d.number from skills s join documents d on d.key = s.key"
        " where s.advertised = 0 and s.enabled = 1 order by s.id"
    )
    return [EnabledSkill(skill_id, bool(is_folder), number) for skill_id, is_folder, number in database.read(sql)]
