"""Ids of folders: the same folders have the same ids, however they came about."""

import shutil
import subprocess
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
from support.servers import COMMAND, RunningServer, write_skill
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
    changed: dict[str, int] = dict(database.read("select id, gone from documents where number > ?", (since,)))
    assert changed == {"other/pdf": 0, "pdf": 0}
    (root / "pdf").rename(root / "docs")
    scan.reconcile()
    assert renamed["other/pdf"] == "pdf"
    assert dict(database.read("select id, gone from documents where gone = 1")) == {"other/pdf": 1}
    assert present_id(catalog, "other/pdf") == "pdf"
    assert present_id(catalog, "never") == "never"


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


@pytest.fixture(scope="module")
def renamed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A service whose skill `pdf` had the id `other/pdf`."""
    folder = tmp_path_factory.mktemp("renamed")
    write_skill(folder / "skills/other", "pdf", "A skill about pdf.", "# Steps\n", version="1.2.0")
    with RunningServer(folder) as server:
        assert server.api("GET", "/skills/pdf").json()["data"]["id"] == "pdf"
        write_skill(folder / "skills", "pdf", "Another skill about pdf.")
        server.wait_for(lambda: server.api("GET", "/skills/other/pdf").status_code == 200)
        shutil.rmtree(folder / "skills/pdf")
        server.wait_for(lambda: server.api("GET", "/skills").json()["data"][0]["id"] == "pdf")
        yield server


_ROUTES = [
    *(f"/api/v1/skills/{{id}}{part}" for part in ("", "/content", "/files", "/files/SKILL.md")),
    *(f"/v1/skills/{{id}}{part}" for part in ("", "/versions", "/versions/1.2.0", "/content")),
    "/api/v1/badges/{id}",
    "/s/{id}/.well-known/agent-skills/index.json",
]


@pytest.mark.parametrize("route", _ROUTES)
def test_a_former_id_leads_to_the_skill(renamed: RunningServer, route: str) -> None:
    answers = [renamed.http.get(route.format(id=one)) for one in ("pdf", "other/pdf", "never/pdf")]
    assert [answer.status_code for answer in answers] == [200, 200, 404]
    assert answers[0].content == answers[1].content
    assert "never/pdf" in answers[2].text


def test_changes_name_the_present_id(renamed: RunningServer) -> None:
    for method in ("PUT", "DELETE"):
        assert renamed.api(method, "/skills/other/pdf", json={"author": "Bob"}).status_code == 404
    assert renamed.api("GET", "/skills/pdf").json()["data"]["author"] == ""


def test_the_page_of_a_former_id_previews_the_skill(renamed: RunningServer) -> None:
    assert "A skill about pdf." in renamed.http.get("/skills/other/pdf").text
    assert "A skill about pdf." not in renamed.http.get("/skills/never/pdf").text


def test_a_former_id_is_cloned_and_upgraded(renamed: RunningServer) -> None:
    heads = [renamed.http.get(f"/git/{one}.git/info/refs?service=git-upload-pack") for one in ("pdf", "other/pdf")]
    assert heads[0].status_code == 200
    assert heads[0].content == heads[1].content
    upgraded = renamed.api("POST", "/skills/upgrade", json={"skill_id": "other/pdf"}).json()["data"]["results"]
    assert [result["id"] for result in upgraded] == ["pdf"]
    assert renamed.api("POST", "/skills/upgrade", json={"skill_id": "never/pdf"}).status_code == 404


def test_an_agent_reads_a_former_id(renamed: RunningServer) -> None:
    answers = []
    for skill_id in ("pdf", "other/pdf", "never/pdf"):
        call = {"name": "get_skill", "arguments": {"id": skill_id}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        answers.append(renamed.http.post("/mcp", json=message).json()["result"])
    assert "# Steps" in answers[0]["content"][0]["text"]
    assert answers[0] == answers[1]
    assert answers[2]["isError"]


def test_the_command_reads_a_former_id_without_a_server(renamed: RunningServer) -> None:
    place = ["--data-dir", str(renamed.data_dir), "--skills-dir", str(renamed.skills_dir)]
    environment = dict(renamed.environment())
    renamed.stop()
    try:
        for command in (["show"], ["show", "--content"], ["versions"]):
            shown = [
                subprocess.run(
                    [COMMAND, command[0], one, *command[1:], *place], check=False, env=environment, capture_output=True
                )
                for one in ("pdf", "other/pdf", "never/pdf")
            ]
            assert [one.returncode for one in shown] == [0, 0, 1], shown
            assert shown[0].stdout == shown[1].stdout
    finally:
        renamed.start()


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
