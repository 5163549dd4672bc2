"""Snapshots of index files: a new replica uses them, and builds its indexes if anything is wrong with them."""

import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from registry.blobs import FolderStore
from registry.database.sqlite import SqliteDatabase
from registry.indexing.snapshots import IndexSnapshots, _unpack
from search.engine import Engine
from search.requests import SearchRequest
from support.catalogs import HashingEmbedder, SkillCatalog
from support.waiting import PATIENCE_SECONDS

SKILLS = [(f"skill-{number}", f"Looks after animal number{number}", "With care.") for number in range(20)]


@pytest.fixture
def stocked(database: SqliteDatabase) -> SkillCatalog:
    made = SkillCatalog(database)
    made.put_many(SKILLS)
    return made


@pytest.fixture
def leader(stocked: SkillCatalog, tmp_path: Path) -> Iterator[Engine]:
    engine = Engine(stocked.documents, tmp_path / "leader", HashingEmbedder())
    engine.start()
    engine.wait_until_embedded(PATIENCE_SECONDS)
    yield engine
    engine.close()


@pytest.fixture
def blobs(tmp_path: Path) -> Path:
    return tmp_path / "blobs"


def snapshots(catalog: SkillCatalog, blobs: Path, indexes: Path) -> IndexSnapshots:
    return IndexSnapshots(catalog.database, FolderStore(blobs), catalog.documents.catalog_id, indexes)


@pytest.fixture
def published(stocked: SkillCatalog, leader: Engine, blobs: Path, tmp_path: Path) -> IndexSnapshots:
    made = snapshots(stocked, blobs, tmp_path / "leader")
    made.publish(leader.index_sync.copy)
    return made


def found(engine: Engine, query: str) -> str:
    return engine.search.search(SearchRequest(query)).hits[0].id


def test_a_new_replica_begins_with_them_and_catches_up(
    published: IndexSnapshots, stocked: SkillCatalog, blobs: Path, tmp_path: Path
) -> None:
    stocked.put("skill-21", "Looks after a zebra")
    stocked.remove("skill-3")
    assert snapshots(stocked, blobs, tmp_path / "new").fetch()
    engine = Engine(stocked.documents, tmp_path / "new", HashingEmbedder(), indexing=False)
    assert engine.index_sync.lexical.rebuild_reason is None
    newest = published.newest()
    assert newest is not None
    assert engine.index_sync.lexical.reader.revision == newest.revision
    assert (found(engine, "zebra"), found(engine, "number5")) == ("skill-21", "skill-5")
    assert (len(engine.index_sync.lexical.reader), engine.status().pending) == (20, 1)
    assert not list((tmp_path / "new").glob("snapshot-*"))
    engine.close()


def test_who_has_indexes_keeps_them(published: IndexSnapshots) -> None:
    assert not published.fetch()


@pytest.mark.parametrize("damage", ["changed", "longer", "gone"])
def test_what_is_not_what_was_published_is_not_used(
    published: IndexSnapshots, stocked: SkillCatalog, blobs: Path, tmp_path: Path, damage: str
) -> None:
    (path,) = blobs.rglob("*.zip")
    data = path.read_bytes()
    path.unlink()
    if damage != "gone":
        path.write_bytes(data[:-1] + b"x" if damage == "changed" else data + b"x")
    assert not snapshots(stocked, blobs, tmp_path / "new").fetch()
    assert not list((tmp_path / "new").iterdir())


def test_those_of_another_recipe_or_release_are_not_fetched(published: IndexSnapshots, stocked: SkillCatalog) -> None:
    assert published.newest() is not None
    with stocked.database.write() as transaction:
        sql = 'update facts set value = replace(value, \'"identity":"\', \'"identity":"old \') where name = ?'
        transaction.execute(sql, ("index_snapshot",))
    assert published.newest() is None


def test_the_newest_and_the_one_before_are_kept(
    published: IndexSnapshots, stocked: SkillCatalog, leader: Engine, blobs: Path
) -> None:
    numbers = []
    for number in range(3):
        stocked.put(f"more-{number}", "More of the same")
        leader.changed()
        numbers.append(published.publish(leader.index_sync.copy).revision)
    assert sorted(int(path.name.partition("-")[0]) for path in blobs.rglob("*.zip")) == numbers[-2:]


def test_one_is_due_when_much_has_changed(published: IndexSnapshots) -> None:
    newest = published.newest()
    assert newest
    assert [published.is_due(newest.revision + more, 20) for more in (999, 1000)] == [False, True]
    assert [published.is_due(newest.revision + more, 50_000) for more in (4999, 5000)] == [False, True]


def test_a_copy_is_whole_while_others_write(
    published: IndexSnapshots, stocked: SkillCatalog, leader: Engine, blobs: Path, tmp_path: Path
) -> None:
    stopped = threading.Event()

    def write() -> None:
        for number in range(300):
            if stopped.is_set():
                return
            stocked.put(f"skill-{number % 20}", f"Looks after animal number{number % 20} again {number}")
            leader.changed()

    writer = threading.Thread(target=write)
    writer.start()
    for number in range(5):
        made = published.publish(leader.index_sync.copy)
        assert snapshots(stocked, blobs, tmp_path / f"new-{number}").fetch()
        engine = Engine(stocked.documents, tmp_path / f"new-{number}", HashingEmbedder(), indexing=False)
        assert engine.index_sync.lexical.rebuild_reason is None
        assert engine.index_sync.lexical.reader.revision == made.revision
        engine.close()
    stopped.set()
    writer.join()


@pytest.mark.parametrize(
    "name", ["../evil", "/evil", "words-1/../../evil", "words-1/a/b", ".hidden", "words-1/", "a\\b"]
)
def test_nothing_but_index_files_is_unpacked(tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / "hostile.zip", "x") as archive:
        archive.writestr(name, b"evil")
    with pytest.raises(ValueError, match="not an index file"):
        _unpack(tmp_path / "hostile.zip", tmp_path / "a" / "files")
    assert not list(tmp_path.rglob("evil"))
