"""`skill-registry admin migrate` and `forget-secrets`: copy a catalog to PostgreSQL, manage shared secrets there."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import click
import msgspec

from registry.auth.shared_secrets import forget_secrets as forget_secrets_in
from registry.cli import command, console
from registry.cli.help.settings_options import settings_options
from registry.config.types import DatabaseUrl
from registry.database import open_database, open_url
from registry.database.copying import copy_catalog
from registry.db import DatabaseError
from registry.runtime.data_dir import LOCK_FILE, DataDirInUse, DataDirLock


@click.command()
@click.option("--from", "source", required=True, metavar="sqlite:///FILE", help="The catalog to copy.")
@click.option("--to", "target", metavar="postgresql://...", help="An empty database; default: database.url.")
@command.json_option
@settings_options("data_dir")
def migrate(source: str, target: str | None, as_json: bool, **flags: Any) -> None:
    """Copy a catalog from SQLite into PostgreSQL. Every table is then compared.

    The service must be stopped. If the command is interrupted, run it again: it continues where it stopped. Give a
    password in the environment variable SKILL_REGISTRY_DATABASE_URL or in libpq's password file.
    """
    settings = command.load(flags)
    origin, destination = _url(source), _url(target) if target else settings.database.url
    if origin.file is None or not origin.file.is_file():
        command.stop("--from must name an existing SQLite database", command.WRONG_USAGE)
    if destination is None or destination.file is not None:
        command.stop("--to, or database.url, must name a PostgreSQL database", command.WRONG_USAGE)
    try:
        with (
            _locked({origin.file.parent, settings.data_dir}),
            closing(open_url(origin)) as old,
            closing(open_url(destination)) as new,
        ):
            copied = copy_catalog(old, new)
    except DataDirInUse as running:
        command.stop(f"what a service writes meanwhile would be lost: {running}")
    except (DatabaseError, OSError) as error:
        command.stop(error)
    console.show({"tables": msgspec.to_builtins(copied)}, _table, as_json=as_json)


@click.command()
@command.json_option
@settings_options("data_dir")
def forget_secrets(as_json: bool, **flags: Any) -> None:
    """Delete the secrets that replicas share, after a loss. They are auth.secret and the log key, in PostgreSQL.

    Stop every replica first. The next replica that starts stores its own secrets. Tokens that were signed with another
    secret become invalid, and the log records the new key.
    """
    settings = command.load(flags)
    if not settings.is_replicated:
        command.stop("database.url is not a PostgreSQL database: there are no shared secrets", command.WRONG_USAGE)
    try:
        with closing(open_database(settings)) as database, database.write() as transaction:
            forget_secrets_in(transaction)
    except DatabaseError as error:
        command.stop(error)
    console.show(
        {"message": "The next replica that starts stores its own secrets"}, console.facts_table, as_json=as_json
    )


@contextmanager
def _locked(folders: set[Path]) -> Iterator[None]:
    """Keep services from those of the folders that are data directories. Raises DataDirInUse, OSError."""
    with ExitStack() as locks:
        for folder in folders:
            if (folder / LOCK_FILE).exists():
                locks.callback(DataDirLock.wait(folder).release)
        yield


def _url(text: str) -> DatabaseUrl:
    try:
        return DatabaseUrl(text)
    except ValueError:
        command.stop("--from must be sqlite:///FILE, and --to postgresql://USER@HOST/DATABASE", command.WRONG_USAGE)


def _table(answer: console.Data) -> Iterator[console.Part]:
    rows = ((table["table"], str(table["rows"]), table["digest"][:16]) for table in answer["tables"])
    yield console.table(("Table", "Rows", "SHA-256"), rows)
