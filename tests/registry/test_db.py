"""The database: durable writes, one writer, files that are not ours left alone."""

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from registry.database.sqlite import APPLICATION_ID, SqliteDatabase
from registry.db import DatabaseUnavailable, DatabaseUnusable
from registry.migrations import MIGRATIONS
from support.catalogs import SkillCatalog


def test_a_write_is_read_and_a_failed_one_leaves_nothing(catalog: SkillCatalog) -> None:
    database = catalog.database
    with database.write() as transaction:
        transaction.execute("insert into facts values ('a', '1')")
    with pytest.raises(ValueError, match="stop"), database.write() as transaction:
        transaction.execute("insert into facts values ('b', '2')")
        raise ValueError("stop")
    assert database.read("select name from facts where name in ('a', 'b')") == [("a",)]


def test_change_numbers_grow_and_are_never_reused(catalog: SkillCatalog) -> None:
    with catalog.database.write() as transaction:
        first = [transaction.next_number(), transaction.next_number(3)]
    with pytest.raises(ValueError, match="stop"), catalog.database.write() as transaction:
        transaction.next_number()
        raise ValueError("stop")
    with catalog.database.write() as transaction:
        assert transaction.next_number() > first[1] == first[0] + 3


@pytest.mark.parametrize("content", [b"", b"garbage" * 50, b"SQLite format 3\0" + bytes(200)])
def test_a_file_that_is_not_ours_is_refused_and_not_touched(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "skill-registry.db"
    path.write_bytes(content)
    with pytest.raises(DatabaseUnusable, match="not a skill registry database"):
        SqliteDatabase(path)
    assert path.read_bytes() == content
    assert [entry.name for entry in tmp_path.iterdir()] == ["skill-registry.db"]


def test_another_programs_database_is_refused_and_not_touched(tmp_path: Path) -> None:
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
        database.close()


def test_a_lock_held_by_another_process_is_waited_for(catalog: SkillCatalog) -> None:
    other = sqlite3.connect(catalog.database.path, isolation_level=None, check_same_thread=False)
    other.execute("begin immediate")
    release = threading.Timer(1.0, lambda: other.execute("commit"))
    release.start()
    with catalog.database.write() as transaction:
        transaction.execute("insert into facts values ('late', '1')")
    release.join()
    other.close()


def test_a_lock_held_too_long_is_an_error_and_nothing_is_written(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "short.db", busy_seconds=0.2)
    other = sqlite3.connect(database.path, isolation_level=None)
    other.execute("begin immediate")
    with pytest.raises(DatabaseUnavailable, match="locked"), database.write():
        pass
    other.execute("commit")
    other.close()
    with database.write() as transaction:
        transaction.execute("insert into facts values ('after', '1')")
    database.close()


def test_a_backup_made_while_writing_is_whole(catalog: SkillCatalog, tmp_path: Path) -> None:
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            catalog.put(f"skill-{number}", "a description")
            number += 1

    writer = threading.Thread(target=write)
    writer.start()
    catalog.put("before", "a description")
    catalog.database.backup(tmp_path / "copy.db")
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
            transaction.execute("insert into facts values (?, 'x')", (f"{sys.argv[2]}-{number}",))
        print(number, flush=True)
        number += 1
"""


def test_no_acknowledged_write_is_lost_when_the_process_is_killed(tmp_path: Path) -> None:
    path, script = tmp_path / "killed.db", textwrap.dedent(WRITER)
    for run in range(10):
        process = subprocess.Popen([sys.executable, "-c", script, path, str(run)], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        acknowledged = [process.stdout.readline() for _ in range(5 + 3 * run)][-1]
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        database = SqliteDatabase(path)
        kept = database.read("select count(*) from facts where name like ?", (f"{run}-%",))[0][0]
        assert kept >= int(acknowledged) + 1
        assert database.read("pragma integrity_check") == [("ok",)]
        database.close()
