"""Stores the packages of live jobs: in a folder on a single machine, in the database for several replicas."""

import shutil
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from registry.config.settings import Settings
from registry.db import Database, Reader, Transaction
from registry.publish.stored_packages import FOLDER
from registry.runtime.atomic_files import sync_folder

UNPACKED_PREFIX = "unpacked-"
"""The name prefix of folders for unpacked packages."""

_PART_BYTES = 1 << 20


class PackageLost(Exception):
    """The package of a job is missing."""


class Spool(Protocol):
    """Stores the package of each live job, from the transaction that adds the job until its end.

    Every process that sees a job can open its package, on any machine. `folder` is for temporary files.
    """

    folder: Path

    def keep(self, transaction: Transaction, job_id: str, package: Path) -> None:
        """Take ownership of a file as the package of a job that the transaction adds. Raises OSError."""
        ...

    @contextmanager
    def open(self, job_id: str) -> Iterator[Path]:
        """Provide the package of a job as a file for the block. Raises PackageLost, OSError."""
        ...

    def roll_back(self, job_id: str) -> None:
        """Remove the package of a job whose transaction failed."""
        ...

    def remove(self, job_id: str) -> None:
        """Remove the package of a job that has ended."""
        ...

    def orphans(self, reader: Reader, needed: Collection[str]) -> list[str]:
        """Return the ids of the jobs with a package that are not among `needed`."""
        ...

    def remove_orphans(self, transaction: Transaction, needed: Collection[str]) -> None:
        """Remove the packages of all jobs but those in `needed`, which the transaction has read."""
        ...


class FolderSpool:
    """Stores packages as `<job id>.zip` in a folder that all processes of the service share."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def _path(self, job_id: str) -> Path:
        return self.folder / f"{job_id}.zip"

    def keep(self, transaction: Transaction, job_id: str, package: Path) -> None:
        """Move a file into the folder. Raises OSError."""
        package.replace(self._path(job_id))
        sync_folder(self.folder)

    @contextmanager
    def open(self, job_id: str) -> Iterator[Path]:
        """Provide the package of a job as a file for the block. Raises PackageLost."""
        if not self._path(job_id).exists():
            raise PackageLost
        yield self._path(job_id)

    def roll_back(self, job_id: str) -> None:
        """Remove the package of a job whose transaction failed."""
        self.remove(job_id)

    def remove(self, job_id: str) -> None:
        """Remove a package."""
        self._path(job_id).unlink(missing_ok=True)

    def orphans(self, reader: Reader, needed: Collection[str]) -> list[str]:
        """Return the ids of the jobs with a package that are not among `needed`."""
        return sorted(path.stem for path in self.folder.glob("*.zip") if path.stem not in needed)

    def remove_orphans(self, transaction: Transaction, needed: Collection[str]) -> None:
        """Remove packages that no job needs. This is safe, because packages and jobs are added only in transactions."""
        for job_id in self.orphans(transaction, needed):
            self.remove(job_id)


class DatabaseSpool:
    """Stores packages in the database in parts of 1 MiB, so that any replica can finish a job.

    Packages are written to `folder` for reading.
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
        """Provide the package of a job as a file for the block. Raises PackageLost, OSError."""
        folder = Path(tempfile.mkdtemp(dir=self.folder, prefix=UNPACKED_PREFIX))
        try:
            package = folder / f"{job_id}.zip"
            if not self._write(job_id, package):
                raise PackageLost
            yield package
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _write(self, job_id: str, package: Path) -> int:
        """Write the parts of a package to a file and return their number."""
        sql, part = "select data from spooled_packages where job_id = ? and part = ?", 0
        with package.open("xb") as file:
            while rows := self._database.read(sql, (job_id, part)):
                file.write(rows[0][0])
                part += 1
        return part

    def roll_back(self, job_id: str) -> None:
        """Do nothing: the database has rolled the parts back."""

    def remove(self, job_id: str) -> None:
        """Remove a package."""
        with self._database.write() as transaction:
            transaction.execute("delete from spooled_packages where job_id = ?", (job_id,))

    def orphans(self, reader: Reader, needed: Collection[str]) -> list[str]:
        """Return the ids of the jobs with a package that are not among `needed`."""
        rows = reader.read("select distinct job_id from spooled_packages order by job_id")
        return [job_id for (job_id,) in rows if job_id not in needed]

    def remove_orphans(self, transaction: Transaction, needed: Collection[str]) -> None:
        """Remove packages that no job needs."""
        for job_id in self.orphans(transaction, needed):
            transaction.execute("delete from spooled_packages where job_id = ?", (job_id,))


def package_spool(settings: Settings, database: Database) -> Spool:
    """Return where the packages of jobs wait: in the database if several replicas share it."""
    folder = settings.data_dir / FOLDER
    return DatabaseSpool(database, folder) if settings.is_replicated else FolderSpool(folder)
