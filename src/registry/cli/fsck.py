"""`skill-registry fsck`: do the stores of a catalog agree, and what to do where they do not."""

import sys
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import click
import msgspec
from rich.markup import escape
from rich.table import Table

from registry.cli import command, console
from registry.cli.backend import CommandFailed
from registry.cli.client import check_catalog
from registry.config.settings import Settings
from registry.database import open_database
from registry.db import DatabaseError
from registry.domain.models import now
from registry.ops.fsck import Parts, Report, inspect
from registry.runtime.data_dir import DataDirInUse, DataDirLock

_CANNOT = 2
_SETTINGS = (
    *command.SHARED_SETTINGS,
    *("embedding.dimension", "embedding.base_url", "database.url", "blobs.dir"),
    *("s3.bucket", "s3.region", "s3.endpoint", "s3.blobBaseUrl"),
    *("registryIndex.url", "registryIndex.branch", "registryIndex.path", "transparency.name"),
)


@click.command()
@click.option("--repair", is_flag=True, help="Make anew what is derived; truth is never touched.")
@command.json_option
@command.settings_options(*_SETTINGS)
def fsck(repair: bool, as_json: bool, **flags: Any) -> None:
    """Compare rows, packages, words, vectors, index and log, and print where they do not agree.

    Give it the settings of the service. It may run beside the service; with --repair the service on the data directory
    must be stopped. Exit codes: 0 all agree, 1 they do not, 2 something could not be looked at.
    """
    settings = command.load(flags)
    try:
        report = _inspected(settings, repair=repair)
    except DataDirInUse as running:
        command.stop(f"nothing is repaired while a service runs: {running}", _CANNOT)
    except (CommandFailed, DatabaseError, OSError) as error:
        command.stop(str(error), _CANNOT)
    console.show(msgspec.to_builtins(report), _lines, as_json=as_json)
    if report.drift or report.unchecked:
        sys.exit(command.FAILED if report.drift else _CANNOT)


def _inspected(settings: Settings, *, repair: bool) -> Report:
    check_catalog(settings)
    lock = None
    try:
        lock = DataDirLock(settings.data_dir)
    except DataDirInUse:
        if repair:
            raise
    try:
        with (
            closing(open_database(settings)) as database,
            closing(Parts(settings, database, now, alone=lock is not None)) as parts,
        ):
            return inspect(parts, repair=repair)
    finally:
        if lock is not None:
            lock.release()


def _lines(report: console.Data) -> Iterator[Table | str]:
    for one in report["repaired"]:
        yield f"[green]repaired[/] {_line(one)}"
    for one in report["drift"]:
        yield f"[red]{one['area']}[/] {_line(one)}. {escape(_sentence(one['advice']))}"
    for name, reason in report["unchecked"].items():
        yield f"[yellow]not checked[/] {name}: {escape(console.printable(reason))}"
    if not report["drift"] and not report["unchecked"]:
        yield "All agree."
    for what, count in (("be embedded", report["to_embed"]), ("be pushed to the index", report["to_push"])):
        if count:
            yield f"Left to the service: {count} to {what}"


def _line(one: console.Data) -> str:
    return escape(console.printable(f"{one['thing']}: {one['problem']}"))


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
