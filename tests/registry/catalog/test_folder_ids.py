"""Ids of folders: the same folders have the same ids, however they came about."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from registry.catalog.folder_ids import present_id
from registry.catalog.installs import InstallRecord, find_install, put_install
from registry.catalog.local_skills import LocalSkills
from registry.catalog.scanner import Scanner
from registry.catalog.store import Catalog
from registry.database.sqlite import SqliteDatabase
from registry.db import Database
from registry.domain.models import now
from registry.domain.origins import GitOrigin
from registry.inspection.inspector import Inspector
from registry.project.manifest_file import ManifestFile
from support.inspecting import inspecting
from support.servers import RunningServer, write_skill
from support.waiting import wait_until


@pytest.fixture(scope="module")
def inspector() -> Iterator[Inspector]:
    with inspecting() as inspector:
        yield inspector


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "skills"
    for place in ("alpha", "gamma", "team/pdf", "other/pdf"):
        write_skill(root / Path(place).parent, Path(place).name, f"The skill {place}.")
    return root


def scanner(root: Path, database: Database, inspector: Inspector, renamed: dict[str, str] | None = None) -> Scanner:
    catalog = Catalog(database, now)
    note = renamed.update if renamed is not None else (lambda ids: None)
    return Scanner(LocalSkills(root.resolve(), catalog, inspector), catalog, inspector, note)


def ids(database: Database) -> dict[str, str]:
    return Catalog(database, now).folder_ids()


def fresh(root: Path, tmp_path: Path, inspector: Inspector) -> dict[str, str]:
    """Return the ids that a new catalog of the folder has."""
    database = SqliteDatabase(tmp_path / "fresh.db")
    try:
        scanner(root, database, inspector).reconcile()
        return ids(database)
    finally:
        database.close()


def case_only(root: Path) -> None:
    (root / "gamma").rename(root / "Gamma")


def moved(root: Path) -> None:
    (root / "alpha").rename(root / "other/alpha")


def exchanged(root: Path) -> None:
    (root / "alpha").rename(root / "third")
    (root / "gamma").rename(root / "alpha")
    (root / "third").rename(root / "gamma")


def preferred_one_came_later(root: Path) -> None:
    write_skill(root, "pdf", "A skill with a shorter path.")


def preferred_one_went(root: Path) -> None:
    (root / "other/pdf").rename(root / "other/csv")


def chain(root: Path) -> None:
    (root / "other/pdf").rename(root / "other/zip")
    (root / "team/pdf").rename(root / "team/alpha")


def odd_names(root: Path) -> None:
    for name in ("日本語", "Ω", "GAMMA", "upgrade"):
        write_skill(root, name, f"The skill {name}.")


@pytest.mark.parametrize(
    "change", [case_only, moved, exchanged, preferred_one_came_later, preferred_one_went, chain, odd_names]
)
def test_the_same_folders_have_the_same_ids(
    root: Path, tmp_path: Path, database: Database, inspector: Inspector, change: Callable[[Path], None]
) -> None:
    scan = scanner(root, database, inspector)
    scan.reconcile()
    assert ids(database) == {"alpha": "alpha", "gamma": "gamma", "other/pdf": "pdf", "team/pdf": "team/pdf"}
    change(root)
    scan.reconcile()
    assert ids(database) == fresh(root, tmp_path, inspector)
    assert len({*ids(database).values()}) == len(ids(database))
    again = scan.reconcile()
    assert (again.added, again.changed, again.removed) == (0, 0, 0)


def test_a_renamed_skill_keeps_what_it_has(root: Path, database: Database, inspector: Inspector) -> None:
    renamed: dict[str, str] = {}
    scan, catalog = scanner(root, database, inspector, renamed), Catalog(database, now)
    scan.reconcile()
    origin = GitOrigin(url="https://example.org/pdf")
    before = catalog.get("pdf")
    with database.write() as transaction:
        key = catalog.find(transaction, "pdf").key  # type: ignore[union-attr]
        record = InstallRecord(origin=origin, sha256=str(before.digest), installed_at="2026-01-01T00:00:00.000Z")
        put_install(transaction, "other/pdf", record)
    since = database.read("select value from counter")[0][0]
    write_skill(root, "pdf", "A skill with a shorter path.")
    scan.reconcile()
    assert renamed == {"pdf": "other/pdf"}
    after = catalog.get("other/pdf")
    assert (after.created_at, after.digest, after.description) == (before.created_at, before.digest, before.description)
    assert catalog.keys(["other/pdf"]) == {"other/pdf": key}
    assert find_install(database, "other/pdf") == record
    changed = dict(database.read("select id, gone from documents where number > ?", (since,)))
    assert changed == {"other/pdf": 0, "pdf": 0}
    (root / "pdf").rename(root / "docs")
    scan.reconcile()
    assert renamed["other/pdf"] == "pdf"
    assert dict(database.read("select id, gone from documents where gone = 1")) == {"other/pdf": 1}
    assert present_id(database, "other/pdf") == "pdf"
    assert present_id(database, "never") is None


def test_a_moved_skill_keeps_its_install_record(root: Path, database: Database, inspector: Inspector) -> None:
    scan, catalog = scanner(root, database, inspector), Catalog(database, now)
    scan.reconcile()
    key = catalog.keys(["gamma"])
    with database.write() as transaction:
        origin = GitOrigin(url="https://example.org/gamma")
        digest = str(catalog.get("gamma").digest)
        put_install(transaction, "gamma", InstallRecord(origin=origin, sha256=digest, installed_at="x"))
    (root / "gamma").rename(root / "team/gamma")
    scan.reconcile()
    assert catalog.keys(["gamma"]) == key
    assert find_install(database, "gamma") is None
    assert find_install(database, "team/gamma") is not None
    assert catalog.get("gamma").skill_file == "team/gamma/SKILL.md"


def test_the_manifest_follows(tmp_path: Path) -> None:
    manifest = ManifestFile(tmp_path / "skill-project.toml")
    manifest.path.write_text('# ours\n[dependencies]\npdf = "^1.2"\ncsv = "1.0.0"\n')
    manifest.follow({"pdf": "other/pdf", "absent": "other"})
    read = manifest.read()
    assert read is not None
    assert {name: entry.version for name, entry in read.dependencies.items()} == {"csv": "1.0.0", "other/pdf": "^1.2"}
    assert manifest.path.read_text().startswith("# ours")
    manifest.path.write_text("[[broken")
    manifest.follow({"pdf": "other/pdf"})
    assert manifest.path.read_text() == "[[broken"


def test_a_former_id_leads_to_the_skill(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills/other", "pdf", "A skill about pdf.")
    with RunningServer(tmp_path) as server:
        assert server.api("GET", "/skills/pdf").json()["data"]["id"] == "pdf"
        write_skill(tmp_path / "skills", "pdf", "Another skill about pdf.")
        server.wait_for(lambda: server.api("GET", "/skills/other/pdf").status_code == 200)
        shutil.rmtree(tmp_path / "skills/pdf")
        server.wait_for(lambda: server.api("GET", "/skills").json()["data"][0]["id"] == "pdf")
        assert server.api("GET", "/skills/other/pdf").json()["data"]["id"] == "pdf"


def test_a_folder_that_goes_during_the_scan_gives_its_id_back(
    tmp_path: Path, database: Database, inspector: Inspector
) -> None:
    root = tmp_path / "skills"
    write_skill(root / "other", "pdf", "A skill about pdf.")
    catalog = Catalog(database, now)

    def go(ids: Mapping[str, str]) -> None:
        """Remove the folder once the scan has given its id to it, before the scan reads it."""
        shutil.rmtree(root / "pdf", ignore_errors=True)

    scan = Scanner(LocalSkills(root.resolve(), catalog, inspector), catalog, inspector, go)
    scan.start()
    try:
        wait_until(lambda: ids(database) == {"other/pdf": "pdf"})
        write_skill(root, "pdf", "Another skill about pdf.")
        wait_until(lambda: not (root / "pdf").exists())
        wait_until(lambda: ids(database) == {"other/pdf": "pdf"}, seconds=20)
    finally:
        scan.stop()
