"""Private scopes: which there are, and who is a member of them.

A private scope is a registry of its own below `/scopes/NAME`
(docs/decisions/2026-11-28-private-scopes.md). Its members and their roles are in the database of the service.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from registry.db import Database, Reader, Transaction
from registry.domain.api import SCOPES_PATH
from registry.domain.models import timestamp
from registry.domain.roles import Principal, Role, Segment, Username
from registry.errors import conflict, not_found

MemberRole = Literal["reader", "publisher", "owner"]

MEMBER_ROLES: Mapping[MemberRole, Role] = MappingProxyType({"reader": "user", "publisher": "manager", "owner": "admin"})
"""What a member may do within the scope."""


class PrivateScope(msgspec.Struct, kw_only=True):
    """A private scope. `members` is the number of its members by name. `path` is where it is served.

    In a list, `role` is that of the caller, if the caller is a member by name.
    """

    scope: str
    path: str
    members: int
    created_at: str
    role: MemberRole | UnsetType = UNSET


class NewPrivateScope(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The body that adds a private scope and its first owner."""

    scope: Segment
    owner: Username


class Member(msgspec.Struct, kw_only=True):
    """A member of a private scope."""

    user: str
    role: MemberRole
    since: str


class MemberChange(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The body that gives a user a role in a private scope."""

    role: MemberRole


class PrivateScopes:
    """The private scopes of a service. Safe to use from several threads."""

    def __init__(self, database: Database, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._clock = clock

    def names(self) -> list[str]:
        """Return the names of all private scopes, in order."""
        return [name for (name,) in self._database.read("select name from private_scopes order by name")]

    def add(self, new: NewPrivateScope, most: int, refuse: Callable[[Transaction], None]) -> PrivateScope:
        """Add a private scope with its owner. `refuse` raises what is against it.

        Raises CONFLICT if it exists, or if there are `most` scopes already.
        """
        created_at = timestamp(self._clock())
        with self._database.write() as transaction:
            refuse(transaction)
            ((number,),) = transaction.read("select count(*) from private_scopes")
            if number >= most:
                raise conflict(f"There are {most} private scopes already, as many as limits.private_scopes allows")
            sql = "insert into private_scopes (name, created_at) values (?, ?) on conflict do nothing"
            if not transaction.execute(sql, (new.scope, created_at)):
                raise conflict(f"The scope '{new.scope}' is private already")
            # Members of an earlier scope of this name come back with its skills. The owner counts in any case.
            _put(transaction, new.scope, new.owner, "owner", created_at)
            transaction.touched.append(f"{new.scope}: owner {new.owner}")
            ((members,),) = transaction.read("select count(*) from scope_members where scope = ?", (new.scope,))
        return PrivateScope(scope=new.scope, path=f"{SCOPES_PATH}/{new.scope}", members=members, created_at=created_at)

    def close(self, scope: str) -> None:
        """Serve a private scope no more. Its skills and members are kept. Raises NOT_FOUND."""
        with self._database.write() as transaction:
            if not transaction.execute("delete from private_scopes where name = ?", (scope,)):
                raise not_found("Scope")
            transaction.touched.append(scope)

    def members(self, scope: str, limit: int, offset: int) -> tuple[list[Member], int]:
        """Return at most `limit` members after `offset`, by name, and their number. Raises NOT_FOUND."""
        self._check(self._database, scope)
        sql = "select user_name, role, since from scope_members where scope = ? order by user_name limit ? offset ?"
        rows = self._database.read(sql, (scope, limit, offset))
        ((total,),) = self._database.read("select count(*) from scope_members where scope = ?", (scope,))
        return [Member(user=user, role=role, since=since) for user, role, since in rows], total

    def set_member(self, scope: str, user: str, role: MemberRole) -> Member:
        """Make a user a member, or change the role. Raises NOT_FOUND, CONFLICT if no owner would be left."""
        since = timestamp(self._clock())
        with self._database.write() as transaction:
            self._check(transaction, scope)
            _put(transaction, scope, user, role, since)
            _check_owned(transaction, scope)
            transaction.touched.append(f"{scope}: {role} {user}")
        return Member(user=user, role=role, since=since)

    def without_owner(self) -> list[str]:
        """Return the private scopes whose last owner was removed as a user."""
        owned = "select 1 from scope_members where scope = name and role = 'owner'"
        rows = self._database.read(f"select name from private_scopes where not exists ({owned}) order by name")
        return [str(name) for (name,) in rows]

    def remove_member(self, scope: str, user: str) -> None:
        """End a membership. Raises NOT_FOUND, CONFLICT if no owner would be left."""
        with self._database.write() as transaction:
            self._check(transaction, scope)
            sql = "delete from scope_members where scope = ? and user_name = ?"
            if not transaction.execute(sql, (scope, user)):
                raise not_found("Member")
            _check_owned(transaction, scope)
            transaction.touched.append(f"{scope}: no longer {user}")

    def acting(self, principal: Principal, scope: str) -> Principal | None:
        """Return the caller with the role that counts within a private scope; None if the caller does not see it.

        A member by name has the role of the membership. A credential of the scope itself, such as an API key or the
        token of a workflow, is a member by its own role, but no owner.
        """
        sql = (
            "select (select role from scope_members where scope = name and user_name = ?) "
            "from private_scopes where name = ?"
        )
        rows = self._database.read(sql, (principal.user or "", scope))
        if not rows:
            return None
        role = MEMBER_ROLES[rows[0][0]] if rows[0][0] else _own_role(principal, scope)
        return msgspec.structs.replace(principal, role=role, scope=scope) if role else None

    @staticmethod
    def _check(reader: Reader, scope: str) -> None:
        if not is_private(reader, scope):
            raise not_found("Scope")

    def list(
        self, limit: int, offset: int, user: str = "", *, only_own: bool = False
    ) -> tuple[list[PrivateScope], int]:
        """Return at most `limit` private scopes after `offset`, by name, and their number.

        With `only_own`, only those of a user.
        """
        role = "(select role from scope_members where scope = name and user_name = ?)"
        where = f"where {role} is not null" if only_own else ""
        own = (user,) if only_own else ()
        counted = "(select count(*) from scope_members where scope = name)"
        sql = f"select name, created_at, {counted}, {role} from private_scopes {where} order by name limit ? offset ?"
        rows = self._database.read(sql, (user, *own, limit, offset))
        ((total,),) = self._database.read(f"select count(*) from private_scopes {where}", own)
        scopes = [
            PrivateScope(
                scope=name,
                path=f"{SCOPES_PATH}/{name}",
                members=members,
                created_at=created_at,
                role=role or UNSET,
            )
            for name, created_at, members, role in rows
        ]
        return scopes, total


def is_private(reader: Reader, scope: str) -> bool:
    """Return whether a scope is private."""
    return bool(reader.read("select 1 from private_scopes where name = ?", (scope,)))


def scopes_of_publisher(reader: Reader, user: str) -> set[str]:
    """Return the private scopes in which a user publishes by membership."""
    sql = "select name from private_scopes join scope_members on scope = name where user_name = ? and role <> 'reader'"
    return {name for (name,) in reader.read(sql, (user,))}


def _own_role(principal: Principal, scope: str) -> Role | None:
    """Return the role of a credential that has no user, within the scope it is for; None without one."""
    if principal.scope != scope or (principal.user is not None and principal.publisher is None):
        return None
    return "manager" if principal.role == "admin" else principal.role


def _put(transaction: Transaction, scope: str, user: str, role: MemberRole, since: str) -> None:
    sql = (
        "insert into scope_members (scope, user_name, role, since) values (?, ?, ?, ?) "
        "on conflict (scope, user_name) do update set role = excluded.role"
    )
    transaction.execute(sql, (scope, user, role, since))


def _check_owned(transaction: Transaction, scope: str) -> None:
    sql = "select 1 from scope_members where scope = ? and role = 'owner'"
    if not transaction.read(sql, (scope,)):
        raise conflict(f"The scope '{scope}' would have no owner: make another member an owner first")
