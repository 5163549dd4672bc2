"""`skill-registry admin backup` and `clone-index`: commands of an operator, for use while a service runs or before."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from registry.cli import command, console
from registry.cli.help.settings_options import settings_options
from registry.config.scope_settings import kept_scopes
from registry.db import DatabaseError
from registry.ops.backup import BackupFailed
from registry.ops.backup import backup as write_backup
from registry.ops.backup_files import NoBackup
from registry.ops.backup_manifest import verify, verify_restored
from registry.outbound import OutboundError
from registry.publish.service import git_index

_FOLDERS = ("skills_dir", "data_dir", "database.url", "blobs.dir", "s3.bucket", "s3.privateBucket", "project.file")
_INDEX = ("data_dir", "registryIndex.url", "registryIndex.branch", "registryIndex.path")


@click.command()
@click.argument("target", type=click.Path(path_type=Path), metavar="DIR")
@click.option("--dump", is_flag=True, help="Add a dump of a PostgreSQL catalog, which pg_dump writes.")
@click.option(
    "--keep",
    type=click.IntRange(min=1),
    metavar="N",
    help="Verify the backup, then remove older ones of this catalog beside DIR, so that N remain.",
)
@command.json_option
@command.private_scope_option
@settings_options(*_FOLDERS)
def backup(target: Path, dump: bool, keep: int | None, as_json: bool, **flags: Any) -> None:
    """Write a backup while the service runs. DIR is the new folder for it.

    A backup holds the catalog, the keys, queued uploads, the package folder, the installed skills, the manifest and the
    lock, and the digest of every table. It holds a catalog in PostgreSQL only with --dump. Packages in a bucket are not
    in it: copy them after this.
    """
    settings = command.load(flags)
    try:
        report = write_backup(settings, target.absolute(), dump=dump, keep=keep)
    except (BackupFailed, DatabaseError, OSError) as error:
        command.stop(f"the backup failed: {command.reason_in_words(error)}")
    missing = [] if report.has_database else ["the catalog, which is in PostgreSQL"]
    missing += [f"the private scope {name}: back it up with --private-scope {name}" for name in kept_scopes(settings)]
    missing += [f"the packages, which are in the bucket {settings.s3.bucket}"] if settings.s3.bucket else []
    console.show({"backup": str(target), **report._asdict(), "not_in_it": missing}, _backup_tables, as_json=as_json)


def _backup_tables(answer: console.Data) -> Iterator[console.Part]:
    yield from console.facts_table(answer)
    for part in answer["not_in_it"]:
        yield console.line(("not in the backup:", "yellow"), f" {part}")


@click.command("verify-backup")
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option("--restored", is_flag=True, help="Compare the database of the settings with the backup it came from.")
@command.json_option
@command.private_scope_option
@settings_options("data_dir", "database.url")
def verify_backup(folder: Path, restored: bool, as_json: bool, **flags: Any) -> None:
    """Compare a backup with its checksums and digests. DIR holds its files and its database.

    With --restored, compare the database that was restored from it, before the service has started. Exit codes: 0 all
    agrees, 1 differences, which are listed.
    """
    try:
        problems = verify_restored(folder, command.load(flags)) if restored else verify(folder)
    except (NoBackup, DatabaseError, OSError) as error:
        command.stop(error)
    console.show({"backup": str(folder), "problems": problems}, _problem_lines, as_json=as_json)
    if problems:
        sys.exit(command.FAILED)


def _problem_lines(answer: console.Data) -> Iterator[console.Part]:
    yield from answer["problems"]
    if not answer["problems"]:
        yield "No differences."


@click.command("clone-index")
@settings_options(*_INDEX)
def clone_index(**flags: Any) -> None:
    """Clone the registry index into its empty folder. The service does the same when it starts."""
    settings = command.load(flags)
    if settings.registry_index.url is None:
        command.stop("the registry index is not configured: set registryIndex.url", command.WRONG_USAGE)
    try:
        git_index(settings).prepare()
    except (OutboundError, OSError) as error:
        command.stop(error)
