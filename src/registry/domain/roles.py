"""Roles, scopes and who a caller is (the specification's *Authentication*, rules 6 and 7)."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Role = Literal["user", "manager", "admin"]

ROLES: tuple[Role, ...] = ("user", "manager", "admin")
"""From the least to the most: each may do what those before it may."""

PUBLIC = "public"
"""The role of a handler that needs no credential."""

_RANK: Mapping[str, int] = MappingProxyType({PUBLIC: 0, **{role: rank for rank, role in enumerate(ROLES, 1)}})

Segment = Annotated[
    str,
    Meta(
        pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$(?!\n)",
        extra={"rule": "must be 1 to 64 of a-z, 0-9, '-' and '_', beginning with a letter or digit"},
    ),
]
Username = Annotated[
    str,
    Meta(
        pattern=r"^[a-z0-9][a-z0-9_-]{0,63}(/[a-z0-9][a-z0-9_-]{0,63})?$(?!\n)",
        extra={"rule": "must be a word or <scope>/<name>, each 1 to 64 of a-z, 0-9, '-' and '_'"},
    ),
]
"""What a caller may ask to be: one word, or a scope and a name (the specification's *Token claims*)."""

Subject = Annotated[
    str,
    Meta(
        pattern=r"^[a-z0-9][a-z0-9_-]{0,63}(/[a-z0-9][a-z0-9_-]{0,63}){0,2}$(?!\n)",
        extra={"rule": "must be 1 to 3 segments of a-z, 0-9, '-' and '_', joined by '/'"},
    ),
]
"""Whom a token may be about: wider than what we issue, for tokens signed elsewhere with the same secret."""


class Principal(msgspec.Struct, frozen=True):
    """Who makes a request. `user` is None for API keys, which carry no user; `scope` is None where none is held.

    `origin` is whose credential the token was issued for, where that is somebody else.
    """

    name: str
    role: Role
    scope: str | None = None
    user: str | None = None
    token_id: str | None = None
    expires_at: int | None = None
    origin: str | None = None


def includes(held: str, needed: str) -> bool:
    """Return whether a role may do what another may; what is not known may do nothing and needs everything."""
    return _RANK.get(held, -1) >= _RANK.get(needed, _RANK["admin"])


def scope_of(subject: str) -> str:
    """Return the scope of a subject: what stands before its first slash, or the whole of it."""
    return subject.partition("/")[0]
