"""Counts of uses: in batches, of several processes, within bounds, and never of callers."""

import datetime
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from registry.catalog.store import Catalog
from registry.catalog.uses import UsesOfDay
from registry.config.settings import load_settings
from registry.database.sqlite import SqliteDatabase
from registry.db import DatabaseError
from registry.domain.models import Skill
from registry.errors import RegistryError
from registry.services.usage import MOST_WAITING, Usage

NOON = datetime.datetime(2026, 3, 2, 12, tzinfo=datetime.UTC)


class Clock:
    """A clock that is set."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime.datetime:
        return self.now


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SqliteDatabase]:
    opened = SqliteDatabase(tmp_path / "skill-registry.db")
    catalog = Catalog(opened, Clock())
    with opened.write() as transaction:
        for name in ("anvil", "bellows"):
            catalog.save(transaction, Skill(id=name, name=name, description=name, version="1.0.0"), "# Body\n")
    yield opened
    opened.close()


def usage(database: SqliteDatabase, clock: Clock | None = None, *, is_on: bool = True) -> Usage:
    settings = load_settings({"server.count_uses": is_on}, {})
    clock = clock or Clock()
    return Usage(settings, database, Catalog(database, clock), clock)


def test_a_caller_counts_once_a_day_for_a_skill_and_a_way_of_using_it(database: SqliteDatabase) -> None:
    clock = Clock()
    counts = usage(database, clock)
    for _ in range(50):
        counts.count("anvil", "read", "ann")
    counts.count("anvil", "read", "ben")
    counts.count("anvil", "downloaded", "ann")
    clock.now += datetime.timedelta(days=1)
    counts.count("anvil", "read", "ann")
    counts.flush()
    found = counts.of("anvil")
    assert found.days == [UsesOfDay(day="2026-03-03", read=1), UsesOfDay(day="2026-03-02", read=2, downloaded=1)]
    assert found.uses_30d == 4


def test_the_counts_of_several_processes_add_up(database: SqliteDatabase) -> None:
    several = [usage(database) for _ in range(3)]
    for counts in several:
        counts.count("anvil", "installed", "ann")
        counts.flush()
    assert several[0].of("anvil").days == [UsesOfDay(day="2026-03-02", installed=3)]
    fresh = usage(database)
    fresh.start()
    fresh.stop()
    assert fresh.recent_of("anvil") == 3


def test_only_skills_that_exist_have_counts_and_they_go_with_the_skill(database: SqliteDatabase) -> None:
    counts = usage(database)
    for name in ("anvil", "bellows", "nothing"):
        counts.count(name, "read", "ann")
    counts.flush()
    assert database.read("select count(*) from uses") == [(2,)]
    with pytest.raises(RegistryError):
        counts.of("nothing")
    catalog = Catalog(database, Clock())
    with database.write() as transaction:
        catalog.delete(transaction, catalog.keys(["anvil"])["anvil"])
    assert database.read("select count(*) from uses") == [(1,)]


def test_what_waits_in_memory_is_bounded(database: SqliteDatabase) -> None:
    counts = usage(database)
    counts.count("anvil", "read", "ann")
    for number in range(MOST_WAITING + 10):
        counts.count(f"absent-{number}", "read", "mallory")
    counts.count("bellows", "read", "ann")
    counts.count("anvil", "read", "ben")
    counts.flush()
    assert (counts.recent_of("anvil"), counts.recent_of("bellows")) == (2, 0)
    counts.count("bellows", "read", "ann")
    counts.flush()
    assert counts.recent_of("bellows") == 1


def test_counts_wait_while_the_database_is_busy(database: SqliteDatabase, tmp_path: Path) -> None:
    counts = usage(database)
    counts.count("anvil", "read", "ann")
    with closing(sqlite3.connect(tmp_path / "skill-registry.db", isolation_level=None)) as other:
        other.execute("begin immediate")
        with pytest.raises(DatabaseError):
            counts.flush()
    counts.count("anvil", "read", "ben")
    counts.flush()
    assert counts.recent_of("anvil") == 2


def test_days_are_forgotten_after_a_year_and_leave_the_sum_after_thirty(database: SqliteDatabase) -> None:
    clock = Clock()
    counts = usage(database, clock)
    counts.count("anvil", "read", "ann")
    counts.flush()
    for days, kept, recent in ((29, 1, 1), (30, 1, 0), (364, 1, 0), (365, 0, 0)):
        clock.now = NOON + datetime.timedelta(days=days)
        later = usage(database, clock)
        later.start()
        later.stop()
        assert (len(later.of("anvil").days), later.recent_of("anvil")) == (kept, recent), days


def test_one_setting_switches_it_off(database: SqliteDatabase) -> None:
    counts = usage(database, is_on=False)
    counts.start()
    counts.count("anvil", "read", "ann")
    counts.stop()
    assert database.read("select count(*) from uses") == [(0,)]
