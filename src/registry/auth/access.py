"""Authenticates the requests of the registry profile and counts them against the rate limits."""

import logging
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import NamedTuple

from registry.auth.audit import Audit
from registry.auth.keys import ApiKeys, subject_of
from registry.auth.oidc.publishers import TrustedPublishers
from registry.auth.own_tokens import PREFIX, OwnTokens
from registry.auth.rate_limits import Quota, Rate, RateLimiter, address_key
from registry.auth.revocations import Revocations
from registry.auth.secret import check_secret, load_or_create_secret
from registry.auth.shared_counts import SharedCounts
from registry.auth.tokens import Claims, TokenInvalid, Tokens
from registry.auth.users import Users
from registry.config.settings import Settings
from registry.db import Database, DatabaseError
from registry.domain.roles import Credential, Principal
from registry.errors import unauthorized, validation_error
from search.lru_cache import LruCache
from search.thread_health import ThreadHealth

_log = logging.getLogger("registry.auth")

Headers = Iterable[tuple[bytes, bytes]]

_NO_CREDENTIAL = "Authentication is required: send 'Authorization: Bearer <token>' or 'x-api-key: <key>'"
_MALFORMED = "The Authorization header must be 'Bearer <token>', with one space, and be sent once"
_ANONYMOUS = Principal(name="(anonymous)", role="user")  # a name that no user can have
_CACHE_SECONDS = 0.5
_CACHED_CREDENTIALS = 4096


class NotCachedError(Exception):
    """The caller is known only to the database."""


class _CachedCredential(NamedTuple):
    """A credential that was valid at this revision of the revocations. `until` is a monotonic time."""

    principal: Principal
    revision: int
    until: float


class Access:
    """Authenticates requests by token or API key. Safe to use from several threads.

    `counts` are the counts of requests that the workers share, if any. Raises WeakSecret if the configured or stored
    secret is too weak to sign tokens.
    """

    def __init__(
        self,
        settings: Settings,
        database: Database,
        clock: Callable[[], datetime],
        counts: SharedCounts | None = None,
    ) -> None:
        auth = settings.auth
        self.tokens = Tokens(signing_keys(settings), auth.token_lifetime, clock)
        self.revocations = Revocations(database, clock)
        self.users = Users(database, clock, self.revocations)
        self.keys = ApiKeys(database, clock, self.revocations)
        self.database = database
        self.publishers = TrustedPublishers(database, clock, self.revocations)
        self.own_tokens = OwnTokens(database, clock, self.revocations)
        self._records_uses = not database.is_read_only
        self._cache: LruCache[bytes, _CachedCredential] = LruCache(_CACHED_CREDENTIALS)
        self.limiter = RateLimiter(settings.limits, counts)
        self.audit = Audit(database, clock)
        self._anonymous_read = auth.anonymous_read
        self._key_use_writer = ThreadPoolExecutor(1, thread_name_prefix="key-use")
        self._key_use = ThreadHealth("key use", _log, (DatabaseError,))

    def identify(self, headers: Headers, *, use_cache: bool = True, only_cache: bool = False) -> Principal | None:
        """Return the principal of the credential in these headers, or None without one.

        Raises UNAUTHORIZED for an invalid credential. Without `use_cache`, the credential is checked again. With
        `only_cache`, nothing is read from the database: raises NotCachedError for a credential that is not cached.
        """
        bearers = [value for name, value in headers if name == b"authorization"]
        keys = [value for name, value in headers if name == b"x-api-key"]
        if not bearers and not keys:
            return None
        if len(bearers) > 1 or len(keys) > 1:
            raise unauthorized("A credential was sent more than once")
        look_up = self._only_cached if only_cache else self._cached if use_cache else self._checked
        key_principal = look_up(keys[0], self._check_key) if keys else None
        return look_up(bearers[0], self._check_token) if bearers else key_principal

    def _cached(self, credential: bytes, check: Callable[[bytes], Principal]) -> Principal:
        """Return the principal of a credential, from the cache for up to half a second.

        A revocation by this process takes effect at once. One by another process takes effect when its notification
        arrives, or when the cache entry expires.
        """
        return self._kept(credential) or self._checked(credential, check)

    def _only_cached(self, credential: bytes, _: Callable[[bytes], Principal]) -> Principal:
        if (principal := self._kept(credential)) is None:
            raise NotCachedError
        return principal

    def _kept(self, credential: bytes) -> Principal | None:
        entry = self._cache.get(credential)
        is_valid = entry and entry.revision == self.revocations.revision and time.monotonic() < entry.until
        return entry.principal if entry and is_valid else None

    def _checked(self, credential: bytes, check: Callable[[bytes], Principal]) -> Principal:
        now, revision = time.monotonic(), self.revocations.revision  # read first: a revocation during the check counts
        principal = check(credential)
        left = _CACHE_SECONDS if principal.expires_at is None else self.tokens.seconds_left(principal.expires_at)
        self._cache.put(credential, _CachedCredential(principal, revision, now + min(left, _CACHE_SECONDS)))
        return principal

    def _check_key(self, value: bytes) -> Principal:
        since = self.tokens.now()  # before the check: a revocation from now on also ends tokens issued for the key
        key = self.keys.check(value.decode("latin-1")) if len(value) <= 256 else None
        if key is None:
            raise unauthorized("The API key is not valid")
        if self._records_uses and self.keys.uses.should_record(key.id):
            self._key_use_writer.submit(self._record_use, self.keys.record_use, key.id)
        subject = subject_of(key.id)
        return Principal(name=subject, role=key.role, scope=key.scope, credential=Credential(subject, iat=since))

    def _record_use(self, record: Callable[[str], None], credential_id: str) -> None:
        with self._key_use.attempt():
            record(credential_id)

    def _check_token(self, header: bytes) -> Principal:
        try:
            token = _bearer(header)
            if token.startswith(PREFIX):
                return self._check_own_token(token)
            claims = self._claims(token)
        except TokenInvalid as error:
            raise unauthorized(str(error)) from None
        return Principal(
            name=claims.sub,
            role=claims.role,
            scope=claims.scope,
            user=None if claims.run else claims.sub,
            token_id=claims.jti,
            expires_at=claims.exp,
            credential=claims.chain()[0],
            narrowing=claims.only or None,
            publisher=claims.run or None,
        )

    def _check_own_token(self, token: str) -> Principal:
        principal = self.own_tokens.check(token)
        token_id = principal.token_id
        if token_id is not None and self._records_uses and self.own_tokens.uses.should_record(token_id):
            self._key_use_writer.submit(self._record_use, self.own_tokens.record_use, token_id)
        return principal

    def end(self, principal: Principal) -> None:
        """Revoke the token of a caller. Raises VALIDATION_ERROR for an API key."""
        if principal.token_id is None or principal.expires_at is None:
            raise validation_error(message="Only tokens end so: an administrator revokes API keys")
        if principal.narrowing is not None and principal.user is not None:
            self.own_tokens.revoke(principal.token_id, principal)
        else:
            self.revocations.revoke(principal.token_id, principal.expires_at)

    def _claims(self, token: str) -> Claims:
        claims = self.tokens.read(token)
        if self.revocations.is_revoked(claims):
            raise TokenInvalid("The token was revoked")
        return claims

    def count(
        self, headers: Headers, address: str, role: str, rate: Rate, *, only_cache: bool = False
    ) -> tuple[Principal, Quota]:
        """Count a request that needs `role` against the caller's limit; return the caller and its remaining quota.

        A caller without a credential is counted by its address. Raises UNAUTHORIZED, and NotCachedError as `identify`.
        """
        principal = self.identify(headers, only_cache=only_cache)
        if principal is None:
            if not (self._anonymous_read and role == "user"):
                raise unauthorized(_NO_CREDENTIAL)
            principal = _ANONYMOUS
        caller = principal.account if principal is not _ANONYMOUS else f"address {address_key(address)}"
        return principal, self.limiter.count(caller, rate)

    def close(self) -> None:
        """Write the key uses that are still queued, then stop."""
        self._key_use_writer.shutdown()


def _bearer(header: bytes) -> str:
    """Return the token of an Authorization header. Raises TokenInvalid."""
    scheme, _, token = header.decode("latin-1").partition(" ")
    if scheme.lower() != "bearer" or not token or token != token.strip() or " " in token:
        raise TokenInvalid(_MALFORMED)
    return token


def signing_keys(settings: Settings) -> list[bytes]:
    """Return the secret that signs tokens, then the previous one if it is configured. Raises WeakSecret, OSError."""
    current, previous = settings.auth.secret, settings.auth.previous_secret
    keys = [check_secret(current.reveal(), "auth.secret") if current else load_or_create_secret(settings.data_dir)]
    if previous:
        keys.append(check_secret(previous.reveal(), "auth.previous_secret"))
    return keys
