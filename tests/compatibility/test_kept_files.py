"""Catalogs, indexes, snapshots and lock files that earlier code wrote open as they are."""

import logging
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from registry.blobs import FolderStore
from registry.database.sqlite import SqliteDatabase
from registry.indexing.snapshots import IndexSnapshots
from registry.project.lock_file import read_lock
from search.engine import Engine
from search.requests import SearchRequest
from support.catalogs import HashingEmbedder, SkillCatalog
from support.commands import Done

ARCHIVES = sorted(Path(__file__).parent.glob("*.zip"))
ANIMAL = "Looks after animal number7"


@pytest.fixture(params=ARCHIVES, ids=lambda path: path.stem)
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    folder = Path(tmp_path, request.param.stem)
    with zipfile.ZipFile(request.param) as archive:
        archive.extractall(folder)
    return folder


@pytest.fixture
def catalog(kept: Path) -> Iterator[SkillCatalog]:
    database = SqliteDatabase(kept / "catalog.db")
    yield SkillCatalog(database)
    database.close()


def best(engine: Engine, query: str) -> str:
    return engine.search.search(SearchRequest(query)).hits[0].id


def test_a_kept_catalog_opens(catalog: SkillCatalog) -> None:
    tea = catalog.catalog.get("tea")
    assert (tea.version, tea.tags, tea.capabilities) == ("1.0.0", ["drinks"], ["brewing"])
    assert catalog.catalog.body("tea") == "# Tea\n\nBoil the water."
    assert catalog.catalog.count() == 20


def has_todays_words(kept: Path) -> bool:
    """Return whether the keyword indexes of an archive are of the text recipe of today."""
    return kept.name == ARCHIVES[-1].stem


def test_kept_indexes_answer_without_embedding_or_being_built(
    catalog: SkillCatalog, kept: Path, caplog: pytest.LogCaptureFixture
) -> None:
    embedder = HashingEmbedder()
    engine = Engine(catalog.documents, kept / "indexes", embedder)
    with caplog.at_level(logging.INFO):
        engine.start()
    try:
        assert best(engine, ANIMAL) == "skill-7"
        assert best(engine, "boil water for tea") == "tea"
        status = engine.status()
    finally:
        engine.close()
    assert (status.pending, status.drift, embedder.embedded) == (0, 0, [])
    rebuilt = [record.message for record in caplog.records if "rebuil" in record.message]
    assert bool(rebuilt) != has_todays_words(kept), rebuilt


def test_a_kept_snapshot_gives_a_new_replica_its_indexes(catalog: SkillCatalog, kept: Path, tmp_path: Path) -> None:
    indexes = tmp_path / "replica"
    snapshots = IndexSnapshots(catalog.database, FolderStore(kept / "blobs"), catalog.documents.catalog_id, indexes)
    assert snapshots.fetch() == has_todays_words(kept)
    expected = {"words", "vectors"} if has_todays_words(kept) else set()
    assert {path.name.partition("-")[0] for path in indexes.iterdir()} == expected


def test_a_kept_lock_file_verifies(kept: Path) -> None:
    assert [entry.id for entry in read_lock(kept / "skills.lock")] == ["coffee", "tea"]
    options = ("--skills-dir", "skills", "--data-dir", "data", "--project-file", "skill-project.toml")
    assert Done(kept, "verify", *options).code == 0
    (kept / "skills/tea/SKILL.md").write_text("changed")
    assert Done(kept, "verify", *options).code == 1
