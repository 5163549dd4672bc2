"""Filters by author and licence over a catalog that an older release has written: its documents lack those labels."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from registry.catalog.documents import CatalogDocuments
from registry.db import Database
from search.engine import Engine
from search.requests import SearchRequest
from search.types import Filter
from support.catalogs import SkillCatalog

NEW_LABELS = ("author:", "license:")


def found(engine: Engine, *labels: str) -> set[str]:
    allowed = Filter(tuple((label,) for label in labels))
    return {hit.id for hit in engine.search.search(SearchRequest("forms", allowed=allowed)).hits}


@contextmanager
def engine_over(documents: CatalogDocuments, folder: Path) -> Iterator[Engine]:
    engine = Engine(documents, folder, None)
    engine.start()
    try:
        yield engine
    finally:
        engine.close()


def as_an_older_release(database: Database) -> None:
    """Take the labels of authors and licences away."""
    with database.write() as transaction:
        for key, labels in transaction.read("select key, labels from documents where gone = 0"):
            kept = [label for label in json.loads(labels) if not label.startswith(NEW_LABELS)]
            revision = transaction.next_revision()
            sql = "update documents set labels = ?, number = ? where key = ?"
            transaction.execute(sql, (json.dumps(kept), revision, key))
        transaction.delete_fact("label_recipe")


@pytest.fixture
def stocked(catalog: SkillCatalog) -> SkillCatalog:
    catalog.put("pdf-forms", "Fills forms", author="Ann  Lee", license="MIT")
    catalog.put("web-forms", "Makes forms", author="ann lee", tags=["web"])
    catalog.put("tax-forms", "Reads forms", author=" ", license="mit")
    catalog.put("old-forms", "Keeps forms", author="Bob")
    catalog.remove("old-forms")
    return catalog


def labels(database: Database) -> dict[str, list[str]]:
    return {skill_id: sorted(json.loads(text)) for skill_id, text in database.read("select id, labels from documents")}


def test_old_indexes_find_by_author_and_licence(stocked: SkillCatalog, database: Database, tmp_path: Path) -> None:
    before = labels(database)
    documents = CatalogDocuments(database)
    as_an_older_release(database)
    with engine_over(documents, tmp_path) as engine:  # leaves index files as the older release does
        assert found(engine) == {"pdf-forms", "web-forms", "tax-forms"}
        assert found(engine, "author:ann lee") == set()
    with engine_over(CatalogDocuments(database), tmp_path) as engine:
        assert found(engine, "author:ann lee") == {"pdf-forms", "web-forms"}
        assert found(engine, "license:mit") == {"pdf-forms", "tax-forms"}
        assert found(engine, "author:ann lee", "tag:web") == {"web-forms"}
    assert labels(database) == before


def test_labels_are_completed_once(stocked: SkillCatalog, database: Database) -> None:
    as_an_older_release(database)
    documents = CatalogDocuments(database)
    revision = documents.revision()
    assert CatalogDocuments(database).revision() == revision
    assert [change.revision for change in documents.document_changes(revision, 10)] == []
