"""Roles, scopes and the identity of callers (the specification's *Authentication*, rules 6 and 7)."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from registry.domain.release_proofs import PublisherRun

Role = Literal["user", "manager", "admin"]

ROLES: tuple[Role, ...] = ("user", "manager", "admin")
"""The roles in ascending order. Each role includes the permissions of those before it."""

DEFAULT_USER = "dev-user"
"""The subject of a token that is issued without a credential and without a name."""

PUBLIC = "public"
"""The role of a handler that needs no credential."""

_RANK: Mapping[str, int] = MappingProxyType({PUBLIC: 0, **{role: rank for rank, role in enumerate(ROLES, 1)}})

Segment = Annotated[
    str,
    Meta(
        pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$(?!\n)",
        extra={"rule": "must be 1 to 64 characters of a-z, 0-9, '-' and '_', beginning with a letter or digit"},
    ),
]
Username = Annotated[
    str,
    Meta(
        pattern=r"^[a-z0-9][a-z0-9_-]{0,63}(/[a-z0-9][a-z0-9_-]{0,63})?$(?!\n)",
        extra={"rule": "must be <name> or <scope>/<name>, each 1 to 64 characters of a-z, 0-9, '-' and '_'"},
    ),
]
"""The user name in a token request: a name, or a scope and a name (the specification's *Token claims*)."""

Subject = Annotated[
    str,
    Meta(
        pattern=r"^[a-z0-9][a-z0-9_-]{0,63}(/[a-z0-9][a-z0-9_-]{0,63}){0,2}$(?!\n)",
        extra={"rule": "must be 1 to 3 segments of a-z, 0-9, '-' and '_', joined by '/'"},
    ),
]
"""The subject of a token. Other issuers that share the secret may use more segments than this service."""


Moment = Annotated[int, Meta(ge=0, le=2**53)]
"""A time in seconds since 1970."""


class Credential(msgspec.Struct, frozen=True, omit_defaults=True):
    """A credential that a token was issued for, as its claim `act` says it (RFC 8693, section 4.1).

    Its owner, its id if it is a token, the second since 1970 from which it is valid, and the credential that it was
    itself issued for. `admin` says that its owner was an administrator when the token was issued.
    """

    sub: Subject
    jti: str = ""
    iat: Moment | UnsetType = UNSET
    act: "Credential | UnsetType" = UNSET
    admin: bool = False

    def chain(self) -> "list[Credential]":
        """Return this credential, the one it was issued for, and so on."""
        return [self, *(self.act.chain() if self.act else ())]

    def account(self) -> str:
        """Return the owner of the first credential in a row of exchanges.

        An administrator gives tokens to other people, so such a token is the first of another row.
        """
        return self.act.account() if self.act and not self.act.admin else self.sub


Operation = Literal["read", "publish", "yank"]
"""What a narrowed credential can be good for. `yank` is every withdrawal, and its undoing."""

SkillPattern = Annotated[
    str,
    Meta(
        pattern=r"^[a-z0-9][a-z0-9_-]{0,63}/([a-z0-9][a-z0-9_-]{0,79}\*?|\*)$(?!\n)",
        extra={"rule": "each must be SCOPE/SKILL, where SKILL may end in '*'"},
    ),
]
"""The id of a published skill, or the beginning of ids, followed by `*`."""


class Narrowing(msgspec.Struct, frozen=True):
    """What a credential may do of what its owner may.

    `operations` is what it is good for. `skills` are the skills that it may change: without any, all of its scope.
    """

    operations: tuple[Operation, ...]
    skills: tuple[SkillPattern, ...] = ()

    def covers(self, skill_id: str) -> bool:
        """Return whether it may change a skill."""
        return not self.skills or any(
            skill_id.startswith(pattern[:-1]) if pattern.endswith("*") else skill_id == pattern
            for pattern in self.skills
        )


class Principal(msgspec.Struct, frozen=True):
    """The caller of a request.

    `user` is None for API keys, which have no user. `scope` is None for a caller without a scope. `credential` is None
    for a caller without one. `narrowing` is None for a caller who may do whatever the role allows.
    `publisher` is the run of a workflow, for a token that a trusted publisher has got.
    """

    name: str
    role: Role
    scope: str | None = None
    user: str | None = None
    token_id: str | None = None
    expires_at: int | None = None
    credential: Credential | None = None
    narrowing: Narrowing | None = None
    publisher: PublisherRun | None = None

    @property
    def account(self) -> str:
        """The name under which is counted what a caller does, by whatever names its tokens call it."""
        return self.name if self.credential is None else self.credential.account()


def includes(held: str, needed: str) -> bool:
    """Return whether the role `held` includes `needed`. Unknown roles include nothing and need admin."""
    return _RANK.get(held, -1) >= _RANK.get(needed, _RANK["admin"])


def lower(role: Role, other: Role) -> Role:
    """Return the lower of two roles."""
    return role if includes(other, role) else other


def scope_of(subject: str) -> str:
    """Return the scope of a subject: the part before the first slash, or the whole subject if it has none."""
    return subject.partition("/")[0]
