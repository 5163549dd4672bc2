"""Scans of a skills directory with problems: one folder that cannot be read does not affect the others."""

import os
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from registry.catalog.documents import CatalogDocuments
from registry.catalog.local_skills import LocalSkills
from registry.catalog.scanner import Scanner, ScanReport
from registry.catalog.store import Catalog
from registry.database.sqlite import SqliteDatabase
from registry.db import Database
from registry.domain.models import now
from registry.errors import RegistryError
from registry.inspection.inspector import Inspector
from registry.skill_folder import tree_digest
from search.types import DocumentPut
from support.inspecting import inspecting
from support.servers import write_skill
from support.waiting import wait_until


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


def files(documents: CatalogDocuments) -> dict[str, str]:
    found = {}
    for change in documents.document_changes(0, 10):
        assert isinstance(change, DocumentPut)
        found[change.document.id] = change.document.files
    return found


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


@pytest.mark.parametrize(("skill_id", "place"), [("second", "second"), ("inner", "group"), ("inner", "group/inner")])
def test_a_folder_that_a_link_replaces_is_not_followed_before_a_scan(
    skills: Path, database: Database, inspector: Inspector, skill_id: str, place: str, tmp_path: Path
) -> None:
    write_skill(skills / "group", "inner", "A skill in a group.")
    scanner(skills, database, inspector).reconcile()
    local = LocalSkills(skills.resolve(), Catalog(database, now), inspector)
    secret = write_skill(tmp_path, "home", "Passwords of the owner.")
    write_skill(secret, "inner", "Passwords of the owner.")
    before = tree_digest(secret)
    (skills / place).rename(tmp_path / "moved")
    (skills / place).symlink_to(secret, target_is_directory=True)
    for ask in (local.text, local.files, lambda skill_id: local.file(skill_id, "SKILL.md")):
        with pytest.raises(RegistryError, match=f"Folder of skill '{skill_id}' not found"):
            ask(skill_id)
    for changes in ({"description": "Another one."}, {"content": "Another text."}):
        with pytest.raises(RegistryError, match=f"Folder of skill '{skill_id}' not found"):
            local.update(skill_id, changes)
    assert tree_digest(secret) == before


def test_a_link_that_was_scanned_is_followed_until_it_leads_elsewhere(
    skills: Path, database: Database, inspector: Inspector, tmp_path: Path
) -> None:
    (skills / "linked").symlink_to(write_skill(tmp_path / "mine", "linked", "My own skill.", "Mine."))
    scan = scanner(skills, database, inspector)
    scan.reconcile()
    assert scan.reconcile().unchanged == 4
    local = LocalSkills(skills.resolve(), Catalog(database, now), inspector)
    assert "Mine." in local.text("linked")
    local.update("linked", {"content": "Changed."})
    assert "Changed." in (tmp_path / "mine" / "linked" / "SKILL.md").read_text()
    (skills / "linked").unlink()
    (skills / "linked").symlink_to(write_skill(tmp_path / "other", "linked", "Another skill.", "Another."))
    with pytest.raises(RegistryError, match="Folder of skill 'linked' not found"):
        local.text("linked")
    scan.reconcile()
    assert "Another." in local.text("linked")
    (skills / "linked").unlink()
    local.delete("linked")
    assert places(database) == {"first", "second", "third"}


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


def test_a_skill_that_comes_to_lie_below_another_is_its_material(
    skills: Path, database: Database, inspector: Inspector
) -> None:
    write_skill(skills / "team/tools", "inner", "A skill about otters in a team.")
    scan = scanner(skills, database, inspector)
    scan.reconcile()
    assert "team/tools/inner" in places(database)
    write_skill(skills, "team", "The skill that the folder above has become.")
    report = scan.reconcile()
    assert (report.added, report.removed) == (1, 1)
    assert places(database) == {"first", "second", "third", "team"}


def test_search_reads_the_names_of_files_as_they_change(skills: Path, database: Database, inspector: Inspector) -> None:
    (skills / "first" / "scripts").mkdir()
    script = skills / "first" / "scripts" / "count_otters.py"
    script.write_text("print(3)\n")
    local, documents = scanner(skills, database, inspector), CatalogDocuments(database)
    local.reconcile()
    assert files(documents) == {"first": "SKILL.md\nscripts/count_otters.py", "second": "SKILL.md", "third": "SKILL.md"}
    script.rename(script.with_name("weigh_otters.py"))
    local.reconcile()
    last = documents.document_changes(0, 10)[-1]
    assert isinstance(last, DocumentPut)
    assert last.document.files == "SKILL.md\nscripts/weigh_otters.py"


class CountingScanner(Scanner):
    """Counts its scans."""

    scans = 0

    def reconcile(self) -> ScanReport:
        self.scans += 1
        return super().reconcile()


def test_a_link_that_leads_nowhere_is_skipped(skills: Path, database: Database, inspector: Inspector) -> None:
    away = skills.parent / "away"
    (skills / "third").rename(away)
    (skills / "third").symlink_to(away)
    (skills / "loop").symlink_to("loop")
    (skills / ".#notes").symlink_to("ann@host.17")  # as an editor marks a file that it has open
    (skills / "notes").symlink_to(away / "SKILL.md")
    scan = scanner(skills, database, inspector)
    assert (scan.reconcile().skipped, places(database)) == (
        {"loop": "the link leads nowhere"},
        {"first", "second", "third"},
    )
    shutil.rmtree(away)
    assert scan.reconcile().skipped == dict.fromkeys(("loop", "third", "notes"), "the link leads nowhere")
    assert places(database) == {"first", "second"}


def test_a_folder_that_stays_unlisted_is_not_scanned_for_again_and_again(
    skills: Path, database: Database, inspector: Inspector
) -> None:
    catalog = Catalog(database, now)
    scan = CountingScanner(LocalSkills(skills.resolve(), catalog, inspector), catalog, inspector)
    scan.start()
    try:
        wait_until(lambda: places(database) == {"first", "second", "third"})
        # A link to a skill beside it is not followed, and yet there is a SKILL.md in its place.
        (skills / "third").rename(skills.parent / "third")
        (skills / "third").symlink_to(skills / "second")
        settled, since = scan.scans, time.monotonic()
        while time.monotonic() < since + 3.0:
            if scan.scans != settled:
                settled, since = scan.scans, time.monotonic()
            assert settled < 10, "it scans without end"
            time.sleep(0.05)
    finally:
        scan.stop()
