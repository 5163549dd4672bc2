"""Stored choices, and the examples that follow from them."""

import datetime
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from registry.catalog.examples import LOCAL, MAX_CHOICES, MAX_EXAMPLES, Examples, NewChoice, Outcome
from registry.database.sqlite import SqliteDatabase
from registry.db import Database
from search.types import Example
from support.catalogs import SkillCatalog
from support.clock import WallClock

YEAR = datetime.timedelta(days=365)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with closing(SqliteDatabase(tmp_path / "skill-registry.db")) as opened:
        yield opened


class World:
    """A catalog with one skill, and the choices of it."""

    def __init__(self, database: Database) -> None:
        self.clock = WallClock()
        self.skills = SkillCatalog(database, self.clock)
        self.skills.put("pdf", "Read pdf files.")
        self.key = self.skills.catalog.keys(["pdf"])["pdf"]
        self.examples = Examples(database, self.clock, YEAR)

    def add(self, query: str, caller: str = LOCAL, outcome: Outcome = "chosen", limit: int = 100) -> None:
        self.examples.add(NewChoice(self.key, query, caller, outcome, limit))

    def read(self) -> list[Example]:
        return [
            example for document in self.skills.documents.documents_with_examples() for example in document.examples
        ]


@pytest.fixture
def world(database: Database) -> World:
    return World(database)


def test_a_query_counts_once_for_each_caller_and_at_most_three_times(world: World) -> None:
    for caller in ("ann", "ann", "bob", "cy", "dee"):
        world.add("read  my PDF", caller)
    world.add("Read my pdf", "bob")
    assert world.read() == [Example("read my PDF", 3.0)]


def test_callers_who_found_it_wrong_count_against_it_and_a_single_caller_cancels_nothing(world: World) -> None:
    world.add("read a scan", LOCAL)
    world.add("read a scan", "bob", "wrong")
    assert world.read() == [Example("read a scan", 1.0)]
    world.add("read a scan", "dee", "wrong")
    assert world.read() == []
    world.add("read a scan", "cy", "helped")
    assert world.read() == [Example("read a scan", 1.0)]
    world.add("read a scan", LOCAL, "wrong")
    assert world.read() == []


def test_what_one_caller_of_a_registry_chose_alone_weighs_a_fifth(world: World) -> None:
    world.add("read a scan", "ann")
    world.clock.forward(1)
    world.add("fill a form", "ann")
    assert world.read() == [Example("fill a form", 0.2), Example("read a scan", 0.2)]
    world.add("split a page", "bob", "wrong")
    assert {example.weight for example in world.read()} == {0.2}
    world.clock.forward(1)
    world.add("split a page", "bob")
    assert world.read() == [Example("split a page", 1.0), Example("fill a form", 1.0), Example("read a scan", 1.0)]


def test_older_examples_weigh_less_and_are_forgotten(world: World) -> None:
    world.add("old")
    world.clock.forward(180 * 24 * 3600)
    world.add("new")
    assert world.read() == [Example("new", 1.0), Example("old", 0.5)]
    world.clock.forward(200 * 24 * 3600)
    assert world.examples.forget_old() == 1
    assert world.read() == [Example("new", 1.0)]


def test_choices_are_capped_for_a_caller_and_for_a_skill(world: World) -> None:
    for number in range(6):
        world.clock.forward(1)
        world.add(f"query {number}", limit=3)
    assert [example.text for example in world.read()] == ["query 5", "query 4", "query 3"]
    for number in range(MAX_CHOICES + 5):
        world.clock.forward(1)
        world.add(f"other {number}", caller=f"caller {number}", limit=3)
    assert world.examples.list("pdf", 1, 0)[1] == MAX_CHOICES
    assert len(world.read()) == MAX_EXAMPLES


def test_a_use_makes_the_vector_stale_and_deletion_forgets_it(world: World) -> None:
    documents = world.skills.documents
    before = documents.stale("space", 10)[0]
    world.add("read a scan")
    after = documents.stale("space", 10)[0]
    assert (after.text, after.examples) == (before.text, (Example("read a scan", 1.0),))
    assert after.text_hash != before.text_hash
    assert world.examples.forget(skill_id="pdf") == 1
    assert documents.stale("space", 10)[0] == before
    world.add("read a scan")
    with world.skills.database.write() as transaction:
        world.skills.catalog.delete(transaction, world.key)
    assert world.examples.list(None, 10, 0) == ([], 0)
    assert world.read() == []
