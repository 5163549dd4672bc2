"""The counts of the catalog agree with its rows after every change of any process, and are corrected where not."""

import random
import threading
from collections.abc import Callable

import numpy as np
import pytest

from registry.catalog.listing import Position, list_cards
from registry.database.counts import BLOCK, DISABLED, ENABLED, correct, differences, total
from registry.db import Database
from registry.domain.models import Skill
from search.types import Embedded
from support.catalogs import SkillCatalog


def embed(catalog: SkillCatalog, space: str, limit: int) -> None:
    """Store a vector for each of the first documents that have no current one."""
    stale, vector = catalog.documents.stale(space, limit), np.array([1.0, 0.0], np.float32)
    catalog.documents.put_vectors(space, [Embedded(one.key, one.text_hash, vector) for one in stale])


def advertise(catalog: SkillCatalog, skill_id: str) -> None:
    """Create a skill that a source lists, or replace an installed one by it."""
    skill = Skill(id=skill_id, name=skill_id, description="far away", version="1.0.0")
    with catalog.database.write() as transaction:
        catalog.catalog.save(transaction, skill, "", advertised=True)


def test_counts_follow_every_kind_of_change(catalog: SkillCatalog) -> None:
    numbers, ids = random.Random(7), [f"skill-{number}" for number in range(12)]
    changes: dict[str, Callable[[], object]] = {
        "put": lambda: catalog.put(numbers.choice(ids), f"text {numbers.randrange(4)}", enabled=numbers.random() < 0.6),
        "advertise": lambda: advertise(catalog, numbers.choice(ids)),
        "remove": lambda: catalog.remove(numbers.choice([one for one in ids if catalog.catalog.has(one)])),
        "embed": lambda: embed(catalog, numbers.choice(["one", "two"]), 4),
        "forget some": lambda: catalog.documents.forget_vectors("one", [1, 2, 3, 99]),
        "forget all": lambda: catalog.documents.forget_vectors("two"),
        "drop": lambda: catalog.documents.drop_other_spaces(["one"]),
    }
    weights = [12, 3, 3, 8, 2, 1, 1]
    for _ in range(150):
        name = numbers.choices(list(changes), weights)[0]
        if name != "remove" or catalog.database.read("select 1 from skills limit 1"):
            changes[name]()
        assert list(differences(catalog.database)) == [], name
    assert total(catalog.database, ENABLED) > 0 < total(catalog.database, DISABLED)


def test_a_transaction_that_fails_counts_nothing(catalog: SkillCatalog) -> None:
    catalog.put("kept")
    with pytest.raises(ZeroDivisionError), catalog.database.write() as transaction:
        catalog.catalog.save(transaction, Skill(id="lost", name="lost", description="", version="1.0.0"), "")
        raise ZeroDivisionError
    assert catalog.catalog.count() == 1
    assert list(differences(catalog.database)) == []


def test_concurrent_writers_count_each_skill_once(catalog: SkillCatalog) -> None:
    def write(writer: int) -> None:
        for number in range(10):
            catalog.put(f"skill-{writer}-{number}")

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert catalog.catalog.count() == 40
    assert list(differences(catalog.database)) == []


def test_wrong_counts_are_named_and_corrected(catalog: SkillCatalog) -> None:
    catalog.put("one")
    with catalog.database.write() as transaction:  # as a replica of an older release does
        transaction.execute("update counts set value = 7 where name = 'documents'")
        transaction.execute("delete from counts where name = 'enabled'")
    assert catalog.documents.count() == 7
    assert correct(catalog.database) == ["documents: 7 instead of 1", "enabled, block 0: 0 instead of 1"]
    assert (catalog.documents.count(), catalog.catalog.count()) == (1, 1)
    assert correct(catalog.database) == []


@pytest.fixture
def long_list(catalog: SkillCatalog) -> Database:
    """Return a catalog over several blocks, in which every tenth skill is disabled and some are gone."""
    with catalog.database.write() as transaction:
        for number in range(2 * BLOCK):
            skill = Skill(id=f"skill-{number}", name="x", description="", version="1.0.0", enabled=number % 10 != 0)
            catalog.catalog.save(transaction, skill, "", advertised=number % 7 == 0)
    for number in (1, 2, 500, 1023):
        catalog.remove(f"skill-{number}")
    return catalog.database


@pytest.mark.parametrize("enabled", [None, True, False])
def test_an_offset_leads_to_the_same_skills_as_reading_from_the_beginning(
    long_list: Database, enabled: bool | None
) -> None:
    where = "" if enabled is None else f" and s.enabled = {int(enabled)}"
    sql = f"select d.card from skills s join documents d on d.key = s.key where advertised = 0{where} order by sequence"
    whole = [row[0].encode() for row in long_list.read(sql)]
    assert long_list.read("select max(sequence) from skills")[0][0] > 2 * BLOCK - 10
    for offset in (0, 1, 30, len(whole) // 2, len(whole) - 10, len(whole) - 1, len(whole), len(whole) + 5, 10**15):
        page = list_cards(long_list, 10, offset, enabled)
        assert (page.cards, page.total, page.offset) == (whole[offset : offset + 10], len(whole), offset)
        assert page.has_more == (offset + 10 < len(whole))


@pytest.mark.parametrize("enabled", [None, True, False])
def test_the_positions_of_the_pages_lead_through_the_whole_list(long_list: Database, enabled: bool | None) -> None:
    found: list[bytes] = []
    position: Position | None = None
    while True:
        page = list_cards(long_list, 37, 0, enabled, after=position)
        assert page.offset == len(found)
        found += page.cards
        if page.last is None:
            break
        position = page.last
    assert found == [card for offset in range(0, page.total, 100)
                     for card in list_cards(long_list, 100, offset, enabled).cards]  # fmt: skip
    assert len(found) == page.total


def test_a_position_stays_valid_when_its_skill_is_deleted(catalog: SkillCatalog) -> None:
    for name in ("one", "two", "three"):
        catalog.put(name)
    last = list_cards(catalog.database, 2, 0, None).last
    catalog.remove("two")
    page = list_cards(catalog.database, 2, 0, None, after=last)
    assert ([b'"three"' in card for card in page.cards], page.offset, page.total) == ([True], 1, 2)


def test_a_list_that_begins_with_the_newest_knows_its_offset(long_list: Database) -> None:
    first = list_cards(long_list, 5, 0, None, newest_first=True)
    assert first.last is not None
    second = list_cards(long_list, 5, 0, None, after=first.last, newest_first=True)
    assert (first.offset, second.offset) == (0, 5)
    assert set(first.cards).isdisjoint(second.cards)
