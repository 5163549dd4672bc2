"""`skill-registry admin rebuild`: recover a registry whose database is lost, from its index and its packages."""

from collections.abc import Iterator
from typing import Any

import click
import msgspec

from registry.cli import command, console
from registry.cli.help.settings_options import settings_options
from registry.config.settings import Settings
from registry.db import DatabaseError
from registry.domain.counts import counted
from registry.ops.rebuild import RebuildRefused
from registry.ops.rebuild import rebuild as rebuild_database
from registry.runtime.data_dir import DataDirInUse, DataDirLock
from registry.runtime.private_files import PrivateFileExposed
from registry.services.registry_profile import log_signer
from registry.transparency.checkpoint import KEY_FILE, CheckpointInvalid, KeyUnusable, Verifier

_SETTINGS = (
    *("data_dir", "database.url", "blobs.dir", "s3.bucket", "s3.region", "s3.endpoint", "s3.blobBaseUrl"),
    *("s3.privateBucket", "registryIndex.url", "registryIndex.branch", "transparency.name"),
)


@click.command()
@click.option("--from-index", is_flag=True, required=True, help="Replay the log in the registry index.")
@click.option("--log-key", metavar="KEY", help="The public key of the log, if its private key is lost.")
@click.option("--replace", is_flag=True, help="Set a SQLite database aside although it can be read.")
@click.option(
    "--allow-missing", is_flag=True, help="Continue although packages are missing. Their version numbers stay taken."
)
@command.json_option
@command.private_scope_option
@settings_options(*_SETTINGS)
def rebuild(
    from_index: bool, log_key: str | None, replace: bool, allow_missing: bool, as_json: bool, **flags: Any
) -> None:
    """Rebuild a lost database from the index and the packages.

    Use the settings of the service, and stop it first. The log is replayed and compared with its signed checkpoint,
    every package with its digest. The service then continues the same log. Users, keys, jobs, records and all other
    data is lost; the result names it. A damaged SQLite database is set aside. Exit code 1: nothing was changed.
    """
    settings = command.load(flags)
    if settings.registry_index.url is None:
        command.stop("the registry index is not configured: set registryIndex.url", command.WRONG_USAGE)
    try:
        lock = DataDirLock.wait(settings.data_dir)
    except DataDirInUse as running:
        command.stop(running)
    try:
        with console.progress_bar("Replaying", hidden=as_json) as progress:
            report = rebuild_database(
                settings,
                Verifier(log_key or _own_key(settings)),
                replace=replace,
                allow_missing=allow_missing,
                progress=progress,
            )
    except CheckpointInvalid as error:
        command.stop(f"--log-key: {error}", command.WRONG_USAGE)
    except (RebuildRefused, KeyUnusable, PrivateFileExposed, DatabaseError, OSError) as error:
        command.stop(error)
    finally:
        lock.release()
    console.show(msgspec.to_builtins(report), _lines, as_json=as_json)


def _own_key(settings: Settings) -> str:
    """Return the public half of the key that the service signs with. It is not generated here."""
    if settings.transparency.key is None and not (settings.data_dir / KEY_FILE).exists():
        raise RebuildRefused(
            f"the key of the log is lost: put {KEY_FILE} back into the data directory, or transparency.key into the "
            "settings. Without it, name the public key that readers know with --log-key; the service then continues "
            "the log with a new key"
        )
    return log_signer(settings).verifier_key


def _lines(report: console.Data) -> Iterator[console.Part]:
    versions = ", ".join(f"{count} {state}" for state, count in report["versions"].items())
    entries = counted(report["entries"], "entry")
    yield f"Rebuilt {counted(report['skills'], 'skill')} ({versions}) from {entries} of the log."
    if report["set_aside"]:
        yield f"The old database is now {report['set_aside']}"
    yield from console.problems_table("Without its package", report["missing"])
    for name in report["not_in_log"]:
        yield console.line(("not in the log:", "yellow"), f" {name}")
    yield from console.problems_table("Lost", report["lost"])
