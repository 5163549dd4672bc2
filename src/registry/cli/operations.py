"""`skill-registry backup` and `clone-index`: what an operator runs beside a service, or before it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from registry.cli import command, console
from registry.db import DatabaseError
from registry.outbound import OutboundError

_FOLDERS = ("skills_dir", "data_dir", "database.url", "blobs.dir", "s3.bucket", "project.file")
_INDEX = ("data_dir", "registryIndex.url", "registryIndex.branch", "registryIndex.path")


@click.command()
@click.argument("target", type=click.Path(path_type=Path), metavar="DIR")
@command.json_option
@command.settings_options(*_FOLDERS)
def backup(target: Path, as_json: bool, **flags: Any) -> None:
    """Write a backup into the new folder DIR while the service runs.

    The catalog, the keys, uploads that wait, the folder of packages, the installed skills, the manifest and the lock.
    A catalog in PostgreSQL and packages in a bucket are not in it: dump the database first, then run this.
    """
    from registry.ops.backup import BackupFailed, backup  # noqa: PLC0415 - publishing is slow to import

    settings = command.load(flags)
    try:
        done = backup(settings, target.absolute())
    except (BackupFailed, DatabaseError, OSError) as error:
        command.stop(f"there is no backup: {error}")
    missing = [] if done.has_database else ["the catalog, which is in PostgreSQL"]
    missing += [f"the packages, which are in the bucket {settings.s3.bucket}"] if settings.s3.bucket else []
    console.show({"backup": str(target), **done._asdict(), "not_in_it": missing}, _backup_tables, as_json=as_json)


def _backup_tables(answer: console.Data) -> Iterator[Table | str]:
    yield from console.facts_table(answer)
    for one in answer["not_in_it"]:
        yield f"[yellow]not in it:[/] {one}"


@click.command("clone-index")
@command.settings_options(*_INDEX)
def clone_index(**flags: Any) -> None:
    """Clone the registry index into its folder if that is empty, as a start of the service would."""
    from registry.publish.service import git_index  # noqa: PLC0415 - slow to import

    settings = command.load(flags)
    if settings.registry_index.url is None:
        command.stop("the registry index is not configured: set registryIndex.url", command.WRONG_USE)
    try:
        git_index(settings).prepare()
    except (OutboundError, OSError) as error:
        command.stop(str(error))
