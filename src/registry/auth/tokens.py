"""Bearer tokens: JSON Web Tokens signed with HS256 (RFC 7519), validated as RFC 8725 recommends."""

import datetime
import hashlib
import hmac
import secrets
from collections.abc import Callable, Sequence

import jwt
import msgspec
from msgspec import UNSET, UnsetType

from registry.domain.release_proofs import PublisherRun
from registry.domain.roles import Credential, Moment, Narrowing, Role, Segment, Subject, scope_of
from registry.errors import RegistryError
from registry.parsing.strict_json import decode

Clock = Callable[[], datetime.datetime]

ISSUER = "skill-registry"
MAX_BYTES = 4096
"""A longer token is refused without being decoded."""

_ALGORITHM = "HS256"
_LEEWAY_SECONDS = 30  # how far the clock of another machine may be ahead


class TokenInvalid(Exception):
    """The token is malformed, has another issuer, or is not valid any more."""


class TokenExpired(TokenInvalid):
    """The token was valid, and has expired."""


class Claims(msgspec.Struct, frozen=True):
    """The claims of a token.

    Its subject, role, the scope it may publish in, when it was issued, expires and becomes valid, and the credential it
    was issued for. `only` and `run` are those of a trusted publisher: what it may do, and the run of its workflow.
    """

    sub: Subject
    scope: Segment
    role: Role
    iat: Moment
    exp: Moment
    nbf: Moment | UnsetType = UNSET
    iss: str = ISSUER
    jti: str = ""
    act: Credential | UnsetType = UNSET
    only: Narrowing | UnsetType = UNSET
    run: PublisherRun | UnsetType = UNSET

    def chain(self) -> list[Credential]:
        """Return this token as a credential, followed by those it was issued for."""
        return Credential(self.sub, self.jti, self.iat, self.act).chain()


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
        at: int | None = None,
        until: int | None = None,
        credential: Credential | None = None,
        narrowing: Narrowing | None = None,
        publisher: PublisherRun | None = None,
    ) -> tuple[str, Claims]:
        """Return a new token and its claims.

        Its time of issue is the second `at`, if that is not now. It expires at `until` at the latest, when the
        credential it is issued for does. Revoking `credential`, or one that this was issued for, revokes it too.
        """
        issued = self.now() if at is None else at
        expires = issued + self.lifetime
        claims = Claims(
            sub=subject,
            scope=scope or scope_of(subject),
            role=role,
            iat=issued,
            exp=expires if until is None else min(expires, until),
            iss=ISSUER,
            jti=secrets.token_urlsafe(16),
            act=credential or UNSET,
            only=narrowing or UNSET,
            run=publisher or UNSET,
        )
        return self._signatures.encode(msgspec.json.encode(claims), self._keys[0], _ALGORITHM), claims

    def read(self, token: str) -> Claims:
        """Return the claims of a token. Raises TokenExpired, TokenInvalid.

        Expiry is exact by the clock of this server. Only the time of issue and the time from which the token is valid
        may be up to 30 s ahead of it.
        """
        claims = self._verified(token)
        now = self.now()
        if claims.exp <= now:
            raise TokenExpired("The token has expired")
        if claims.iat > now + _LEEWAY_SECONDS:
            raise TokenInvalid("The token was issued in the future")
        if claims.nbf and claims.nbf > now + _LEEWAY_SECONDS:
            raise TokenInvalid("The token is not valid yet")
        return claims

    def derived_keys(self, purpose: bytes) -> list[bytes]:
        """Return keys for another purpose, in the order of those of the tokens: what they sign is no token."""
        return [hmac.digest(key, purpose, "sha256") for key in self._keys]

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
        if "crit" in signed["header"]:  # names extensions that must be understood; none is (RFC 7515, section 4.1.11)
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

    def now(self) -> int:
        """Return the time in seconds since 1970."""
        return int(self._clock().timestamp())
