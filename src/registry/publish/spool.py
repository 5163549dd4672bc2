"""Where the packages of live jobs lie: in a folder where one machine serves, else in the database with the jobs."""

import shutil
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from registry.db import Database, Transaction
from registry.runtime.atomic_files import sync_folder

UNPACKED_PREFIX = "unpacked-"
"""How the names of folders begin into which packages are written to be looked at."""

_PART_BYTES = 1 << 20


class PackageLost(Exception):
    """There is a job, but its package is gone."""


class Spool(Protocol):
    """Keeps the package of each live job from the transaction that adds the job until its end.

    Whoever may see a job may open its package, on whatever machine it is. `folder` is a place for temporary files.
    """

    folder: Path

    def keep(self, transaction: Transaction, job_id: str, package: Path) -> None:
        """Take a file over as the package of a job that the transaction adds. Raises OSError."""
        ...

    @contextmanager
    def open(self, job_id: str) -> Iterator[Path]:
        """Have a job's package as a file for the block. Raises PackageLost, OSError."""
        ...

    def undo(self, job_id: str) -> None:
        """Remove what was kept in a transaction that has failed."""
        ...

    def forget(self, job_id: str) -> None:
        """Remove the package of a job that has ended."""
        ...

    def tidy(self, transaction: Transaction, live: Collection[str]) -> None:
        """Remove what belongs to no live job."""
        ...


class FolderSpool:
    """Keeps packages as `<job id>.zip` in a folder that every process of the service sees."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def _path(self, job_id: str) -> Path:
        return self.folder / f"{job_id}.zip"

    def keep(self, transaction: Transaction, job_id: str, package: Path) -> None:
        """Take a file over. Raises OSError."""
        package.replace(self._path(job_id))
        sync_folder(self.folder)

    @contextmanager
    def open(self, job_id: str) -> Iterator[Path]:
        """Have a job's package as a file for the block. Raises PackageLost."""
        if not self._path(job_id).exists():
            raise PackageLost
        yield self._path(job_id)

    def undo(self, job_id: str) -> None:
        """Remove what was kept in a transaction that has failed."""
        self.forget(job_id)

    def forget(self, job_id: str) -> None:
        """Remove a package."""
        self._path(job_id).unlink(missing_ok=True)

    def tidy(self, transaction: Transaction, live: Collection[str]) -> None:
        """Remove what belongs to no live job: files come, and jobs end, only in a transaction."""
        for path in self.folder.glob("*.zip"):
            if path.stem not in live:
                path.unlink(missing_ok=True)


class DatabaseSpool:
    """Keeps packages in parts of a mebibyte beside their jobs, so that any replica can finish what another received.

    They are written to `folder` to be read.
    """

    def __init__(self, database: Database, folder: Path) -> None:
        self._database = database
        self.folder = folder

    def keep(self, transaction: Transaction, job_id: str, package: Path) -> None:
        """Write a file into the database. Raises OSError."""
        with package.open("rb") as file:
            part = 0
            while data := file.read(_PART_BYTES):
                sql = "insert into spooled_packages (job_id, part, data) values (?, ?, ?)"
                transaction.execute(sql, (job_id, part, data))
                part += 1

    @contextmanager
    def open(self, job_id: str) -> Iterator[Path]:
        """Have a job's package as a file for the block. Raises PackageLost, OSError."""
        folder = Path(tempfile.mkdtemp(dir=self.folder, prefix=UNPACKED_PREFIX))
        try:
            package = folder / f"{job_id}.zip"
            if not self._write(job_id, package):
                raise PackageLost
            yield package
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _write(self, job_id: str, package: Path) -> int:
        """Write a package's parts to a file and return how many there are."""
        sql, part = "select data from spooled_packages where job_id = ? and part = ?", 0
        with package.open("xb") as file:
            while rows := self._database.read(sql, (job_id, part)):
                file.write(rows[0][0])
                part += 1
        return part

    def undo(self, job_id: str) -> None:
        """Do nothing: what the transaction had written is gone with it."""

    def forget(self, job_id: str) -> None:
        """Remove a package."""
        with self._database.write() as transaction:
            transaction.execute("delete from spooled_packages where job_id = ?", (job_id,))

    def tidy(self, transaction: Transaction, live: Collection[str]) -> None:
        """Remove what belongs to no live job."""
        for (job_id,) in transaction.read("select distinct job_id from spooled_packages"):
            if job_id not in live:
                transaction.execute("delete from spooled_packages where job_id = ?", (job_id,))
