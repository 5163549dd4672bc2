"""One state of a PostgreSQL database for several readers, also for pg_dump."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from registry.database.digests import TableDigest, table_digests
from registry.database.halfvec import halfvec_type, register
from registry.database.postgres import PostgresDatabase, PostgresTransaction


class DumpFailed(Exception):
    """pg_dump failed; the message says why."""


class Snapshot(NamedTuple):
    """A state of a database: the name by which the server knows it, and the digests of its tables."""

    name: str
    tables: list[TableDigest]


@contextmanager
def snapshot(database: PostgresDatabase) -> Iterator[Snapshot]:
    """Keep the current state of a database readable for the block. Raises psycopg.Error."""
    with closing(database.connect()) as connection, connection.transaction():
        connection.execute("set transaction isolation level repeatable read, read only")
        register(connection, halfvec_type(connection))
        name = str(connection.execute("select pg_export_snapshot()").fetchall()[0][0])
        yield Snapshot(name, table_digests(PostgresTransaction(connection).read, is_sqlite=False))


def dump(url: str, snapshot_name: str, target: Path) -> None:
    """Write a snapshot to a file with pg_dump, which must be as new as the server. Raises DumpFailed."""
    parameters = conninfo_to_dict(url)
    password = parameters.pop("password", None)  # arguments can be read by other users
    options = ["--format=custom", f"--snapshot={snapshot_name}", f"--file={target}"]
    program = shutil.which("pg_dump")
    if program is None:
        raise DumpFailed("pg_dump is not on the PATH: install the client programs of PostgreSQL")
    environment = {"PATH": os.defpath, "HOME": str(Path.home())} | ({"PGPASSWORD": str(password)} if password else {})
    address = make_conninfo("", **{name: str(value) for name, value in parameters.items()})
    process = subprocess.run(  # noqa: S603 - the program of the operator, without a shell
        [program, *options, f"--dbname={address}"], env=environment, capture_output=True, text=True, check=False
    )
    if process.returncode:
        raise DumpFailed(f"pg_dump failed: {process.stderr.strip()[-500:]}")
