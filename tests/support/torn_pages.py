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

    Raises AssertionError if rows changed, and `fsck` does not name the table that the page belongs to. A page that only
    continues a long value has no structure: there, `fsck` has to notice something.
    """
    copy = folder / "torn"
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir()
    database = copy / "skill-registry.db"
    with closing(sqlite3.connect(server.data_dir / database.name)) as source, closing(sqlite3.connect(database)) as to:
        source.backup(to)
    before, owners = _rows(database), _owners(database)
    with database.open("r+b") as file:
        page, size = drawn.randrange(database.stat().st_size // _PAGE), drawn.choice((_PAGE, _PAGE // 2))
        file.seek(page * _PAGE)
        file.write(drawn.choice((bytes(size), drawn.randbytes(size))))
    if _rows(database) == before:
        return False
    done = Done(folder, "fsck", "--json", *stores.fsck_flags(server, copy), **stores.environment)
    table, kind = owners[page + 1]
    assert done.code == 1, f"nothing notices that page {page} of {table} ({kind}) was overwritten: {done.error}"
    named = {drift["thing"] for drift in done.json["drift"]}
    assert kind == "overflow" or f"table {table}" in named, f"page {page} of {table} ({kind}): {named}"
    return True


def _owners(database: Path) -> Mapping[int, tuple[str, str]]:
    """Return the table of each page, from 1 on, and the kind of the page."""
    sql = (
        "select d.pageno, coalesce(s.tbl_name, d.name), d.pagetype"
        " from dbstat d left join sqlite_schema s on s.name = d.name"
    )
    with closing(sqlite3.connect(database)) as connection:
        return {page: (table, kind) for page, table, kind in connection.execute(sql)}


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
