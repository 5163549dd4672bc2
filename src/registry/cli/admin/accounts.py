"""`skill-registry admin keys`, `users` and `token`: manage access to a registry on the machine of its data directory.

The commands work on the database, whether a server runs on it or not. They need no credential: write access to the
database is enough.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import click
import msgspec

from registry.auth.access import signing_keys
from registry.auth.audit import OPERATOR, Audit
from registry.auth.keys import ApiKeys, NewKey, id_of
from registry.auth.private_scopes import PrivateScopes
from registry.auth.revocations import Revocations
from registry.auth.secret import WeakSecret
from registry.auth.tokens import Tokens
from registry.auth.users import NewUser, UserChanges, Users
from registry.cli import command, console
from registry.cli.access.pasted import pasted_credential
from registry.cli.backend import CommandFailed
from registry.cli.help.settings_options import Command, settings_options
from registry.cli.server_choice import has_catalog
from registry.config.settings import Settings
from registry.database import open_database
from registry.db import Database, DatabaseError
from registry.domain.models import now, timestamp_of
from registry.domain.roles import DEFAULT_USER, ROLES, Role, Username
from registry.domain.validation import convert
from registry.errors import RegistryError

_ALL = 10_000


_role = click.option("--role", type=click.Choice(ROLES), default="user", show_default=True, help="The role it grants.")
_new_role = click.option("--role", type=click.Choice(ROLES), help="The role of the user.")
_scope = click.option("--scope", help="The scope in which it may publish.")
_password = click.option(
    "--password-stdin", is_flag=True, help="Read the password from standard input instead of asking for it."
)


def local_options(function: Command) -> Command:
    """Give a command `--json` and the options that select a database."""
    return command.json_option(settings_options("data_dir", "database.url")(function))


@contextmanager
def local_database(flags: dict[str, Any], *, creates: bool = False) -> Iterator[tuple[Settings, Database]]:
    """Yield the settings and their database. An error in the block ends the command with one line.

    Without `creates`, a data directory that holds no catalog is an error: it may be a typing mistake.
    """
    settings = command.load(flags)
    try:
        if not creates:
            command.check_own_catalog(settings)
        elif not has_catalog(settings):
            console.note(f"this is a new catalog, in {settings.data_dir}")
        database = open_database(settings)
        try:
            yield settings, database
        finally:
            database.close()
    except RegistryError as error:
        command.stop(error.line)
    except (CommandFailed, DatabaseError, WeakSecret, OSError) as error:
        command.stop(error)


@contextmanager
def audited_database(
    flags: dict[str, Any], target: str, *, creates: bool = False
) -> Iterator[tuple[Settings, Database]]:
    """Yield as `local_database`, for a command that changes `target`: its first change is in the audit log."""
    names = _command_names(click.get_current_context())
    with local_database(flags, creates=creates) as (settings, database), Audit(database, now).of_command(names, target):
        yield settings, database


def _command_names(context: click.Context) -> str:
    """Return the names of a command in one of the groups of `admin`, which also work without `admin`."""
    group = context.parent.info_name if context.parent else ""
    return f"admin {group} {context.info_name}"


@click.group()
def keys() -> None:
    """Create, list and revoke API keys."""


@keys.command("create")
@click.option("--name", default="created on the command line", show_default=True, help="Purpose of the key.")
@_role
@_scope
@local_options
def create_key(name: str, role: str, scope: str | None, as_json: bool, **flags: Any) -> None:
    """Create an API key and print it. It cannot be shown again."""
    with audited_database(flags, name, creates=True) as (_, database):
        new = convert({"name": name, "role": role, "scope": scope}, NewKey)
        key = _keys(database).create(new)
    console.show(msgspec.to_builtins(key), console.facts_table, as_json=as_json)


@keys.command("list")
@local_options
def list_keys(as_json: bool, **flags: Any) -> None:
    """List the API keys, without their secrets."""
    with local_database(flags) as (_, database):
        api_keys, _ = _keys(database).list(_ALL, 0)
    console.show({"keys": [msgspec.to_builtins(key) for key in api_keys]}, _keys_table, as_json=as_json)


@keys.command("revoke")
@click.argument("key_id")
@local_options
def revoke_key(key_id: str, as_json: bool, **flags: Any) -> None:
    """Revoke the API key KEY_ID, which may also be the text of the key. This cannot be undone."""
    key_id = id_of(pasted_credential(key_id))
    with audited_database(flags, key_id) as (_, database):
        revoked = _keys(database).revoke(key_id)
    console.show(msgspec.to_builtins(revoked), console.facts_table, as_json=as_json)


def _keys_table(answer: console.Data) -> Iterator[console.Part]:
    if not answer["keys"]:
        yield "There are no API keys. 'skill-registry admin keys create' makes one."
        return
    columns = ("Id", "Name", "Role", "Scope", "Created", "Last used", "Revoked")
    fields = ("id", "name", "role", "scope", "created_at", "last_used_at", "revoked_at")
    yield console.table(columns, ([key[field] or "" for field in fields] for key in answer["keys"]))


@click.group()
def users() -> None:
    """Add, list, change and remove users. Users sign in with a name and a password."""


@users.command("add")
@click.argument("name")
@_role
@_scope
@_password
@local_options
def add_user(name: str, role: str, scope: str | None, password_stdin: bool, as_json: bool, **flags: Any) -> None:
    """Add the user NAME. The name is one word, or SCOPE/NAME."""
    password = _read_password(from_stdin=password_stdin)
    with audited_database(flags, name, creates=True) as (_, database):
        new = convert({"name": name, "role": role, "scope": scope, "password": password}, NewUser)
        user = _users(database).add(new)
    console.show(msgspec.to_builtins(user), console.facts_table, as_json=as_json)


@users.command("list")
@local_options
def list_users(as_json: bool, **flags: Any) -> None:
    """List the users."""
    with local_database(flags) as (_, database):
        accounts, _ = _users(database).list(_ALL, 0)
    console.show({"users": [msgspec.to_builtins(user) for user in accounts]}, _users_table, as_json=as_json)


@users.command("change")
@click.argument("name")
@_new_role
@_scope
@click.option("--password", "new_password", is_flag=True, help="Ask for a new password.")
@_password
@local_options
def change_user(
    name: str,
    role: str | None,
    scope: str | None,
    new_password: bool,
    password_stdin: bool,
    as_json: bool,
    **flags: Any,
) -> None:
    """Change the user NAME. This revokes the tokens of the user."""
    password = _read_password(from_stdin=password_stdin) if new_password or password_stdin else None
    if not (role or scope or password):
        command.stop("nothing to change: give --role, --scope or --password", command.WRONG_USAGE)
    with audited_database(flags, name) as (_, database):
        changes = convert({"role": role, "scope": scope, "password": password}, UserChanges)
        user = _users(database).change(name, changes)
    console.show(msgspec.to_builtins(user), console.facts_table, as_json=as_json)


@users.command("remove")
@click.argument("name")
@local_options
def remove_user(name: str, as_json: bool, **flags: Any) -> None:
    """Remove the user NAME. This revokes the tokens of the user."""
    with audited_database(flags, name) as (_, database):
        _users(database).remove(name)
        ownerless = PrivateScopes(database, now).without_owner()
    for scope in ownerless:
        console.warn(
            f"the private scope {scope} has no owner: name one with 'skill-registry admin scopes set {scope} USER "
            "--role owner'"
        )
    console.show({"name": name, "message": f"User '{name}' removed"}, console.facts_table, as_json=as_json)


def _users_table(answer: console.Data) -> Iterator[console.Part]:
    if not answer["users"]:
        yield "There are no users. 'skill-registry admin users add NAME' adds one."
        return
    columns, fields = ("Name", "Role", "Scope", "Added"), ("name", "role", "scope", "created_at")
    yield console.table(columns, ([user[field] for field in fields] for user in answer["users"]))


def _keys(database: Database) -> ApiKeys:
    return ApiKeys(database, now, Revocations(database, now))


def _users(database: Database) -> Users:
    return Users(database, now, Revocations(database, now))


def _read_password(*, from_stdin: bool) -> str:
    if from_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    if not sys.stdin.isatty():
        command.stop("there is no terminal to ask for the password: give --password-stdin")
    return console.ask_secret("Password", twice=True)


@click.command()
@click.option("--user", "subject", default=DEFAULT_USER, show_default=True, help="The user: one word, or SCOPE/NAME.")
@_role
@click.option("--lifetime", type=click.IntRange(1), help="Seconds until it expires; default: auth.token_lifetime.")
@local_options
def token(subject: str, role: str, lifetime: int | None, as_json: bool, **flags: Any) -> None:
    """Sign a token with the secret of this registry."""
    with local_database(flags) as (settings, database):
        subject = convert(subject, Username, field="--user")
        at = Revocations(database, now).earliest_issue(subject)
        tokens = Tokens(signing_keys(settings), lifetime or settings.auth.token_lifetime, now)
        signed, claims = tokens.issue(subject, cast(Role, role), at=at)
        if role != "user":
            detail = f"{role} token {claims.jti} for {subject}"
            Audit(database, now).record("issue token", detail, actor=OPERATOR, role="admin")
    if as_json:
        answer = {"token": signed, "role": role, "expires_at": timestamp_of(claims.exp)}
        console.show(answer, console.facts_table, as_json=True)
    else:
        click.echo(signed)
