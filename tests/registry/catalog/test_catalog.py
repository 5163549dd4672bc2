"""The catalog: records, versions, entity tags, and the documents search follows."""

import datetime
import json

import numpy as np
import pytest

from registry.catalog.conditions import Conditions
from registry.catalog.listing import list_cards
from registry.db import Database
from registry.errors import RegistryError
from search.text import embedded_text, text_hash
from search.types import DocumentGone, DocumentPut, Embedded
from support.catalogs import SkillCatalog


def test_a_skill_is_read_as_it_was_stored(catalog: SkillCatalog) -> None:
    stored = catalog.put("pdf-forms", "Fill in pdf forms", "body", tags=["pdf"], license="MIT")
    read = catalog.catalog.get("pdf-forms")
    assert read == stored
    assert (read.tags, read.license, read.latest_version) == (["pdf"], "MIT", "1.0.0")


def test_a_missing_skill_is_named(catalog: SkillCatalog) -> None:
    with pytest.raises(RegistryError, match="nothing-here") as caught:
        catalog.catalog.get("nothing-here")
    assert caught.value.code == "SKILL_NOT_FOUND"


def test_lists_are_in_order_of_creation_and_know_their_total(catalog: SkillCatalog) -> None:
    for name in ("zebra", "apple", "mango"):
        catalog.put(name, enabled=name != "apple")
    page = list_cards(catalog.database, 2, 0, None)
    assert (["zebra" in page.cards[0].decode(), "apple" in page.cards[1].decode()], page.total) == ([True, True], 3)
    enabled = list_cards(catalog.database, 10, 0, True)
    assert (len(enabled.cards), enabled.total) == (2, 2)


def test_every_change_changes_the_entity_tag(catalog: SkillCatalog) -> None:
    first = catalog.put("one", "first description").etag
    second = catalog.put("one", "second description").etag
    assert first != second == catalog.catalog.get("one").etag
    with catalog.database.write() as transaction:
        assert catalog.catalog.get_for_update(transaction, "one", Conditions({second})).skill.id == "one"
        assert catalog.catalog.get_for_update(transaction, "one", Conditions({"*"})).skill.id == "one"
        with pytest.raises(RegistryError, match="changed"):
            catalog.catalog.get_for_update(transaction, "one", Conditions({first}))


def test_versions_sort_as_numbers_newest_first(catalog: SkillCatalog) -> None:
    for version in ("1.9.0", "1.10.0", "1.2.0"):
        catalog.put("one", version=version)
    assert [one.version for one in catalog.catalog.versions("one", 10, 0)[0]] == ["1.10.0", "1.9.0", "1.2.0"]


def test_a_clock_set_back_turns_no_order_round(database: Database) -> None:
    moment = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)
    times = iter([moment, moment, moment - datetime.timedelta(hours=1), moment - datetime.timedelta(hours=1)])
    catalog = SkillCatalog(database, clock=lambda: next(times))
    catalog.put("first")
    catalog.put("second")
    catalog.put("third")
    again = catalog.put("second", "changed later")
    assert again.updated_at >= again.created_at == "2026-01-01T12:00:00.000Z"
    cards = list_cards(catalog.database, 10, 0, None).cards
    assert [name in card.decode() for name, card in zip(("first", "second", "third"), cards, strict=True)] == [True] * 3


def test_documents_follow_in_order_with_only_the_latest_of_each(catalog: SkillCatalog) -> None:
    catalog.put("one", "first")
    catalog.put("two", "second")
    catalog.put("one", "third")
    catalog.remove("two")
    changes = catalog.documents.document_changes(0, 10)
    assert [type(change) for change in changes] == [DocumentPut, DocumentGone]
    assert isinstance(changes[0], DocumentPut)
    assert changes[0].document.description == "third"
    assert catalog.documents.document_changes(changes[-1].revision, 10) == []
    assert changes[-1].revision == catalog.documents.revision()


def test_what_has_no_current_vector_is_stale(catalog: SkillCatalog) -> None:
    catalog.put("one", "first")
    (stale,) = catalog.documents.stale("space", 10)
    vector = np.array([1.0, 0.0], np.float32)
    assert catalog.documents.put_vectors("space", [Embedded(stale.key, stale.text_hash, vector)]) == 1
    assert catalog.documents.stale_count("space") == 0
    assert catalog.documents.stale_count("another space") == 1
    catalog.put("one", "changed")
    assert catalog.documents.stale_count("space") == 1
    assert len(catalog.documents.vector_changes("space", 0, 10)) == 1


def test_what_became_stale_since_a_change_is_found_without_looking_at_the_rest(catalog: SkillCatalog) -> None:
    documents = catalog.documents
    for name in ("one", "two", "three"):
        catalog.put(name, name)
    made = [Embedded(stale.key, stale.text_hash, np.ones(1, np.float32)) for stale in documents.stale("space", 10)]
    documents.put_vectors("space", made[1:])
    number = documents.revision()
    assert (documents.stale("space", 10, since=number), documents.stale_count("space")) == ([], 1)
    catalog.put("two", "changed")
    documents.forget_vectors("space", [made[2].key])
    assert [stale.key for stale in documents.stale("space", 10, since=number)] == [made[1].key, made[2].key]
    assert documents.stale_count("space") == 3


def test_a_vector_of_a_text_that_has_changed_meanwhile_is_not_kept(catalog: SkillCatalog) -> None:
    catalog.put("one", "first")
    (stale,) = catalog.documents.stale("space", 10)
    catalog.put("one", "changed")
    assert catalog.documents.put_vectors("space", [Embedded(stale.key, stale.text_hash, np.ones(1, np.float32))]) == 0
    assert catalog.documents.stale_count("space") == 1


def test_storing_a_vector_twice_is_one_change(catalog: SkillCatalog) -> None:
    catalog.put("one", "first")
    (stale,) = catalog.documents.stale("space", 10)
    made = Embedded(stale.key, stale.text_hash, np.ones(1, np.float32))
    assert [catalog.documents.put_vectors("space", [made]) for _ in range(2)] == [1, 0]


def test_a_skill_made_again_under_its_id_is_stale_again(catalog: SkillCatalog) -> None:
    catalog.put("one", "first")
    (stale,) = catalog.documents.stale("space", 10)
    catalog.documents.put_vectors("space", [Embedded(stale.key, stale.text_hash, np.ones(1, np.float32))])
    catalog.remove("one")
    assert catalog.documents.vector_count("space") == 0
    catalog.put("one", "first")
    assert catalog.documents.stale_count("space") == 1


def test_the_hash_is_of_the_text_that_is_embedded(catalog: SkillCatalog) -> None:
    catalog.put("one", "first", body="a body")
    (change,) = catalog.documents.document_changes(0, 10)
    (stale,) = catalog.documents.stale("space", 10)
    assert isinstance(change, DocumentPut)
    assert stale.text == embedded_text(change.document)
    assert stale.text_hash == text_hash(stale.text)


def test_a_list_continues_behind_a_skill_in_either_order(catalog: SkillCatalog) -> None:
    for skill_id in ("one", "two", "three"):
        catalog.put(skill_id)
    for newest_first, ids in ((False, ["two", "three"]), (True, ["two", "one"])):
        first = "three" if newest_first else "one"
        page = list_cards(catalog.database, 1, 0, None, after=first, newest_first=newest_first)
        rest = list_cards(catalog.database, 5, 0, None, after=ids[0], newest_first=newest_first)
        assert [json.loads(card)["id"] for card in (*page.cards, *rest.cards)] == ids
        assert (page.total, page.has_more, rest.has_more) == (3, True, False)
