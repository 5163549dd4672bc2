"""The gate of the registry profile: who a request is from, whether it may pass, and how often."""

import logging
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import NamedTuple

from registry.auth.audit import Audit
from registry.auth.keys import ApiKeys, subject_of
from registry.auth.rate_limits import Quota, Rate, RateLimiter, counted_as
from registry.auth.revocations import Revocations
from registry.auth.secret import check_secret, kept_secret
from registry.auth.tokens import Claims, TokenInvalid, Tokens
from registry.auth.users import Users
from registry.config.settings import Settings
from registry.db import Database, DatabaseError
from registry.domain.roles import Principal
from registry.errors import unauthorized
from search.lru_cache import LruCache

_log = logging.getLogger("registry.auth")

Headers = Iterable[tuple[bytes, bytes]]

_NO_CREDENTIAL = "Authentication is required: send 'Authorization: Bearer <token>' or 'x-api-key: <key>'"
_MALFORMED = "The Authorization header must be 'Bearer <token>', with one space, and be sent once"
_ANONYMOUS = Principal(name="anonymous", role="user")
_FRESH_SECONDS = 0.5
_KNOWN_CREDENTIALS = 4096


class _Known(NamedTuple):
    """A credential that was good a moment ago, when so many revocations had been made here."""

    principal: Principal
    revocations: int
    until: float


class Access:
    """Knows tokens, users and keys, and decides on every request. Safe to use from several threads.

    Raises WeakSecret where the secret that is configured, or kept, must not sign anything.
    """

    def __init__(self, settings: Settings, database: Database, clock: Callable[[], datetime]) -> None:
        auth = settings.auth
        self.tokens = Tokens(signing_keys(settings), auth.token_lifetime, clock)
        self.revocations = Revocations(database, clock)
        self.users = Users(database, clock, self.revocations)
        self.keys = ApiKeys(database, clock, self.revocations)
        self._known: LruCache[bytes, _Known] = LruCache(_KNOWN_CREDENTIALS)
        self.limiter = RateLimiter(settings.limits)
        self.audit = Audit(database, clock)
        self._anonymous_read = auth.anonymous_read
        self._notes = ThreadPoolExecutor(1, thread_name_prefix="key-use")

    def identify(self, headers: Headers, *, anew: bool = False) -> Principal | None:
        """Return who sends these headers, None where there is no credential. Raises UNAUTHORIZED for a bad one.

        With `anew` nothing that was known a moment ago counts.
        """
        bearers = [value for name, value in headers if name == b"authorization"]
        keys = [value for name, value in headers if name == b"x-api-key"]
        if not bearers and not keys:
            return None
        if len(bearers) > 1 or len(keys) > 1:
            raise unauthorized("A credential was sent more than once")
        look_up = self._look_up if anew else self._fresh
        with_key = look_up(keys[0], self._of_key) if keys else None
        return look_up(bearers[0], self._of_token) if bearers else with_key

    def _fresh(self, credential: bytes, check: Callable[[bytes], Principal]) -> Principal:
        """Return whom a credential stands for, looked up again once it has been known for half a second.

        What this process revokes ends at once, what another one does as soon as this one hears of it, or in that time.
        """
        known = self._known.get(credential)
        if known is not None and known.revocations == self.revocations.count and time.monotonic() < known.until:
            return known.principal
        return self._look_up(credential, check)

    def _look_up(self, credential: bytes, check: Callable[[bytes], Principal]) -> Principal:
        now, count = time.monotonic(), self.revocations.count
        principal = check(credential)
        left = _FRESH_SECONDS if principal.expires_at is None else self.tokens.seconds_left(principal.expires_at)
        self._known.put(credential, _Known(principal, count, now + min(left, _FRESH_SECONDS)))
        return principal

    def _of_key(self, value: bytes) -> Principal:
        key = self.keys.check(value.decode("latin-1")) if len(value) <= 256 else None
        if key is None:
            raise unauthorized("The API key is not valid")
        if self.keys.note_use(key.id):
            self._notes.submit(self._write_use, key.id)
        return Principal(name=subject_of(key.id), role=key.role, scope=key.scope)

    def _write_use(self, key_id: str) -> None:
        try:
            self.keys.write_use(key_id)
        except DatabaseError as error:
            _log.warning("the use of API key %s could not be noted: %s", key_id, error)

    def _of_token(self, header: bytes) -> Principal:
        try:
            claims = self._claims(header)
        except TokenInvalid as error:
            raise unauthorized(str(error)) from None
        return Principal(
            name=claims.sub,
            role=claims.role,
            scope=claims.scope,
            user=claims.sub,
            token_id=claims.jti,
            expires_at=claims.exp,
            origin=claims.act.sub if claims.act else None,
        )

    def _claims(self, header: bytes) -> Claims:
        scheme, _, token = header.decode("latin-1").partition(" ")
        if scheme.lower() != "bearer" or not token or token != token.strip() or " " in token:
            raise TokenInvalid(_MALFORMED)
        claims = self.tokens.read(token)
        if self.revocations.has_ended(claims):
            raise TokenInvalid("The token was revoked")
        return claims

    def count(self, headers: Headers, address: str, role: str, rate: Rate) -> tuple[Principal, Quota]:
        """Count a request that needs `role` against the caller's limit; return the caller and what is left.

        Raises UNAUTHORIZED. A caller without a credential is counted by its address.
        """
        principal = self.identify(headers)
        if principal is None:
            if not (self._anonymous_read and role == "user"):
                raise unauthorized(_NO_CREDENTIAL)
            principal = _ANONYMOUS
        caller = principal.name if principal is not _ANONYMOUS else f"address {counted_as(address)}"
        return principal, self.limiter.count(caller, rate)

    def close(self) -> None:
        """Finish what is left to write down."""
        self._notes.shutdown()


def signing_keys(settings: Settings) -> list[bytes]:
    """Return the secret that signs tokens, and the one before where it still counts. Raises WeakSecret, OSError."""
    current, before = settings.auth.secret, settings.auth.previous_secret
    keys = [check_secret(current.reveal(), "auth.secret") if current else kept_secret(settings.data_dir)]
    if before:
        keys.append(check_secret(before.reveal(), "auth.previous_secret"))
    return keys
