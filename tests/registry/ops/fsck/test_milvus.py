"""The vectors in Milvus are damaged, found and built again from the catalog."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from registry.catalog.documents import CatalogDocuments
from registry.milvus.collections import MilvusCollections
from registry.milvus.connection import MilvusConnection
from registry.milvus.vectors import MilvusVectors
from registry.ops.fsck import Report
from search.types import DocumentGone, VectorPut
from support.commands import Done
from support.kept_registry import KeptRegistry
from support.milvus_server import MilvusServer
from support.vectors import VectorFeed, copied

pytestmark = pytest.mark.outside
DIMENSION = 128


class World:
    """A stopped registry whose vectors Milvus has too."""

    def __init__(self, kept: KeptRegistry, server: MilvusServer, connection: MilvusConnection) -> None:
        self.kept, self.server, self.connection = kept, server, connection
        self.documents = CatalogDocuments(kept.database)
        (self.space,) = self.documents.spaces()
        self.collections = MilvusCollections(connection, self.documents.catalog_id, kept.database.claim)
        self.collections.drop_unused([])  # of the test before, which had a copy of the same catalog
        self.index = self.opened()
        copied(self.documents, self.index)
        self.names = self.collections.unused([])

    def opened(self, space: str = "") -> MilvusVectors:
        claim = self.kept.database.claim
        return MilvusVectors(self.connection, self.documents, space or self.space, DIMENSION, claim)

    def key(self, skill_id: str) -> int:
        return int(self.kept.value(f"select key from skills where id = '{skill_id}'"))

    def inspect(self, *, repair: bool = False, uri: str = "") -> Report:
        changes = {"search.vectors": "milvus", "search.milvus_uri": uri or self.server.uri}
        return self.kept.inspect(changes, repair=repair)


@pytest.fixture
def world(kept: KeptRegistry, milvus: MilvusServer) -> Iterator[World]:
    connection = milvus.connection()
    yield World(kept, milvus, connection)
    connection.close()


def a_row_is_removed(world: World) -> None:
    world.index._write_rows(world.index.alias, [DocumentGone(1, world.key("acme/pdf"))])


def a_row_is_added(world: World) -> None:
    world.index._write_rows(world.index.alias, [VectorPut(1, 999, np.eye(1, DIMENSION, dtype=np.float32)[0])])


def a_vector_differs(world: World) -> None:
    sql = "select number from vectors where key = ?"
    number = world.kept.database.read(sql, (world.key("acme/pdf"),))[0][0]
    changed = VectorPut(number, world.key("acme/pdf"), np.eye(1, DIMENSION, dtype=np.float32)[0])
    world.index._write_rows(world.index.alias, [changed])


def a_revision_differs(world: World) -> None:
    key = world.key("acme/pdf")
    world.index._write_rows(world.index.alias, [VectorPut(1, key, world.index.stored([key])[key])])


def it_is_ahead(world: World) -> None:
    world.index._write_mark(world.index.alias, 10_000)


def a_rebuild_was_interrupted(world: World) -> None:
    world.opened()._create_collection()


def a_model_was_replaced(world: World) -> None:
    world.opened("former").apply([VectorPut(1, 1, np.eye(1, DIMENSION, dtype=np.float32)[0])], 1)


DAMAGES = (
    (a_row_is_removed, "it lacks the vectors of 1 document: acme/pdf"),
    (a_row_is_added, "it holds vectors of 1 removed document: document 999"),
    (a_vector_differs, "it holds other vectors of 1 document: acme/pdf"),
    (a_revision_differs, "another revision of the vectors of 1 document: acme/pdf"),
    (it_is_ahead, "it holds change 10000, but the catalog has only"),
    (a_rebuild_was_interrupted, "no space in use has this collection"),
    (a_model_was_replaced, "no space in use has this collection"),
)


@pytest.mark.parametrize(("damage", "words"), DAMAGES, ids=[damage.__name__ for damage, _ in DAMAGES])
def test_it_is_rebuilt(world: World, damage: Callable[[World], None], words: str) -> None:
    assert (world.inspect().drift, world.inspect().unchecked) == ([], {})
    damage(world)
    (found,) = world.inspect().drift
    assert (found.area, found.repairable, words in found.problem) == ("vectors", True, True), found
    report = world.inspect(repair=True)
    assert (report.drift, report.unchecked, report.repaired) == ([], {}, [found])
    assert world.inspect().drift == []
    changes = world.documents.vector_changes(world.space, 0, 100)
    expected = {change.key: change.vector for change in changes if isinstance(change, VectorPut)}
    stored = world.opened().stored([*expected, 999])
    assert stored.keys() == expected.keys()
    assert all(stored[key] == pytest.approx(expected[key]) for key in expected)


def test_other_catalogs_and_what_is_being_written_stay(world: World) -> None:
    outsider = MilvusVectors(world.connection, VectorFeed("other"), "former", DIMENSION, world.kept.database.claim)
    outsider.apply([VectorPut(1, 1, np.eye(1, DIMENSION, dtype=np.float32)[0])], 1)
    a_model_was_replaced(world)
    with world.kept.database.claim(f"milvus {world.opened('former').alias}"):
        assert world.inspect(repair=True).repaired == []
    assert len(world.inspect(repair=True).repaired) == 1
    assert (len(outsider), world.collections.unused([])) == (1, world.names)


def test_vectors_that_are_still_to_be_copied_are_no_difference(world: World) -> None:
    world.kept.set_vector("acme/pdf", np.eye(1, DIMENSION, dtype=np.float32)[0])
    world.kept.run(
        "update counter set value = value + 1",
        "update vectors set number = (select value from counter)"
        " where key = (select key from skills where id = 'acme/pdf')",
    )
    assert world.inspect().drift == []
    world.collections.drop_unused([])
    assert world.inspect().drift == []


def test_a_milvus_that_is_away_is_reported(world: World) -> None:
    def run(*arguments: str) -> Done:
        flags = ("--search-vectors", "milvus", "--search-milvus-uri", "http://127.0.0.1:9", *arguments)
        return Done(world.kept.folder, "fsck", *world.kept.flags(), *flags, **world.kept.environment)

    report = world.inspect(uri="http://127.0.0.1:9", repair=True)
    assert (report.drift, list(report.unchecked)) == ([], ["vectors in Milvus"])
    assert "Milvus at http://127.0.0.1:9 cannot be reached" in report.unchecked["vectors in Milvus"]
    world.kept.close()
    done = run("--repair")
    assert (done.code, "not checked vectors in Milvus: Milvus at http://127.0.0.1:9" in done.out) == (2, True), done.out


def test_a_repair_that_another_process_holds_up_is_reported(world: World) -> None:
    a_row_is_removed(world)
    with world.kept.database.claim(f"milvus {world.index.alias}"):
        report = world.inspect(repair=True)
    assert report.unchecked == {"vectors in Milvus": "another process is copying vectors to Milvus"}
    assert (len(world.inspect(repair=True).repaired), world.inspect().drift) == (1, [])
