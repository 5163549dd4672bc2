"""A worker begins with the index files of another process, also while that one writes, and then catches up."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from registry.database.sqlite import SqliteDatabase
from search.engine import Engine
from search.index_sync import IndexSync
from search.index_takeover import MIN_CHANGES, take_over
from search.lexical.disk_segment import lexical_identity
from search.requests import SearchRequest
from support.catalogs import HashingEmbedder, SkillCatalog

COUNT = MIN_CHANGES


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[SkillCatalog]:
    database = SqliteDatabase(tmp_path / "catalog.db")
    catalog = SkillCatalog(database)
    catalog.put_many((f"skill-{number}", f"Feeds animal number{number}", "its text") for number in range(COUNT))
    yield catalog
    database.close()


@pytest.fixture
def first(catalog: SkillCatalog, tmp_path: Path) -> Iterator[Engine]:
    """The engine of the first worker, with every vector."""
    engine = Engine(catalog.documents, tmp_path / "indexes", HashingEmbedder())
    engine.start()
    engine.reindex()
    engine.index_sync.lexical.flush()
    engine.index_sync.save()
    yield engine
    engine.close()


def identity(catalog: SkillCatalog) -> str:
    return lexical_identity(catalog.documents.catalog_id)


def revision_on_disk(catalog: SkillCatalog, folder: Path) -> int:
    """Return the revision of the keyword index in a folder, before it catches up."""
    opened = IndexSync(catalog.documents, folder)
    revision = opened.lexical.reader.revision
    opened.close()
    return revision


def assert_current(catalog: SkillCatalog, folder: Path, query: str, expected: str) -> None:
    """Assert that an engine on the files in a folder embeds nothing, finds a skill, and agrees with the catalog."""
    embedder = HashingEmbedder()
    engine = Engine(catalog.documents, folder, embedder, indexing=False)
    engine.start()
    try:
        assert engine.search.search(SearchRequest(query)).hits[0].id == expected
        status = engine.status()
        assert (status.pending, status.drift, embedder.embedded) == (0, 0, [])
    finally:
        engine.close()


@pytest.mark.usefixtures("first")
def test_a_new_worker_begins_with_the_files_of_the_first(catalog: SkillCatalog, tmp_path: Path) -> None:
    folder = tmp_path / "indexes" / "worker-1"
    assert take_over(tmp_path / "indexes", folder, identity(catalog))
    assert revision_on_disk(catalog, folder) >= COUNT
    assert {path.name.partition("-")[0] for path in folder.iterdir()} == {"words", "vectors"}
    assert_current(catalog, folder, "Feeds animal number7", "skill-7")


def test_a_worker_that_is_far_behind_takes_over_too(catalog: SkillCatalog, first: Engine, tmp_path: Path) -> None:
    folder = tmp_path / "indexes" / "worker-1"
    assert take_over(tmp_path / "indexes", folder, identity(catalog))
    assert not take_over(tmp_path / "indexes", folder, identity(catalog))
    catalog.put_many((f"later-{number}", f"Paints house number{number}", "") for number in range(COUNT))
    first.reindex()
    first.index_sync.lexical.flush()
    first.index_sync.save()
    assert take_over(tmp_path / "indexes", folder, identity(catalog))
    assert len(list(folder.glob("words-*"))) == 1
    assert_current(catalog, folder, "Paints house number9", "later-9")


def test_files_are_taken_over_while_they_are_written(catalog: SkillCatalog, first: Engine, tmp_path: Path) -> None:
    stopped = threading.Event()

    def write() -> None:
        number = 0
        while not stopped.is_set():
            number += 1
            catalog.put(f"skill-{number % 50}", f"Feeds animal number{number % 50}")
            first.changed()
            first.index_sync.lexical.flush()
            first.index_sync.save()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        taken = [
            take_over(tmp_path / "indexes", tmp_path / f"taken-{number}", identity(catalog)) for number in range(8)
        ]
    finally:
        stopped.set()
        writer.join()
    first.reindex()
    for number, is_taken in enumerate(taken):
        assert_current(catalog, tmp_path / f"taken-{number}", "Feeds animal number70", "skill-70")
        assert is_taken or revision_on_disk(catalog, tmp_path / f"taken-{number}") > 0
    assert_current(catalog, tmp_path / "indexes-of-nobody", "Feeds animal number70", "skill-70")


@pytest.mark.usefixtures("first")
def test_damaged_files_are_left_alone(catalog: SkillCatalog, tmp_path: Path) -> None:
    words = next((tmp_path / "indexes").glob("words-*"))
    damaged = max(words.glob("*.term"))
    data = bytearray(damaged.read_bytes())
    data[len(data) // 3] ^= 1
    damaged.unlink()
    damaged.write_bytes(data)
    folder = tmp_path / "worker"
    assert not take_over(tmp_path / "indexes", folder, identity(catalog))
    assert list(folder.iterdir()) == []


@pytest.mark.usefixtures("first")
def test_files_of_another_catalog_and_what_a_killed_process_left_are_not_used(
    catalog: SkillCatalog, tmp_path: Path
) -> None:
    folder = tmp_path / "worker"
    (folder / "takeover-killed").mkdir(parents=True)
    assert not take_over(tmp_path / "indexes", folder, lexical_identity("another"))
    assert not take_over(tmp_path / "nothing", folder, identity(catalog))
    assert list(folder.iterdir()) == []
