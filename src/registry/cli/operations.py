"""`skill-registry backup` and `clone-index`: commands of an operator, for use while a service runs or before."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from registry.cli import command, console
from registry.db import DatabaseError
from registry.ops.backup import BackupFailed
from registry.ops.backup import backup as write_backup
from registry.outbound import OutboundError
from registry.publish.service import git_index

_FOLDERS = ("skills_dir", "data_dir", "database.url", "blobs.dir", "s3.bucket", "project.file")
_INDEX = ("data_dir", "registryIndex.url", "registryIndex.branch", "registryIndex.path")


@click.command()
@click.argument("target", type=click.Path(path_type=Path), metavar="DIR")
@command.json_option
@command.settings_options(*_FOLDERS)
def backup(target: Path, as_json: bool, **flags: Any) -> None:
    """Write a backup into the new folder DIR while the service runs.

    A backup holds the catalog, the keys, queued uploads, the package folder, the installed skills, the manifest and the
    lock. It does not hold a catalog in PostgreSQL or packages in a bucket: dump the database first, then run this.
    """
    settings = command.load(flags)
    try:
        report = write_backup(settings, target.absolute())
    except (BackupFailed, DatabaseError, OSError) as error:
        command.stop(f"the backup failed: {error}")
    missing = [] if report.has_database else ["the catalog, which is in PostgreSQL"]
    missing += [f"the packages, which are in the bucket {settings.s3.bucket}"] if settings.s3.bucket else []
    console.show({"backup": str(target), **report._asdict(), "not_in_it": missing}, _backup_tables, as_json=as_json)


def _backup_tables(answer: console.Data) -> Iterator[Table | str]:
    yield from console.facts_table(answer)
    for part in answer["not_in_it"]:
        yield f"[yellow]not in the backup:[/] {part}"


@click.command("clone-index")
@command.settings_options(*_INDEX)
def clone_index(**flags: Any) -> None:
    """Clone the registry index into its folder if the folder is empty. The service does the same when it starts."""
    settings = command.load(flags)
    if settings.registry_index.url is None:
        command.stop("the registry index is not configured: set registryIndex.url", command.WRONG_USAGE)
    try:
        git_index(settings).prepare()
    except (OutboundError, OSError) as error:
        command.stop(str(error))
