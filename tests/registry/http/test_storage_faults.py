"""A full disk, and a kill in the middle of a migration (checks D05 and D09)."""

import contextlib
import errno
import os
import random
import secrets
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from registry.blobs.folder import prepare_folder
from registry.database.disk_reserve import RESERVED_BYTES
from registry.database.sqlite import SqliteDatabase
from registry.database.sqlite_schema import APPLICATION_ID
from registry.db import DatabaseFull
from search.engine import Engine
from search.requests import SearchRequest
from support.catalogs import SkillCatalog
from support.commands import Done
from support.endurance import times
from support.publishing import Registry
from support.servers import RunningServer, new_skill, write_skill

KILLS = times(15)
CREDENTIALS = 40
OPEN_DATABASE = """
import pathlib, sys
from registry.database.sqlite import SqliteDatabase
from registry.db import Database
print("ready", flush=True)
SqliteDatabase(pathlib.Path(sys.argv[1]))
"""


@contextlib.contextmanager
def disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """Make the `data` folder of a folder a file system of this size in MiB for the block."""
    data = folder / "data"
    data.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(data)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("a file system can only be mounted by root")
    yield folder
    subprocess.run(["umount", "--lazy", str(data)], check=True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder whose `data` folder is a file system of 12 MiB."""
    with disk(tmp_path, 12) as folder:
        yield folder


def fill(folder: Path) -> Path:
    """Take all the space there is, and return the file that has it."""
    path = folder / "filler"
    with path.open("ab", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            with contextlib.suppress(OSError):
                while True:
                    file.write(b"x" * size)
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        (folder / "more").write_bytes(b"x")
    return path


def test_a_full_disk_refuses_writes_and_nothing_else(small_disk: Path) -> None:
    write_skill(small_disk / "skills", "sql-review", "Review sql queries for slow joins.")
    with RunningServer(small_disk) as server:
        assert server.found("slow joins") == ["sql-review"]
        filler = fill(server.data_dir)
        statuses = {}
        for number in range(40):
            name = f"while-full-{number}"
            answer = server.api("POST", "/skills", json=new_skill(name, content="word " * 5000))
            statuses[name] = answer.status_code
            if answer.status_code != 201:
                assert answer.json()["error"]["code"] in {"INSUFFICIENT_STORAGE", "SERVICE_UNAVAILABLE"}
                assert server.found("slow joins", limit=1) == ["sql-review"]
        assert set(statuses.values()) <= {201, 503, 507}
        assert set(statuses.values()) & {503, 507}
        for path in ("/skills", "/skills/sql-review", "/status", "/skills/sql-review/content"):
            assert server.api("GET", path).status_code == 200
        filler.unlink()
        (server.data_dir / "more").unlink(missing_ok=True)
        assert server.api("POST", "/skills", json=new_skill("after-full")).status_code == 201
        assert server.found("after-full", limit=1) == ["after-full"]
        for name, status in statuses.items():
            assert server.api("GET", f"/skills/{name}").status_code == (200 if status == 201 else 404)
            assert (server.skills_dir / name).exists() == (status == 201)
        assert server.status()["drift"] == 0


@pytest.fixture
def registry_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder whose `data` folder is a file system of 40 MiB."""
    with disk(tmp_path, 40) as folder:
        yield folder


def test_credentials_are_issued_and_revoked_on_a_full_disk(registry_disk: Path) -> None:
    with Registry(registry_disk) as registry:
        admin = registry.caller("root", "admin")
        keys = [
            registry.http.post("/api/v1/auth/keys", json={"name": f"key-{number}", "role": "user"}, headers=admin)
            for number in range(3)
        ]
        assert {answer.status_code for answer in keys} == {201}
        filler = fill(registry.data_dir)
        record = {"id": "while-full", "name": "While full", "description": "Is not stored.", "version": "1.0.0"}
        for number in range(CREDENTIALS):
            token = registry.caller(f"acme/user-{number}", "manager")
            assert registry.http.get("/auth/verify", headers=token).status_code == 200
            assert registry.http.post("/auth/logout", headers=token).status_code == 200
            assert registry.http.get("/auth/verify", headers=token).status_code == 401
            refused = registry.http.post("/api/v1/skills", json=record, headers=admin)
            assert (refused.status_code, refused.json()["error"]["code"]) == (507, "INSUFFICIENT_STORAGE")
        for answer in keys:
            key = answer.json()["data"]
            assert registry.http.delete(f"/api/v1/auth/keys/{key['id']}", headers=admin).status_code == 200
            assert registry.http.get("/auth/verify", headers={"x-api-key": key["key"]}).status_code == 401
        filler.unlink()
        assert registry.http.post("/api/v1/skills", json=record, headers=admin).status_code == 201
        assert (registry.data_dir / "skill-registry.db-reserve").stat().st_size == RESERVED_BYTES


def test_a_registry_starts_on_a_full_disk_whose_reserve_is_in_use(registry_disk: Path) -> None:
    record = {"id": "kept-skill", "name": "Kept", "description": "Is read on a full disk too.", "version": "1.0.0"}
    with Registry(registry_disk) as registry:
        admin = registry.caller("root", "admin")
        assert registry.http.post("/api/v1/skills", json=record, headers=admin).status_code == 201
        filler = fill(registry.data_dir)
        assert registry.http.post("/auth/logout", headers=registry.caller("acme/ann")).status_code == 200
    assert (registry.data_dir / "skill-registry.db-reserve").stat().st_size < RESERVED_BYTES
    with Registry(registry_disk) as again:
        hits = again.http.get("/api/v1/search", params={"q": "kept skill"}, headers=admin).json()["data"]["skills"]
        assert [hit["skill"]["id"] for hit in hits] == ["kept-skill"]
        other = {**record, "id": "other-skill"}
        assert again.http.post("/api/v1/skills", json=other, headers=admin).status_code == 507
        filler.unlink()
        assert again.http.post("/api/v1/skills", json=other, headers=admin).status_code == 201


def test_commands_say_that_the_disk_of_a_catalog_is_read_only(registry_disk: Path, tmp_path: Path) -> None:
    with Registry(registry_disk) as registry:
        registry.wait_for(lambda: registry.http.get("/readyz").status_code == 200)
    subprocess.run(["mount", "-o", "remount,ro", str(registry.data_dir)], check=True)
    for args in (("keys", "list"), ("keys", "create"), ("backup", "copy"), ("users", "list")):
        done = Done(tmp_path, *args, "--data-dir", str(registry.data_dir))
        done.complains(1, "this user must be able to write to its file and to its folder")


def test_a_package_folder_that_cannot_be_used_is_told_of_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with Registry(tmp_path, "--blobs-dir", str(tmp_path / "file")) as registry:
        assert "file (blobs.dir): it is a file, where a folder is needed" in registry.log.read_text()
    (tmp_path / "disk").mkdir()
    with disk(tmp_path / "disk", 1) as small:
        subprocess.run(["mount", "-o", "remount,ro", str(small / "data")], check=True)
        assert prepare_folder(small / "data") == "this user may not write to it"
        assert prepare_folder(small / "data" / "packages") == "Read-only file system"
        assert prepare_folder(tmp_path / "new" / "packages") == ""


def test_ordinary_writes_do_not_take_what_is_reserved(registry_disk: Path) -> None:
    with closing(SqliteDatabase(registry_disk / "data" / "skill-registry.db")) as database:
        database.reserve_space()
        filler = fill(registry_disk / "data")
        for number in range(CREDENTIALS):
            with database.write(urgent=True) as transaction:
                transaction.put_fact(f"urgent-{number}", "x" * 500)
            with pytest.raises(DatabaseFull), database.write() as transaction:
                transaction.put_fact("ordinary", "x")
        filler.unlink()
        with database.write() as transaction:
            transaction.put_fact("ordinary", "x")
        assert database.read("select count(*) from facts where name like 'urgent-%'") == [(CREDENTIALS,)]


@pytest.fixture
def read_only_skills(tmp_path: Path) -> Iterator[Path]:
    """A folder whose `skills` folder is a read-only file system with one skill."""
    skills = tmp_path / "skills"
    skills.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(skills)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("a file system can only be mounted by root")
    write_skill(skills, "sql-review", "Review sql queries for slow joins.")
    subprocess.run(["mount", "-o", "remount,ro", str(skills)], check=True)
    yield tmp_path
    subprocess.run(["umount", "--lazy", str(skills)], check=True)


def test_a_read_only_skills_directory_refuses_writes_and_nothing_else(read_only_skills: Path, tmp_path: Path) -> None:
    other = write_skill(tmp_path / "elsewhere", "pdf-forms", "Fills in pdf forms.")
    with RunningServer(read_only_skills) as server:
        before = server.api("GET", "/skills").json()["data"]
        for method, path, body in (
            ("POST", "/skills", new_skill("new")),
            ("POST", "/skills", {"origin": {"type": "local", "path": str(other)}}),
            ("POST", "/skills", {"origin": {"type": "local", "path": str(other), "editable": True}}),
            ("PUT", "/skills/sql-review", {"description": "Another description."}),
            ("PUT", "/skills/sql-review", {"content": "Another text."}),
            ("DELETE", "/skills/sql-review", None),
        ):
            answer = server.api(method, path, json=body)
            assert (answer.status_code, answer.json()["error"]["code"]) == (403, "FORBIDDEN"), (method, path, body)
            assert str(tmp_path) not in answer.text
        assert server.api("GET", "/skills").json()["data"] == before
        assert server.found("slow joins") == ["sql-review"]
        assert server.status()["status"] == "ok"


def prepare(path: Path) -> None:
    """Write a database of ours that no migration has touched."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"pragma application_id = {APPLICATION_ID}")
        connection.execute("pragma user_version = 0")
        connection.commit()


def schema(database: SqliteDatabase) -> list[tuple[str, ...]]:
    return database.read("select type, name, sql from sqlite_master order by name")


@pytest.mark.endurance
@pytest.mark.parametrize("prepared", [True, False])
def test_a_migration_that_is_killed_is_finished_by_the_next_start(tmp_path: Path, prepared: bool) -> None:
    whole = SqliteDatabase(tmp_path / "whole.db")
    drawn = random.Random(9)
    for number in range(KILLS):
        path = tmp_path / str(number) / "skill-registry.db"
        path.parent.mkdir()
        if prepared:
            prepare(path)
        child = subprocess.Popen([sys.executable, "-c", OPEN_DATABASE, str(path)], stdout=subprocess.PIPE)
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(drawn.uniform(0, 0.012))
        child.kill()
        child.communicate()
        database = SqliteDatabase(path)
        assert schema(database) == schema(whole)
        assert database.read("pragma integrity_check") == [("ok",)]
        assert database.read("select count(*) from counter") == [(1,)]
        database.close()
    whole.close()


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 600 KB for index files."""
    folder = tmp_path / "indexes"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", folder], check=False).returncode:
        pytest.skip("mounting a small disk needs root")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)  # search has files of it mapped still


def test_search_answers_while_its_index_cannot_be_written(tiny_disk: Path, catalog: SkillCatalog) -> None:
    catalog.put("aardvark-care", "All about aardvarks")
    engine = Engine(catalog.documents, tiny_disk, None)
    engine.start()
    catalog.put_many((f"bulk-{number}", secrets.token_hex(400), secrets.token_hex(2000)) for number in range(400))
    filling = tiny_disk / "filling"
    filling.write_bytes(bytes(shutil.disk_usage(tiny_disk).free))
    engine.changed()
    results = engine.search.search(SearchRequest("aardvarks"))
    assert [hit.id for hit in results.hits] == ["aardvark-care"]
    assert "degraded" in results.warnings[0]
    filling.unlink()
    subprocess.run(["mount", "-o", "remount,size=60m", tiny_disk], check=True)
    assert engine.search.search(SearchRequest("aardvarks")).warnings == []
    assert (engine.status().drift, len(engine.index_sync.lexical.reader)) == (0, 401)
    engine.close()


def test_a_write_that_cannot_be_made_durable_is_not_acknowledged(tmp_path: Path) -> None:
    with RunningServer(tmp_path) as server:
        assert server.api("POST", "/skills", json=new_skill("before-it")).status_code == 201
        faults = "inject=fsync,fdatasync:error=EIO"
        command = ["strace", "-f", "-qq", "-e", "trace=fsync,fdatasync", "-e", faults, "-o", "/dev/null", "-p"]
        tracer = subprocess.Popen([*command, str(server.process.pid)])
        server.wait_for(lambda: "TracerPid:\t0" not in Path(f"/proc/{server.process.pid}/status").read_text())
        answer = server.api("POST", "/skills", json=new_skill("not-durable"))
        assert answer.status_code in (500, 503, 507)
        assert server.found("pdf forms") == ["before-it"]
        tracer.terminate()
        tracer.wait(30)
        assert server.api("GET", "/skills/not-durable").status_code == 404
        assert not (server.skills_dir / "not-durable").exists()
        assert server.api("POST", "/skills", json=new_skill("not-durable")).status_code == 201
        server.wait_for(lambda: set(server.found("pdf forms")) == {"before-it", "not-durable"})
        assert server.status()["drift"] == 0
