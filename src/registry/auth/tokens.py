"""Bearer tokens: JSON Web Tokens signed with HS256 (RFC 7519), validated as RFC 8725 recommends."""

import datetime
import hashlib
import secrets
from collections.abc import Callable, Sequence
from typing import Annotated

import jwt
import msgspec
from msgspec import UNSET, Meta, UnsetType

from registry.domain.roles import Role, Segment, Subject, scope_of
from registry.errors import RegistryError
from registry.parsing.strict_json import decode

Clock = Callable[[], datetime.datetime]

ISSUER = "skill-registry"
MAX_BYTES = 4096
"""A longer token is refused without being decoded."""

_ALGORITHM = "HS256"
_LEEWAY_SECONDS = 30  # how far the clock of another machine may be ahead

_Moment = Annotated[int, Meta(ge=0, le=2**53)]


class TokenInvalid(Exception):
    """The token is malformed, has another issuer, or is not valid any more."""


class TokenExpired(TokenInvalid):
    """The token was valid, and has expired."""


class Actor(msgspec.Struct, frozen=True):
    """The subject whose credential a token was issued for, if it is not `sub` (RFC 8693, section 4.1)."""

    sub: Subject


class Claims(msgspec.Struct, frozen=True):
    """The claims of a token: its subject, role, the scope it may publish in, and when it was issued and expires."""

    sub: Subject
    scope: Segment
    role: Role
    iat: _Moment
    exp: _Moment
    iss: str = ISSUER
    jti: str = ""
    act: Actor | UnsetType = UNSET


class Tokens:
    """Signs tokens with the first of `keys` and accepts those signed with any of them; `lifetime` is in seconds."""

    def __init__(self, keys: Sequence[bytes], lifetime: int, clock: Clock) -> None:
        self._keys = tuple(keys)
        self.lifetime = lifetime
        self._clock = clock
        self._signatures = jwt.PyJWS(algorithms=[_ALGORITHM], options={"enforce_minimum_key_length": True})

    def issue(
        self,
        subject: str,
        role: Role,
        scope: str | None = None,
        *,
        after: int = 0,
        until: int | None = None,
        actor: str | None = None,
    ) -> tuple[str, Claims]:
        """Return a new token and its claims.

        Its time of issue is later than the second `after`. It expires at `until` at the latest, when the credential it
        is issued for does. Revoking all tokens of `actor` revokes it too.
        """
        now = self._now()
        expires = now + self.lifetime
        claims = Claims(
            sub=subject,
            scope=scope or scope_of(subject),
            role=role,
            iat=max(now, after + 1),
            exp=expires if until is None else min(expires, until),
            iss=ISSUER,
            jti=secrets.token_urlsafe(16),
            act=Actor(actor) if actor and actor != subject else UNSET,
        )
        return self._signatures.encode(msgspec.json.encode(claims), self._keys[0], _ALGORITHM), claims

    def read(self, token: str) -> Claims:
        """Return the claims of a token. Raises TokenExpired, TokenInvalid.

        Expiry is exact by the clock of this server. Only the time of issue may be up to 30 s ahead of it.
        """
        claims = self._verified(token)
        now = self._now()
        if claims.exp <= now:
            raise TokenExpired("The token has expired")
        if claims.iat > now + _LEEWAY_SECONDS:
            raise TokenInvalid("The token was issued in the future")
        return claims

    def seconds_left(self, expires_at: int) -> float:
        """Return the seconds until a moment, in seconds since 1970, by the clock of this server."""
        return expires_at - self._clock().timestamp()

    def _verified(self, token: str) -> Claims:
        if len(token) > MAX_BYTES or not token.isascii():
            raise TokenInvalid("The token is not valid")
        for key in self._keys:
            try:
                signed = self._signatures.decode_complete(token, key, algorithms=[_ALGORITHM])
                break
            except jwt.PyJWTError:
                continue
        else:
            raise TokenInvalid("The token is not valid")
        try:
            claims = decode(signed["payload"], Claims)
        except RegistryError:
            raise TokenInvalid("The token is not valid") from None
        if claims.iss != ISSUER:
            raise TokenInvalid("The token is not valid")
        if not claims.jti:  # signed elsewhere; the token's text is no id, since base64 has several for one content
            return msgspec.structs.replace(claims, jti=hashlib.sha256(signed["payload"]).hexdigest())
        return claims

    def _now(self) -> int:
        return int(self._clock().timestamp())
