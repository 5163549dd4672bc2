"""Scans of a skills directory with problems: one folder that cannot be read does not affect the others."""

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from registry.catalog.local_skills import LocalSkills
from registry.catalog.scanner import Scanner
from registry.catalog.store import Catalog
from registry.database.sqlite import SqliteDatabase
from registry.db import Database
from registry.domain.models import now
from registry.inspection import Inspector
from support.inspecting import inspecting
from support.servers import write_skill


@pytest.fixture
def skills(tmp_path: Path) -> Path:
    root = tmp_path / "skills"
    for name in ("first", "second", "third"):
        write_skill(root, name, f"The {name} skill, about otters.")
    return root


@pytest.fixture(scope="module")
def inspector() -> Iterator[Inspector]:
    with inspecting() as inspector:
        yield inspector


def scanner(root: Path, database: Database, inspector: Inspector) -> Scanner:
    catalog = Catalog(database, now)
    return Scanner(LocalSkills(root.resolve(), catalog, inspector), catalog, inspector)


def places(database: Database) -> set[str]:
    return set(Catalog(database, now).folder_fingerprints())


@contextmanager
def swapping(root: Path) -> Iterator[None]:
    """Have a skill folder be a folder, a file, a link, a link to itself and nothing, in quick turns."""
    stopped = threading.Event()
    kept, place = root.parent / "kept", root / "restless"
    write_skill(root.parent, "kept", "A restless skill.")

    def clear() -> None:
        if place.is_symlink() or place.is_file():
            place.unlink(missing_ok=True)
        shutil.rmtree(place, ignore_errors=True)

    def swap() -> None:
        while not stopped.is_set():
            shutil.copytree(kept, place)
            shutil.rmtree(place)
            place.write_text("a file")
            clear()
            place.symlink_to(kept, target_is_directory=True)
            clear()
            place.symlink_to(place)
            clear()

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


def test_a_folder_that_is_swapped_while_it_is_read_takes_no_other_down(
    skills: Path, database: Database, inspector: Inspector
) -> None:
    scan = scanner(skills, database, inspector)
    with swapping(skills):
        for _ in range(100):
            scan.reconcile()
            assert places(database) - {"restless"} == {"first", "second", "third"}


def test_a_path_that_is_too_long_is_skipped(skills: Path, database: Database, inspector: Inspector) -> None:
    scan = scanner(skills, database, inspector)
    where = os.open(skills, os.O_RDONLY)
    for _ in range(16):
        os.mkdir("x" * 255, dir_fd=where)
        inner = os.open("x" * 255, os.O_RDONLY, dir_fd=where)
        os.close(where)
        where = inner
    os.close(where)
    report = scan.reconcile()
    assert places(database) == {"first", "second", "third"}
    assert list(report.skipped.values()) == [os.strerror(36)]
    shutil.rmtree(skills / ("x" * 255))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_may_not_be_listed_is_skipped(skills: Path, database: Database, inspector: Inspector) -> None:
    scan = scanner(skills, database, inspector)
    scan.reconcile()
    (skills / "second").chmod(0)
    try:
        assert list(scan.reconcile().skipped) == ["second"]
        assert places(database) == {"first", "third"}
    finally:
        (skills / "second").chmod(0o755)
    assert scan.reconcile().skipped == {}
    assert places(database) == {"first", "second", "third"}


def test_an_unexpected_error_of_one_folder_affects_no_other(
    skills: Path, inspector: Inspector, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    database = SqliteDatabase(tmp_path / "data" / "skill-registry.db")
    scan = scanner(skills, database, inspector)
    refuse = (
        "create trigger broken before insert on skills when new.folder = 'second' begin select raise(abort, 'x'); end"
    )
    with database.write() as transaction:
        transaction.execute(refuse)
    for _ in range(3):
        assert list(scan.reconcile().skipped) == ["second"]
    assert places(database) == {"first", "third"}
    assert len([record for record in caplog.records if record.exc_info]) == 1
    with database.write() as transaction:
        transaction.execute("drop trigger broken")
    assert scan.reconcile().skipped == {}
    assert places(database) == {"first", "second", "third"}
    database.close()


def test_a_folder_that_looks_like_an_escaped_name_stays(skills: Path, database: Database, inspector: Inspector) -> None:
    scan = scanner(skills, database, inspector)
    write_skill(skills, "b\\xffd", "A skill of an unusual, but sound name.")
    odd = skills / os.fsdecode(b"b\xffd")
    odd.mkdir()
    (odd / "SKILL.md").write_text("---\nname: odd\ndescription: An odd skill.\n---\n")
    for _ in range(2):
        assert "b\\xffd" in scan.reconcile().skipped
        assert "b\\xffd" in places(database)


def test_a_directory_that_cannot_be_listed_empties_no_catalog(
    skills: Path, database: Database, inspector: Inspector
) -> None:
    scan = scanner(skills, database, inspector)
    scan.reconcile()
    skills.rename(skills.with_name("elsewhere"))
    skills.write_text("a file in its place")
    assert scan.reconcile_quietly() is None
    assert scan.health.problem is not None
    assert places(database) == {"first", "second", "third"}
    skills.unlink()
    skills.with_name("elsewhere").rename(skills)
    assert scan.reconcile_quietly() is not None
    assert scan.health.problem is None
