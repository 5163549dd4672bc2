"""The commands about the database: a catalog's way into PostgreSQL, and what replicas share there."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import click
import msgspec
from rich.table import Table

from registry.auth.shared_secrets import forget_secrets as forget_secrets_in
from registry.cli import command, console
from registry.config.types import DatabaseUrl
from registry.database import open_database, open_url
from registry.database.copying import copy_catalog
from registry.db import DatabaseError


@click.command()
@click.option("--from", "source", required=True, metavar="sqlite:///FILE", help="The catalog to copy.")
@click.option("--to", "target", metavar="postgresql://...", help="An empty database; default: database.url.")
@command.json_option
@command.settings_options("data_dir")
def migrate(source: str, target: str | None, as_json: bool, **flags: Any) -> None:
    """Copy a whole catalog from SQLite into PostgreSQL, and compare every table at the end.

    Stop the service first. What is cut short goes on where it was when it is run again. A password belongs in the
    environment, as SKILL_REGISTRY_DATABASE_URL, or in libpq's password file.
    """
    settings = command.load(flags)
    before, after = _url(source), _url(target) if target else settings.database.url
    if before.file is None or not before.file.is_file():
        command.stop("--from must name a SQLite database that is there", command.WRONG_USE)
    if after is None or after.file is not None:
        command.stop("--to, or database.url, must name a PostgreSQL database", command.WRONG_USE)
    try:
        with closing(open_url(before)) as old, closing(open_url(after)) as new:
            copied = copy_catalog(old, new)
    except (DatabaseError, OSError) as error:
        command.stop(str(error))
    console.show({"tables": msgspec.to_builtins(copied)}, _table, as_json=as_json)


@click.command()
@command.json_option
@command.settings_options("data_dir")
def forget_secrets(as_json: bool, **flags: Any) -> None:
    """Forget which auth.secret and log key the replicas on a PostgreSQL database share: one of them is lost.

    Stop every replica first. The next one that starts decides anew; tokens signed with another secret end, and the log
    tells that another key signs from then on.
    """
    settings = command.load(flags)
    if not settings.is_replicated:
        command.stop("database.url is no PostgreSQL database: nothing is shared", command.WRONG_USE)
    try:
        with closing(open_database(settings)) as database, database.write() as transaction:
            forget_secrets_in(transaction)
    except DatabaseError as error:
        command.stop(str(error))
    console.show({"message": "The next replica that starts decides"}, console.facts_table, as_json=as_json)


def _url(text: str) -> DatabaseUrl:
    try:
        return DatabaseUrl(text)
    except ValueError:
        command.stop("--from and --to are sqlite:///FILE and postgresql://USER@HOST/DATABASE", command.WRONG_USE)


def _table(answer: console.Data) -> Iterator[Table | str]:
    rows = ((one["table"], str(one["rows"]), one["digest"][:16]) for one in answer["tables"])
    yield console.table(("Table", "Rows", "SHA-256"), rows)
