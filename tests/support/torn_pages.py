"""Pages of a copy of a database that are overwritten: every change of its rows must be noticed."""

import random
import shutil
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from support.commands import Done
from support.publishing import Registry
from support.registry_stores import RegistryStores

_PAGE = 4096


def tear(stores: RegistryStores, server: Registry, folder: Path, drawn: random.Random) -> bool:
    """Overwrite a page, whole or half, of a copy of the server's SQLite database; return whether rows changed by it.

    Raises AssertionError if rows changed, and neither `fsck` nor SQLite's own check notices.
    """
    copy = folder / "torn"
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir()
    database = copy / "skill-registry.db"
    with closing(sqlite3.connect(server.data_dir / database.name)) as source, closing(sqlite3.connect(database)) as to:
        source.backup(to)
    before = _rows(database)
    with database.open("r+b") as file:
        page, size = drawn.randrange(database.stat().st_size // _PAGE), drawn.choice((_PAGE, _PAGE // 2))
        file.seek(page * _PAGE)
        file.write(drawn.choice((bytes(size), drawn.randbytes(size))))
    if _rows(database) == before:
        return False
    done = Done(folder, "fsck", *stores.fsck_flags(server, copy), **stores.environment)
    assert done.code != 0 or not _is_sound(database), f"nothing notices that page {page} was overwritten"
    return True


def _rows(database: Path) -> Mapping[str, object]:
    """Return what each table holds, or why it cannot be read."""
    found: dict[str, object] = {}
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        connection.text_factory = bytes
        try:
            tables = connection.execute("select name from sqlite_master where type = 'table'").fetchall()
        except sqlite3.Error as error:
            return {"": str(error)}
        for (name,) in tables:
            try:
                found[name] = sorted(map(repr, connection.execute(f'select * from "{name.decode()}" not indexed')))
            except sqlite3.Error as error:
                found[name] = str(error)
    return found


def _is_sound(database: Path) -> bool:
    with closing(sqlite3.connect(database)) as connection:
        try:
            return connection.execute("pragma integrity_check").fetchall() == [("ok",)]
        except sqlite3.Error:
            return False
