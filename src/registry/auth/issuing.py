"""Issues tokens: for a credential, or without one on loopback (section 3 of the contract)."""

import ipaddress
from collections.abc import Iterable
from typing import Annotated, Literal, NamedTuple

import msgspec
from msgspec import Meta

from registry.auth.access import Access
from registry.auth.rate_limits import Quota
from registry.config.settings import Settings
from registry.domain.hosts import is_loopback_host
from registry.domain.models import timestamp_of
from registry.domain.roles import DEFAULT_USER, Principal, Role, Username, includes, scope_of
from registry.errors import FieldError, RegistryError, forbidden, rate_limited, unauthorized, validation_error

Issuer = Literal["open", "closed", "loopback"]

_PROXY_HEADERS = (b"forwarded", b"via", b"x-real-ip")
_CLOSED = (
    "Tokens are issued for a credential only: send an x-api-key, a bearer token, or username and password "
    "(an operator makes the first key with 'skill-registry keys create --role admin')"
)


class TokenRequest(msgspec.Struct, kw_only=True):
    """The body of a token request: a role and a username, or a username and a password."""

    role: Role | None = None
    username: Username | None = None
    password: Annotated[str, Meta(min_length=1, max_length=1024)] | None = None


class TokenData(msgspec.Struct, kw_only=True):
    """A token. `expires_in` is in seconds."""

    token: str
    expires_at: str
    role: Role
    token_type: Literal["Bearer"] = "Bearer"  # noqa: S105 - the name of a scheme
    expires_in: int


class Caller(NamedTuple):
    """The origin of a token request."""

    headers: Iterable[tuple[bytes, bytes]]
    address: str
    request_id: str


def issuer_mode(settings: Settings) -> Issuer:
    """Return who gets a token without a credential: everyone, nobody, or callers on loopback."""
    if settings.auth.issuer is not None:
        return settings.auth.issuer
    return "loopback" if is_loopback_host(settings.server.host) else "closed"


class TokenIssuer:
    """Issues tokens. Role and scope come from the caller's credential; the request may only narrow them."""

    def __init__(self, access: Access, mode: Issuer) -> None:
        self._access = access
        self.mode = mode

    def issue(self, request: TokenRequest, caller: Caller) -> TokenData:
        """Return a new token. Raises UNAUTHORIZED, FORBIDDEN, RATE_LIMITED, VALIDATION_ERROR."""
        principal = self._identify(caller)
        if principal is None:
            principal = self._identify_by_body(request, caller)
        elif request.password is not None:
            raise validation_error(
                FieldError("password", "cannot be combined with a credential in a header: send one of them")
            )
        return self._issue_for(principal, request, caller)

    def _identify(self, caller: Caller) -> Principal | None:
        try:
            return self._access.identify(caller.headers)
        except RegistryError as error:
            raise self._failure(caller, error) from None

    def _failure(self, caller: Caller, error: RegistryError) -> RegistryError:
        """Count a failure and return the error for the caller."""
        quota = self._access.limiter.count_failure(caller.address)
        return _too_many(quota) if quota.is_exceeded else error

    def _identify_by_body(self, request: TokenRequest, caller: Caller) -> Principal:
        failures = self._access.limiter.failures(caller.address)
        if failures.is_exceeded:
            raise _too_many(failures)
        if request.password is not None:
            return self._check_password(request.username, request.password, caller)
        if not self._is_open_to(caller):
            raise self._failure(caller, unauthorized(_CLOSED))
        if request.role is None:
            raise validation_error(FieldError("role", "is required"))
        subject = request.username or DEFAULT_USER
        return Principal(name=subject, role=request.role, scope=scope_of(subject), user=subject)

    def _check_password(self, username: str | None, password: str, caller: Caller) -> Principal:
        if username is None:
            raise validation_error(FieldError("username", "is required with a password"))
        # The failure is counted before the check, so that concurrent guesses get no more attempts than sequential ones.
        quota = self._access.limiter.count_failure(caller.address)
        if quota.is_exceeded:
            raise _too_many(quota)
        user = self._access.users.check(username, password)
        if user is None:
            raise unauthorized("The username or the password is wrong")
        self._access.limiter.forgive(caller.address)
        return Principal(name=user.name, role=user.role, scope=user.scope, user=user.name)

    def _is_open_to(self, caller: Caller) -> bool:
        if self.mode != "loopback":
            return self.mode == "open"
        hosts = [value for name, value in caller.headers if name == b"host"]
        proxied = any(name in _PROXY_HEADERS or name.startswith(b"x-forwarded") for name, _ in caller.headers)
        is_local_host = len(hosts) == 1 and is_loopback_host(hosts[0].decode("latin-1"))
        return is_local_host and not proxied and _is_loopback(caller.address)

    def _issue_for(self, principal: Principal, request: TokenRequest, caller: Caller) -> TokenData:
        role = request.role or principal.role
        if not includes(principal.role, role):
            raise forbidden(f"The role of a token cannot exceed that of the credential, '{principal.role}'")
        subject = request.username or principal.name
        if subject != principal.name and principal.role != "admin" and scope_of(subject) != principal.scope:
            raise forbidden("The username is outside the scope of the credential")
        if principal.scope is None and role != "user" and principal.role != "admin":
            raise forbidden("The API key has no scope, so it can only get tokens of the role 'user'")
        scope = principal.scope if subject == principal.name else scope_of(subject)
        actor = principal.origin or principal.name
        token, claims = self._access.tokens.issue(
            subject,
            role,
            scope,
            after=self._access.revocations.revoked_until(subject, actor),
            until=principal.expires_at,
            actor=actor,
        )
        if role != "user":
            self._access.audit.record(
                "issue token",
                f"{role} token {claims.jti} for {subject}",
                actor=principal.name,
                role=principal.role,
                request_id=caller.request_id,
                client=caller.address,
            )
        return TokenData(
            token=token, expires_at=timestamp_of(claims.exp), role=role, expires_in=claims.exp - claims.iat
        )


def _too_many(failures: Quota) -> RegistryError:
    return rate_limited("Too many failed token requests from this address", failures.reset_seconds)


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
