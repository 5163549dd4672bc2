"""Where packages wait for their jobs: the folder of one machine and the database of several keep the same promise."""

import os
from pathlib import Path

import pytest

from registry.database.sqlite import SqliteDatabase
from registry.publish.spool import DatabaseSpool, FolderSpool, PackageLost, Spool

BYTES = os.urandom((2 << 20) + 5)


@pytest.fixture(params=["folder", "database"])
def spool(request: pytest.FixtureRequest, database: SqliteDatabase, tmp_path: Path) -> Spool:
    folder = tmp_path / "spool"
    folder.mkdir()
    return FolderSpool(folder) if request.param == "folder" else DatabaseSpool(database, folder)


def keep(spool: Spool, database: SqliteDatabase, job_id: str, *, fails: bool = False) -> None:
    package = spool.folder / "upload"
    package.write_bytes(BYTES)
    with database.write() as transaction:
        spool.keep(transaction, job_id, package)
        if fails:
            raise ValueError(job_id)


def is_there(spool: Spool, job_id: str) -> bool:
    try:
        with spool.open(job_id) as package:
            return package.read_bytes() == BYTES
    except PackageLost:
        return False


def test_a_package_is_there_until_its_job_ends(spool: Spool, database: SqliteDatabase) -> None:
    keep(spool, database, "one")
    assert is_there(spool, "one")
    assert is_there(spool, "one")
    spool.forget("one")
    assert not is_there(spool, "one")
    assert not [path for path in spool.folder.iterdir() if path.name != "upload"]


def test_what_belongs_to_no_live_job_goes(spool: Spool, database: SqliteDatabase) -> None:
    keep(spool, database, "live")
    keep(spool, database, "ended")
    with database.write() as transaction:
        spool.tidy(transaction, {"live"})
    assert (is_there(spool, "live"), is_there(spool, "ended")) == (True, False)


def test_a_job_that_was_not_added_leaves_nothing(spool: Spool, database: SqliteDatabase) -> None:
    with pytest.raises(ValueError, match="one"):
        keep(spool, database, "one", fails=True)
    spool.undo("one")
    assert not is_there(spool, "one")
