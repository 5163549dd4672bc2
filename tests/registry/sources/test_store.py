"""The skills of sources in a real database: replaced as a whole, searchable, and removed with their source."""

import pytest

from registry.domain.models import now
from registry.domain.source_entry import Listed, Listing, SourceEntry
from registry.errors import RegistryError
from registry.sources.store import SourceStore
from support.catalogs import SkillCatalog

ACME = SourceEntry(name="acme", type="git", url="https://acme.example/skills")
OTHER = SourceEntry(name="other", type="http", url="https://other.example/marketplace.json")


@pytest.fixture
def store(catalog: SkillCatalog) -> SourceStore:
    return SourceStore(catalog.database, catalog.catalog, now)


def listing(*ids: str, description: str = "A skill.") -> Listing:
    return Listing(skills=[Listed(id=one, name=one, description=description) for one in ids])


def ids(catalog: SkillCatalog) -> list[str]:
    return [row[0] for row in catalog.database.read("select id from documents where gone = 0 order by id")]


def test_a_listing_replaces_the_one_before(catalog: SkillCatalog, store: SourceStore) -> None:
    store.replace(ACME, "one", listing("pdf", "csv"))
    store.replace(ACME, "two", listing("pdf", "xlsx"))
    assert ids(catalog) == ["acme/pdf", "acme/xlsx"]
    assert [skill.id for skill in store.skills.listed("acme")] == ["pdf", "xlsx"]
    assert store.state(ACME).mark == "two"


def test_an_unchanged_skill_keeps_its_revision(catalog: SkillCatalog, store: SourceStore) -> None:
    store.replace(ACME, "one", listing("pdf"))
    number = catalog.documents.revision()
    store.replace(ACME, "two", listing("pdf"))
    assert catalog.documents.revision() == number
    store.replace(ACME, "three", listing("pdf", description="Another."))
    assert catalog.documents.revision() > number


def test_one_id_in_two_sources_and_installed_is_three_skills(catalog: SkillCatalog, store: SourceStore) -> None:
    store.replace(ACME, "", listing("pdf"))
    store.replace(OTHER, "", listing("pdf"))
    catalog.put("pdf")
    assert ids(catalog) == ["acme/pdf", "other/pdf", "pdf"]
    assert catalog.catalog.get("acme/pdf").installed is False
    assert catalog.catalog.count() == 1


def test_a_local_skill_keeps_its_id(catalog: SkillCatalog, store: SourceStore) -> None:
    catalog.put("acme/pdf")
    store.replace(ACME, "", listing("pdf"))
    assert ids(catalog) == ["acme/pdf", "acme/pdf-2"]
    assert catalog.catalog.get("acme/pdf").installed is True


def test_ids_with_a_scope_cannot_clash(catalog: SkillCatalog, store: SourceStore) -> None:
    store.replace(ACME, "", listing("alice/pdf", "alice-pdf"))
    assert ids(catalog) == ["acme/alice-pdf", "acme/alice.pdf"]
    assert catalog.catalog.get("acme/alice.pdf").scope == "alice"


def test_a_failure_hides_nothing(catalog: SkillCatalog, store: SourceStore) -> None:
    store.failed(OTHER, "it is down")
    store.replace(ACME, "one", listing("pdf"))
    store.failed(ACME, "it is down")
    assert ids(catalog) == ["acme/pdf"]
    assert (store.state(ACME).error, store.state(ACME).mark) == ("it is down", "one")
    assert store.state(OTHER).last_refreshed is None
    store.unchanged(ACME, "one")
    assert store.state(ACME).error is None


def test_a_changed_source_is_read_again(store: SourceStore) -> None:
    store.replace(ACME, "one", listing("pdf"))
    moved = SourceEntry(name="acme", type="git", url="https://elsewhere.example/skills")
    assert store.state(moved).mark == ""
    store.failed(moved, "it is down")
    assert store.state(moved).mark == ""


def test_a_removed_source_has_no_skills(catalog: SkillCatalog, store: SourceStore) -> None:
    store.replace(ACME, "", listing("pdf"))
    store.replace(OTHER, "", listing("pdf"))
    assert store.remove_others(["other"]) == [ACME]
    assert ids(catalog) == ["other/pdf"]
    assert store.skills.counts() == {"other": 1, "local": 0, "registry": 0}


def test_added_sources_are_stored(store: SourceStore) -> None:
    store.add(ACME)
    with pytest.raises(RegistryError, match="already exists"):
        store.add(ACME)
    assert store.added() == [ACME]
    store.remove("acme")
    assert store.added() == []
