"""Lists the catalog's own skills page by page, in the order of their creation.

A page begins behind a position in an index. An offset is turned into a position by the counts of the catalog, so a page
takes as long at the end of a large catalog as at its beginning.
"""

from typing import NamedTuple

import msgspec

from registry.database.counts import BLOCK, DISABLED, ENABLED, block_totals, total, total_before
from registry.db import Database
from registry.errors import FieldError, validation_error


class Position(NamedTuple):
    """The place of a skill in the list: the revision of its creation, and its key."""

    sequence: int
    key: int


class CardPage(NamedTuple):
    """One page of encoded cards, with the keys of their skills.

    `total` is the number of skills of the list, `offset` the number before the page, and `last` the position of the
    last skill of the page if more follow.
    """

    cards: list[bytes]
    keys: list[int]
    total: int
    offset: int
    last: Position | None

    @property
    def has_more(self) -> bool:
        """Whether more skills follow."""
        return self.last is not None


def list_cards(
    database: Database,
    limit: int,
    offset: int,
    enabled: bool | None,
    *,
    after: Position | str | None = None,
    newest_first: bool = False,
) -> CardPage:
    """Return the cards of at most `limit` skills, behind `offset` skills, or behind the skill or position `after`.

    Advertised skills are not listed. Raises VALIDATION_ERROR if there is no skill with the id `after`.
    """
    names = _counted(enabled)
    count = total(database, *names)
    where = "s.advertised = 0" + ("" if enabled is None else f" and s.enabled = {int(enabled)}")
    order, comparison = ("desc", "<") if newest_first else ("asc", ">")
    start: tuple[int, ...] = ()
    skipped = offset
    if after is not None:
        position = _position(database, after) if isinstance(after, str) else after
        offset = (
            count - _rank(database, where, names, position, "<")
            if newest_first
            else (_rank(database, where, names, position, "<="))
        )
        where += f" and s.sequence {comparison}= ? and (s.sequence, s.key) {comparison} (?, ?)"
        start = (position.sequence, *position)
    elif offset >= BLOCK:
        block, skipped = _block_at(database, names, offset)
        where, start = f"{where} and s.sequence >= ?", (block * BLOCK,)
    page = f"select s.key, s.sequence from skills s where {where} order by s.sequence {order}, s.key {order}"
    rows = database.read(
        f"select d.card, p.sequence, p.key from ({page} limit ? offset ?) p join documents d on d.key = p.key"
        f" order by p.sequence {order}, p.key {order}",
        (*start, limit + 1, skipped),
    )
    last = Position(*rows[limit - 1][1:]) if len(rows) > limit else None
    page_rows = rows[:limit]
    return CardPage([row[0].encode() for row in page_rows], [row[2] for row in page_rows], count, offset, last)


def _counted(enabled: bool | None) -> tuple[str, ...]:
    """Return the names of the counts of a list."""
    return (ENABLED, DISABLED) if enabled is None else (ENABLED,) if enabled else (DISABLED,)


def _position(database: Database, skill_id: str) -> Position:
    rows = database.read("select sequence, key from skills where id = ? and advertised = 0", (skill_id,))
    if not rows:
        raise validation_error(FieldError("after", "must be the id of a listed skill"))
    return Position(*rows[0])


def _rank(database: Database, where: str, names: tuple[str, ...], position: Position, comparison: str) -> int:
    """Return how many skills of a list compare so with a position."""
    block = position.sequence // BLOCK
    sql = f"select count(*) from skills s where {where} and s.sequence >= ? and (s.sequence, s.key) {comparison} (?, ?)"
    within = int(database.read(sql, (block * BLOCK, *position))[0][0])
    return total_before(database, block, *names) + within


def _block_at(database: Database, names: tuple[str, ...], offset: int) -> tuple[int, int]:
    """Return the block with the skill at an offset, and how many skills of the block precede it."""
    block = 0
    for block, count in block_totals(database, *names):
        if offset < count:
            return block, offset
        offset -= count
    return block + 1, offset


def ids_named(database: Database, name: str) -> list[str]:
    """Return the ids of the catalog's own enabled skills of a name, in order: the name itself, and `scope/name`."""
    ending = "%/" + name.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    sql = "select id from skills where advertised = 0 and enabled = 1 and (id = ? or id like ? escape '\\') order by id"
    return [row[0] for row in database.read(sql, (name, ending))]


class NewestVersion(NamedTuple):
    """A version with what it says of itself: its description, changes and time, and the encoded card of its skill."""

    version: str
    description: str
    changes: list[str]
    created_at: str
    card: bytes


def newest_versions(database: Database, limit: int) -> list[NewestVersion]:
    """Return the newest versions of the catalog's own enabled skills, the newest first.

    A version that is yanked, revoked or deleted is not among them.
    """
    order = "order by {0}.created_at desc, {0}.key desc, {0}.major desc, {0}.minor desc, {0}.patch desc"
    newest = (
        "select v.key, v.version, v.major, v.minor, v.patch, v.description, v.changes, v.created_at"
        " from versions v join skills s on s.key = v.key where s.advertised = 0 and s.enabled = 1"
        f" {order.format('v')} limit ?"
    )
    rows = database.read(
        "select n.version, n.description, n.changes, n.created_at, d.card"
        f" from ({newest}) n join documents d on d.key = n.key {order.format('n')}",
        (limit,),
    )
    return [
        NewestVersion(version, description, msgspec.json.decode(changes, type=list[str]), created_at, card.encode())
        for version, description, changes, created_at, card in rows
    ]


class EnabledSkill(NamedTuple):
    """An enabled skill, whether it is a folder, and the revision of its last change."""

    id: str
    is_folder: bool
    revision: int


_ENABLED_SKILLS = (
    "select s.id, s.folder is not null, d.number from skills s join documents d on d.key = s.key"
    " where s.advertised = 0 and s.enabled = 1"
)


def enabled_skills(database: Database) -> list[EnabledSkill]:
    """Return the catalog's own skills that are enabled, in order of id."""
    rows = database.read(f"{_ENABLED_SKILLS} order by s.id")
    return [EnabledSkill(skill_id, bool(is_folder), number) for skill_id, is_folder, number in rows]


def enabled_skill(database: Database, skill_id: str) -> EnabledSkill | None:
    """Return the catalog's own skill with an id; None unless it exists and is enabled."""
    rows = database.read(f"{_ENABLED_SKILLS} and s.id = ?", (skill_id,))
    return EnabledSkill(rows[0][0], bool(rows[0][1]), rows[0][2]) if rows else None


class _Described(msgspec.Struct):
    id: str
    description: str


def descriptions(database: Database) -> dict[str, str]:
    """Return the description of each of the catalog's own skills whose id has a scope, as published ones have."""
    rows = database.read(
        "select d.card from skills s join documents d on d.key = s.key where s.advertised = 0 and s.id like '%/%'"
    )
    cards = [msgspec.json.decode(card, type=_Described) for (card,) in rows]
    return {card.id: card.description for card in cards}
