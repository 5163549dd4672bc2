"""`skill-registry admin fsck`: compare the stores of a catalog, report differences and repair derived data."""

import sys
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import click
import msgspec

from registry.cli import command, console
from registry.cli.backend import CommandFailed
from registry.cli.help.settings_options import settings_options
from registry.config.settings import Settings
from registry.database import open_database
from registry.db import DatabaseError, DatabaseUnusable
from registry.domain.models import now
from registry.ops.fsck import Parts, Report, inspect, inspect_unreadable
from registry.runtime.data_dir import DataDirInUse, DataDirLock

_UNCHECKED = 2
_SETTINGS = (
    *command.SHARED_SETTINGS,
    *("embedding.dimension", "embedding.base_url", "database.url", "blobs.dir"),
    *("s3.bucket", "s3.region", "s3.endpoint", "s3.blobBaseUrl", "s3.privateBucket"),
    *("registryIndex.url", "registryIndex.branch", "registryIndex.path", "transparency.name"),
    *("search.vectors", "search.milvus_uri", "search.milvus_database", "search.milvus_seconds"),
)


@click.command()
@click.option("--repair", is_flag=True, help="Rebuild derived data. The sources of truth are never changed.")
@command.json_option
@command.private_scope_option
@settings_options(*_SETTINGS)
def fsck(repair: bool, as_json: bool, **flags: Any) -> None:
    """Compare the stores of a catalog, and repair them. They are rows, packages, indexes, vectors and log.

    Use the settings of the service. The service may run, but with --repair it must be stopped. Exit codes: 0 no
    differences, 1 differences, 2 something could not be checked.
    """
    settings = command.load(flags)
    try:
        report = _inspect(settings, repair=repair)
    except DataDirInUse as running:
        command.stop(f"--repair needs the service to be stopped: {running}", _UNCHECKED)
    except (CommandFailed, DatabaseError, OSError) as error:
        command.stop(error, _UNCHECKED)
    console.show(msgspec.to_builtins(report), _lines, as_json=as_json)
    if report.drift or report.unchecked:
        sys.exit(command.FAILED if report.drift else _UNCHECKED)


def _inspect(settings: Settings, *, repair: bool) -> Report:
    command.check_own_catalog(settings)
    lock = None
    try:
        lock = DataDirLock.wait(settings.data_dir) if repair else DataDirLock(settings.data_dir)
    except DataDirInUse:
        if repair:
            raise
    try:
        with (
            closing(open_database(settings)) as database,
            closing(Parts(settings, database, now, alone=lock is not None)) as parts,
        ):
            return inspect(parts, repair=repair)
    except DatabaseUnusable as reason:
        return inspect_unreadable(settings, reason)
    finally:
        if lock is not None:
            lock.release()


def _lines(report: console.Data) -> Iterator[console.Part]:
    for repair in report["repaired"]:
        yield console.line(("repaired", "green"), f" {_sentence_of(repair)}")
    for drift in report["drift"]:
        yield console.line((drift["area"], "red"), f" {_sentence_of(drift)}. {_capital(drift['advice'])}.")
    by_reason: dict[str, list[str]] = {}
    for name, reason in report["unchecked"].items():
        by_reason.setdefault(reason, []).append(name)
    for reason, names in by_reason.items():
        yield console.line(("not checked", "yellow"), f" {', '.join(names)}: {reason}")
    if not report["drift"] and not report["unchecked"]:
        yield "No differences."
    for note in report["notes"]:
        yield console.line(("note", "yellow"), f" {note}")
    for action, count in (("embed", report["to_embed"]), ("push to the index", report["to_push"])):
        if count:
            yield f"The service has {count} left to {action}"


def _sentence_of(drift: console.Data) -> str:
    return f"{drift['thing']}: {drift['problem']}"


def _capital(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"
