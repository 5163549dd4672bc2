"""The counts of uses: how often each skill was used on each day, in each way. They say nothing of callers."""

import datetime
import itertools
from collections import Counter
from collections.abc import Mapping
from typing import Literal, NamedTuple

import msgspec

from registry.db import Database

UseKind = Literal["installed", "downloaded", "read", "chosen"]

KEPT_DAYS = 365
"""How long the counts of a day are kept."""

RECENT_DAYS = 30

_EPOCH = datetime.date(1970, 1, 1)
_AT_ONCE = 500
"""Skills that one statement looks up."""


class Use(NamedTuple):
    """A use that is counted. `day` is in days since 1970, by UTC."""

    skill_id: str
    kind: UseKind
    day: int


class UsesOfDay(msgspec.Struct, kw_only=True):
    """How often a skill was used on a day, by UTC."""

    day: str
    installed: int = 0
    downloaded: int = 0
    read: int = 0
    chosen: int = 0


def day_of(moment: datetime.datetime) -> int:
    """Return the day of a time, in days since 1970, by UTC."""
    return (moment.astimezone(datetime.UTC).date() - _EPOCH).days


class Uses:
    """Reads and writes the counts. Those of several processes add up."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, counts: Mapping[Use, int]) -> Counter[int]:
        """Add counts in one transaction, and return what each skill got, by its key. Others than skills get none."""
        ids = sorted({use.skill_id for use in counts})
        keys: dict[str, int] = {}
        with self._database.write() as transaction:
            for start in range(0, len(ids), _AT_ONCE):
                some = ids[start : start + _AT_ONCE]
                names = ", ".join("?" * len(some))
                keys.update(transaction.read(f"select id, key from skills where id in ({names})", some))
            rows = [(keys[use.skill_id], use.day, use.kind, n) for use, n in counts.items() if use.skill_id in keys]
            transaction.execute_many(
                "insert into uses (key, day, kind, number) values (?, ?, ?, ?)"
                " on conflict (key, day, kind) do update set number = uses.number + excluded.number",
                sorted(rows),
            )
        added: Counter[int] = Counter()
        for key, _, _, number in rows:
            added[key] += number
        return added

    def recent(self, today: int) -> Counter[int]:
        """Return how often each skill was used in the last 30 days, by its key."""
        sql = "select key, sum(number) from uses where day > ? group by key"
        return Counter({key: int(number) for key, number in self._database.read(sql, (today - RECENT_DAYS,))})

    def days(self, key: int) -> list[UsesOfDay]:
        """Return the days on which a skill was used, the last first."""
        rows = self._database.read("select day, kind, number from uses where key = ? order by day desc", (key,))
        uses = []
        for day, of_day in itertools.groupby(rows, key=lambda row: row[0]):
            date = (_EPOCH + datetime.timedelta(days=day)).isoformat()
            uses.append(UsesOfDay(day=date, **{kind: number for _, kind, number in of_day}))
        return uses

    def forget_old(self, today: int) -> None:
        """Delete the counts of days that are not kept any longer."""
        with self._database.write() as transaction:
            transaction.execute("delete from uses where day <= ?", (today - KEPT_DAYS,))
