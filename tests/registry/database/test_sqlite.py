"""SQLite: durable writes, one writer, and files of other programs stay unchanged."""

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from registry.database.counts import differences
from registry.database.migrations import MIGRATIONS
from registry.database.sqlite import SqliteDatabase, backup
from registry.database.sqlite_schema import APPLICATION_ID
from registry.db import DatabaseUnusable
from support.catalogs import SkillCatalog
from support.endurance import times


@pytest.mark.parametrize("content", [b"", b"garbage" * 50, b"SQLite format 3\0" + bytes(200)])
def test_a_foreign_file_is_refused_and_unchanged(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "skill-registry.db"
    path.write_bytes(content)
    with pytest.raises(DatabaseUnusable, match=r"not a skill registry database|is empty or cut off"):
        SqliteDatabase(path)
    assert path.read_bytes() == content
    assert [entry.name for entry in tmp_path.iterdir()] == ["skill-registry.db"]


def test_a_database_of_another_program_is_refused_and_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "skill-registry.db"
    connection = sqlite3.connect(path)
    connection.execute("create table other (a)")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(DatabaseUnusable):
        SqliteDatabase(path)
    assert path.read_bytes() == before


def test_a_database_of_a_newer_release_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "skill-registry.db"
    SqliteDatabase(path).close()
    connection = sqlite3.connect(path)
    connection.execute(f"pragma user_version = {len(MIGRATIONS) + 1}")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(DatabaseUnusable, match="newer release"):
        SqliteDatabase(path)
    assert path.read_bytes() == before


def test_a_database_of_every_older_release_opens(tmp_path: Path) -> None:
    for version in range(1, len(MIGRATIONS) + 1):
        path = tmp_path / f"{version}.db"
        connection = sqlite3.connect(path)
        connection.execute(f"pragma application_id = {APPLICATION_ID}")
        for statements in MIGRATIONS[:version]:
            for statement in statements:
                connection.execute(statement)
        connection.execute(f"pragma user_version = {version}")
        connection.commit()
        connection.close()
        database = SqliteDatabase(path)
        assert database.read("pragma user_version") == [(len(MIGRATIONS),)]
        assert list(differences(database)) == []
        database.close()


@pytest.mark.parametrize("attempt", range(10))
def test_processes_that_create_the_file_concurrently_share_it(tmp_path: Path, attempt: int) -> None:
    path, together = tmp_path / f"{attempt}.db", threading.Barrier(4)

    def write(number: int) -> SqliteDatabase:
        together.wait()
        database = SqliteDatabase(path)
        with database.write() as transaction:
            transaction.execute("insert into facts (name, value) values (?, 'there')", (f"of {number}",))
        return database

    with ThreadPoolExecutor(4) as threads:
        databases = list(threads.map(write, range(4)))
    for database in databases:
        assert database.read("select count(*) from facts where name like 'of %'")[0][0] == 4
        database.close()
    assert [found.name for found in tmp_path.iterdir()] == [path.name]


def test_a_backup_made_during_writes_is_consistent(sqlite: SqliteDatabase, tmp_path: Path) -> None:
    catalog, stop = SkillCatalog(sqlite), threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            catalog.put(f"skill-{number}", "a description")
            number += 1

    writer = threading.Thread(target=write)
    writer.start()
    catalog.put("before", "a description")
    backup(sqlite.path, tmp_path / "copy.db")
    stop.set()
    writer.join()
    copy = SqliteDatabase(tmp_path / "copy.db")
    assert copy.read("pragma integrity_check") == [("ok",)]
    skills, documents = copy.read("select (select count(*) from skills), (select count(*) from documents)")[0]
    assert skills == documents > 0
    copy.close()


WRITER = """
    import sys
    from pathlib import Path
    from registry.database.sqlite import SqliteDatabase
    from registry.db import Database

    database = SqliteDatabase(Path(sys.argv[1]))
    print("ready", flush=True)
    number = 0
    while True:
        with database.write() as transaction:
            transaction.execute("insert into facts (name, value) values (?, 'x')", (f"{sys.argv[2]}-{number}",))
        print(number, flush=True)
        number += 1
"""


@pytest.mark.endurance
def test_no_acknowledged_write_is_lost_when_the_process_is_killed(tmp_path: Path) -> None:
    path, script = tmp_path / "killed.db", textwrap.dedent(WRITER)
    for run in range(times(10)):
        process = subprocess.Popen([sys.executable, "-c", script, path, str(run)], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        acknowledged = [process.stdout.readline() for _ in range(5 + 3 * (run % 10))][-1]
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        database = SqliteDatabase(path)
        kept = database.read("select count(*) from facts where name like ?", (f"{run}-%",))[0][0]
        assert kept >= int(acknowledged) + 1
        assert database.read("pragma integrity_check") == [("ok",)]
        database.close()
