"""`skill-registry admin scopes`: make scopes private, and say who their members are.

Like `keys` and `users`, the commands work on the database, whether a server runs on it or not.
"""

from collections.abc import Iterator
from typing import Any

import click
import msgspec

from registry.auth.private_scopes import MEMBER_ROLES, MemberRole, NewPrivateScope, PrivateScopes
from registry.auth.users import has_user
from registry.cli import console
from registry.cli.admin.accounts import audited_database, local_database, local_options
from registry.db import Database
from registry.domain.models import now
from registry.domain.roles import Username
from registry.domain.validation import convert
from registry.publish.private_scopes import refusing

_ALL = 10_000


@click.group()
def scopes() -> None:
    """Make scopes private, and say who their members are.

    A private scope is a registry of its own, below /scopes/NAME of the server. Only its members learn of it.
    """


@scopes.command("add")
@click.argument("scope")
@click.option("--owner", required=True, metavar="USER", help="The user who may say who the members are.")
@local_options
def add_scope(scope: str, owner: str, as_json: bool, **flags: Any) -> None:
    """Make SCOPE private, before anything is published to it."""
    with audited_database(flags, scope, creates=True) as (settings, database):
        new = convert({"scope": scope, "owner": owner}, NewPrivateScope)
        entry = _scopes(database).add(new, settings.limits.private_scopes, refusing(settings, scope))
        _warn_of_no_user(database, new.owner)
    console.show(msgspec.to_builtins(entry), console.facts_table, as_json=as_json)


@scopes.command("list")
@local_options
def list_scopes(as_json: bool, **flags: Any) -> None:
    """List the private scopes."""
    with local_database(flags) as (_, database):
        private, _ = _scopes(database).list(_ALL, 0)
    console.show({"scopes": msgspec.to_builtins(private)}, _scopes_table, as_json=as_json)


@scopes.command("close")
@click.argument("scope")
@local_options
def close_scope(scope: str, as_json: bool, **flags: Any) -> None:
    """Serve SCOPE no more. Its skills and members are kept, and come back when it is added again."""
    with audited_database(flags, scope) as (_, database):
        _scopes(database).close(scope)
    answer = {"id": scope, "message": f"Scope '{scope}' closed"}
    console.show(answer, console.facts_table, as_json=as_json)


@scopes.command("members")
@click.argument("scope")
@local_options
def list_members(scope: str, as_json: bool, **flags: Any) -> None:
    """List the members of SCOPE."""
    with local_database(flags) as (_, database):
        members, _ = _scopes(database).members(scope, _ALL, 0)
    console.show({"members": msgspec.to_builtins(members)}, _members_table, as_json=as_json)


@scopes.command("set")
@click.argument("scope")
@click.argument("user")
@click.option("--role", type=click.Choice(list(MEMBER_ROLES)), default="reader", show_default=True, help="The role.")
@local_options
def set_member(scope: str, user: str, role: MemberRole, as_json: bool, **flags: Any) -> None:
    """Make USER a member of SCOPE, or change the role."""
    with audited_database(flags, scope) as (_, database):
        name: str = convert(user, Username, field="USER")
        member = _scopes(database).set_member(scope, name, role)
        _warn_of_no_user(database, name)
    console.show(msgspec.to_builtins(member), console.facts_table, as_json=as_json)


@scopes.command("remove")
@click.argument("scope")
@click.argument("user")
@local_options
def remove_member(scope: str, user: str, as_json: bool, **flags: Any) -> None:
    """End the membership of USER in SCOPE."""
    with audited_database(flags, scope) as (_, database):
        _scopes(database).remove_member(scope, user)
    answer = {"id": user, "message": f"'{user}' is no member of the scope '{scope}' any more"}
    console.show(answer, console.facts_table, as_json=as_json)


def _warn_of_no_user(database: Database, name: str) -> None:
    if not has_user(database, name):
        console.warn(
            f"there is no user '{name}' yet: 'skill-registry admin users add {name}' adds it, and so does a first "
            "sign-in at the issuer (auth.oidc)"
        )


def _scopes(database: Database) -> PrivateScopes:
    return PrivateScopes(database, now)


def _scopes_table(answer: console.Data) -> Iterator[console.Part]:
    if not answer["scopes"]:
        yield "There are no private scopes. 'skill-registry admin scopes add' makes one."
        return
    rows = ([scope["scope"], scope["path"], str(scope["members"]), scope["created_at"]] for scope in answer["scopes"])
    yield console.table(("Scope", "Path", "Members", "Since"), rows)


def _members_table(answer: console.Data) -> Iterator[console.Part]:
    rows = ([member["user"], member["role"], member["since"]] for member in answer["members"])
    yield console.table(("User", "Role", "Since"), rows)
