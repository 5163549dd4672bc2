"""Which changes of the skills directory need no scan, because a write of the service has recorded them."""

import contextlib
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from pathlib import Path
from typing import NamedTuple

import pytest

from registry.catalog.local_skills import LocalSkills
from registry.catalog.recorded_changes import all_recorded
from registry.catalog.scanner import Scanner
from registry.catalog.store import Catalog
from registry.database.sqlite import SqliteDatabase
from registry.db import Database, Transaction
from registry.domain.models import NewSkill, now
from support.catalogs import created
from support.inspecting import inspecting
from support.servers import write_skill
from support.waiting import PATIENCE_SECONDS


class Directory(NamedTuple):
    """A skills directory and its catalog."""

    root: Path
    catalog: Catalog
    local: LocalSkills
    scanner: Scanner

    def is_recorded(self, *paths: str) -> bool:
        return all_recorded(self.catalog, self.root, [str(self.root / path) for path in paths])

    def make(self, skill_id: str) -> None:
        new = NewSkill(id=skill_id, name=skill_id, description="Brews tea with great care.", version="1.0.0")
        created(self.local, new)


@pytest.fixture
def directory(tmp_path: Path, database: Database) -> Iterator[Directory]:
    root = tmp_path.resolve() / "skills"
    write_skill(root, "by-hand", "A skill that was written by hand.")
    catalog = Catalog(database, now)
    with inspecting() as inspector:
        local = LocalSkills(root, catalog, inspector)
        scanner = Scanner(local, catalog, inspector)
        scanner.reconcile()
        yield Directory(root, catalog, local, scanner)


def test_what_the_service_writes_is_recorded(directory: Directory) -> None:
    directory.make("tea")
    assert directory.is_recorded("tea", ".skill-registry-0123", ".skill-registry-0123/0/tea/SKILL.md")
    assert directory.is_recorded("tea/SKILL.md", "by-hand/SKILL.md", "by-hand")
    directory.local.update("tea", {"description": "Brews tea with little care."})
    assert directory.is_recorded("tea/SKILL.md")
    directory.local.delete("tea")
    assert directory.is_recorded("tea", "tea/SKILL.md")


def test_a_folder_is_recorded_when_the_write_that_moved_it_commits(directory: Directory) -> None:
    is_in_place, may_end = threading.Event(), threading.Event()

    def hold(transaction: Transaction) -> None:
        is_in_place.set()
        assert may_end.wait(PATIENCE_SECONDS)

    directory.catalog.database.hooks.on_commit(hold)
    with ThreadPoolExecutor(2) as pool:
        write = pool.submit(directory.make, "tea")
        assert is_in_place.wait(PATIENCE_SECONDS)
        answer = pool.submit(directory.is_recorded, "tea", "tea/SKILL.md")
        wait_for([answer], timeout=0.2)
        may_end.set()
        assert answer.result()
    write.result()


def test_nothing_new_is_recorded_while_another_process_holds_the_database(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "catalog.db", busy_seconds=0.1)
    write_skill(tmp_path / "skills", "tea", "Brews tea with great care.")
    with contextlib.closing(sqlite3.connect(database.path, isolation_level=None)) as other:
        other.execute("begin immediate")
        assert not all_recorded(Catalog(database, now), tmp_path / "skills", [str(tmp_path / "skills" / "tea")])
    database.close()


@pytest.mark.parametrize(
    ("change", "path"),
    [
        (lambda root: write_skill(root, "tea", "Changed by hand."), "tea/SKILL.md"),
        (lambda root: (root / "tea" / "notes.md").write_text("more"), "tea/notes.md"),
        (lambda root: shutil.rmtree(root / "tea"), "tea"),
        (lambda root: write_skill(root, "new-one", "Written by hand."), "new-one"),
        (lambda root: write_skill(root / "tea", "inner", "A skill in a skill."), "tea/inner"),
        (lambda root: write_skill(root / "tea", "inner", "A skill in a skill."), "tea/inner/SKILL.md"),
        (lambda root: (root / "tea").rename(root.parent / "tea") and (root / "tea").symlink_to("../tea"), "tea"),
        (lambda root: (root / "\udcff").mkdir(), "\udcff"),
        (lambda root: None, ""),
        (lambda root: None, "/elsewhere"),
    ],
)
def test_what_others_write_is_not(directory: Directory, change: Callable[[Path], object], path: str) -> None:
    directory.make("tea")
    change(directory.root)
    assert not directory.is_recorded(path)
    assert not directory.is_recorded("by-hand", path)


def test_a_folder_that_held_skills_is_recorded_when_they_are_gone(directory: Directory) -> None:
    write_skill(directory.root / "pack", "inner", "A skill in a folder.")
    directory.scanner.reconcile()
    shutil.rmtree(directory.root / "pack")
    assert not directory.is_recorded("pack")
    directory.scanner.reconcile()
    assert directory.is_recorded("pack")


def test_only_a_scan_finds_that_a_problem_is_gone(directory: Directory) -> None:
    (directory.root / "broken").mkdir()
    (directory.root / "broken" / "SKILL.md").touch()
    directory.scanner.reconcile()
    directory.make("tea")
    assert not directory.is_recorded("tea")
