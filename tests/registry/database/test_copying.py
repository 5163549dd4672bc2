"""Copying from SQLite to PostgreSQL: complete, also after an interruption, and never over another catalog."""

import random
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path

import pytest

from registry.catalog.documents import CatalogDocuments
from registry.database.copying import copy_catalog
from registry.database.postgres import PostgresDatabase
from registry.database.sqlite import SqliteDatabase
from registry.db import COPYING, DatabaseUnusable, Transaction
from search.types import Embedded
from support.catalogs import HashingEmbedder, SkillCatalog
from support.commands import Done
from support.endurance import times
from support.migrate_kills import Migration, write_catalog
from support.postgres_server import PostgresServer
from support.servers import RunningServer


@pytest.fixture
def source(sqlite: SqliteDatabase) -> SqliteDatabase:
    catalog = SkillCatalog(sqlite)
    catalog.put_many((f"skill-{number}", f"does thing {number}", "a body\0 with NUL" * 3) for number in range(1200))
    catalog.remove("skill-7")
    embedder = HashingEmbedder()
    stale = catalog.documents.stale("space", 300)
    vectors = embedder.documents([document.text for document in stale])
    made = [Embedded(one.key, one.text_hash, vector) for one, vector in zip(stale, vectors, strict=True)]
    catalog.documents.put_vectors("space", made)
    return sqlite


@pytest.fixture
def target(postgres: PostgresServer) -> Iterator[PostgresDatabase]:
    opened = PostgresDatabase(postgres.new_database())
    yield opened
    opened.close()


def test_a_copied_catalog_is_equal_and_usable(source: SqliteDatabase, target: PostgresDatabase) -> None:
    copied = {table.table: table.rows for table in copy_catalog(source, target)}
    assert (copied["skills"], copied["documents"], copied["vectors"], copied["counter"]) == (1199, 1200, 300, 1)
    old, new = CatalogDocuments(source), CatalogDocuments(target)
    assert (new.catalog_id, new.revision()) == (old.catalog_id, old.revision())
    assert new.stale_count("space") == old.stale_count("space") == 899
    catalog = SkillCatalog(target)
    added = catalog.put("one-more", "comes after the others")
    assert catalog.catalog.get("one-more") == added
    assert target.read("select count(*) from skills") == [(1200,)]


def test_a_catalog_that_a_service_uses_is_not_copied(tmp_path: Path, postgres: PostgresServer) -> None:
    url = postgres.new_database()
    with RunningServer(tmp_path) as server:
        source = f"sqlite:///{server.data_dir}/skill-registry.db"
        refused = Done(tmp_path, "migrate", "--from", source, "--to", url)
        refused.complains(1, "what a service writes meanwhile would be lost", server.url)
        elsewhere = server.data_dir.rename(tmp_path / "moved") / "skill-registry.db"
        refused = Done(tmp_path, "migrate", "--from", f"sqlite:///{elsewhere}", "--to", url)
        refused.complains(1, "what a service writes meanwhile would be lost")
        elsewhere.parent.rename(server.data_dir)
    assert Done(tmp_path, "migrate", "--from", source, "--to", url).code == 0


def test_an_interrupted_copy_is_resumed(source: SqliteDatabase, target: PostgresDatabase) -> None:
    writes = iter(range(4))

    def count(_: Transaction) -> None:
        next(writes)  # fails at the fifth write of the copy

    target.hooks.on_commit(count)
    with pytest.raises((StopIteration, RuntimeError)):
        copy_catalog(source, target)
    assert target.read("select count(*) from facts where name = ?", (COPYING,)) == [(1,)]
    assert 0 < target.read("select count(*) from skills")[0][0] < 1200
    writes = iter(range(1_000_000))
    assert {table.table: table.rows for table in copy_catalog(source, target)}["skills"] == 1199
    assert target.read("select count(*) from facts where name = ?", (COPYING,)) == [(0,)]


def test_a_database_that_holds_a_catalog_is_not_overwritten(source: SqliteDatabase, target: PostgresDatabase) -> None:
    SkillCatalog(target).put("mine", "was here before")
    with pytest.raises(DatabaseUnusable, match="already holds a catalog"):
        copy_catalog(source, target)
    assert target.read("select id from skills") == [("mine",)]


def test_a_table_that_differs_is_reported(source: SqliteDatabase, target: PostgresDatabase) -> None:
    def spoil(transaction: Transaction) -> None:
        transaction.execute("update versions set description = 'other' where key = 3")

    target.hooks.on_commit(spoil)
    with pytest.raises(DatabaseUnusable, match="table versions differs"):
        copy_catalog(source, target)


def test_a_complete_copy_is_compared_again_and_a_changed_one_is_refused(
    source: SqliteDatabase, target: PostgresDatabase
) -> None:
    copied = copy_catalog(source, target)
    by_name = attrgetter("table")
    assert sorted(copy_catalog(source, target), key=by_name) == sorted(copied, key=by_name)
    SkillCatalog(target).put("mine", "came afterwards")
    with pytest.raises(DatabaseUnusable, match="already holds a catalog"):
        copy_catalog(source, target)


@pytest.mark.endurance
def test_a_copy_killed_at_any_step_can_be_completed(tmp_path: Path, postgres: PostgresServer) -> None:
    write_catalog(tmp_path / "skill-registry.db", 60)
    migration = Migration(tmp_path / "skill-registry.db")
    whole = postgres.new_database()
    steps, expected = migration.steps(whole), migration.run(whole)
    for step in (1, steps // 2, steps - 4, *random.Random(3).sample(range(1, steps), times(1) - 1)):
        target = postgres.new_database()
        assert migration.steps(target, step) <= steps
        assert migration.run(target) == expected
