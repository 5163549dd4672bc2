"""Issues tokens: for a credential, or without one on loopback (section 3 of the contract)."""

from typing import Annotated, Literal, NamedTuple
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from registry.auth.access import Access
from registry.auth.locality import Connection, Headers, why_not_local
from registry.auth.proxy_notice import ProxyNotice
from registry.auth.rate_limits import Quota
from registry.auth.tokens import Claims
from registry.auth.users import Password, Person, User
from registry.config.settings import Settings
from registry.domain.hosts import is_loopback_host
from registry.domain.models import timestamp_of
from registry.domain.roles import DEFAULT_USER, Credential, Principal, Role, Username, includes, lower, scope_of
from registry.errors import FieldError, RegistryError, forbidden, rate_limited, unauthorized, validation_error

Issuer = Literal["open", "closed", "loopback"]

_MAX_EXCHANGES = 8
"""How many times in a row a token may be exchanged for another: each adds a credential to the next token."""

TOO_MANY_FAILURES = "Too many failed token requests from this address"

_CLOSED = (
    "Tokens are issued for a credential only: send an x-api-key, a bearer token, or username and password "
    "(an operator makes the first key with 'skill-registry admin keys create --role admin')"
)


class TokenRequest(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The body of a token request: a role and a username, or a username and a password."""

    role: Role | None = None
    username: Username | None = None
    password: Annotated[str, Meta(min_length=1, max_length=1024)] | None = None


class NewPassword(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The body by which users change their password."""

    old_password: Annotated[str, Meta(min_length=1, max_length=1024)]
    new_password: Password


class TokenData(msgspec.Struct, kw_only=True):
    """A token. `expires_in` is in seconds."""

    token: str
    expires_at: str
    role: Role
    token_type: Literal["Bearer"] = "Bearer"  # noqa: S105 - the name of a scheme
    expires_in: int


class Caller(NamedTuple):
    """The origin of a token request."""

    headers: Headers
    connection: Connection
    request_id: str

    @property
    def address(self) -> str:
        """The address of the caller, `-` where it is unknown."""
        return self.connection.client[0] if self.connection.client else "-"


def issuer_mode(settings: Settings) -> Issuer:
    """Return who gets a token without a credential: every caller, no caller, or callers on loopback."""
    if settings.auth.issuer is not None:
        return settings.auth.issuer
    public_url = settings.server.public_url
    is_public = public_url is not None and not is_loopback_host(urlsplit(public_url.reveal()).netloc.rpartition("@")[2])
    return "loopback" if is_loopback_host(settings.server.host) and not is_public else "closed"


class TokenIssuer:
    """Issues tokens. Role and scope come from the caller's credential; the request may only narrow them."""

    def __init__(self, access: Access, mode: Issuer, proxies: ProxyNotice) -> None:
        self._access = access
        self.mode = mode
        self._proxies = proxies

    def issue(self, request: TokenRequest, caller: Caller) -> TokenData:
        """Return a new token. It counts as a change by the owner of the credential.

        Raises UNAUTHORIZED, FORBIDDEN, RATE_LIMITED, VALIDATION_ERROR.
        """
        principal = self._identify(caller)
        if principal is None:
            principal = self._identify_by_body(request, caller)
        elif request.password is not None:
            raise validation_error(
                FieldError("password", "cannot be combined with a credential in a header: send one of them")
            )
        if principal.narrowing is not None:
            raise forbidden("No token is issued for a token that is narrowed: send it as it is")
        if principal.credential is not None:
            _refuse_if_exceeded(self._access.limiter.count(principal.account, "write"))
        return self._issue_for(principal, request, caller)

    def issue_to(self, person: Person, since: int, caller: Caller) -> TokenData:
        """Return a token for the user of a person who has signed in elsewhere.

        `since` is the second since 1970 in which it is issued: a change of the user from then on ends it.
        """
        return self._issue_for(_principal_of(person, since), TokenRequest(), caller)

    def change_password(self, new: NewPassword, principal: Principal, caller: Caller) -> TokenData:
        """Change the password of the user who calls, end the sign-ins of before, and return the token of a new one.

        Raises FORBIDDEN for a caller who is no user and for a wrong old password, RATE_LIMITED.
        """
        if principal.user is None:
            raise forbidden("An API key has no password: sign in as the user whose password is to change")
        try:
            user = self._check_password(principal.user, new.old_password, caller)
        except RegistryError as error:
            if error.code == "UNAUTHORIZED":  # the caller has signed in: no other sign-in would help
                raise forbidden("The old password is wrong") from None
            raise
        since = self._access.users.change_password(principal.user, new.new_password)
        credential = Credential(principal.user, iat=since)
        again = msgspec.structs.replace(user, credential=credential)
        return self._issue_for(again, TokenRequest(role=lower(principal.role, user.role)), caller)

    def _identify(self, caller: Caller) -> Principal | None:
        try:
            # Anew: a token must not outlive a credential that another process has revoked a moment ago.
            return self._access.identify(caller.headers, use_cache=False)
        except RegistryError as error:
            raise self._failure(caller, error) from None

    def _failure(self, caller: Caller, error: RegistryError) -> RegistryError:
        """Count a failure and return the error for the caller."""
        quota = self._access.limiter.count_failure(caller.address)
        return _too_many(quota) if quota.is_exceeded else error

    def _identify_by_body(self, request: TokenRequest, caller: Caller) -> Principal:
        self._access.limiter.refuse_after_failures(caller.address, TOO_MANY_FAILURES)
        if request.password is not None:
            return self._check_password(request.username, request.password, caller)
        if (reason := self._why_closed_to(caller)) is not None:
            raise self._failure(caller, unauthorized(reason))
        if request.role is None:
            raise validation_error(FieldError("role", "is required"))
        subject = request.username or DEFAULT_USER
        return Principal(name=subject, role=request.role, scope=scope_of(subject), user=subject)

    def _check_password(self, username: str | None, password: str, caller: Caller) -> Principal:
        if username is None:
            raise validation_error(FieldError("username", "is required with a password"))
        _refuse_if_exceeded(self._access.limiter.left(username, "write"))  # before the check, which takes long
        # The failure is counted before the check, so that concurrent guesses get no more attempts than sequential ones.
        quota = self._access.limiter.count_failure(caller.address)
        if quota.is_exceeded:
            raise _too_many(quota)
        since = self._access.revocations.earliest_issue(
            username
        )  # before the check: a change of the user from now on ends the token
        user = self._access.users.check(username, password)
        if user is None:
            raise unauthorized("The username or the password is wrong")
        self._access.limiter.forgive(caller.address)
        return _principal_of(user, since)

    def _why_closed_to(self, caller: Caller) -> str | None:
        """Return why a caller gets no token without a credential, None if it gets one."""
        if self.mode == "open":
            return None
        if self.mode == "closed":
            return _CLOSED
        reason = why_not_local(caller.headers, caller.connection)
        if reason is None:
            return None
        self._proxies.noticed(reason)
        return f"{_CLOSED}; only programs on this machine, of the user that runs the service, get one without: {reason}"

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
        token, claims = self._sign(principal, subject, role, scope)
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

    def _sign(self, principal: Principal, subject: str, role: Role, scope: str | None) -> tuple[str, Claims]:
        """Return a token that ends with the credential it is issued for, and its claims. Raises FORBIDDEN."""
        credential = principal.credential
        if credential is not None and len(credential.chain()) > _MAX_EXCHANGES:
            raise forbidden(f"Tokens were exchanged {_MAX_EXCHANGES} times in a row: use the first credential again")
        if credential is not None and not credential.jti and credential.sub == subject and credential.iat:
            return self._access.tokens.issue(subject, role, scope, at=credential.iat)
        if credential is not None:
            credential = msgspec.structs.replace(credential, admin=principal.role == "admin")
        at, until = self._access.revocations.earliest_issue(subject), principal.expires_at
        return self._access.tokens.issue(subject, role, scope, at=at, until=until, credential=credential)


def _principal_of(user: User | Person, since: int) -> Principal:
    """Return the caller that a user is who has signed in at the second `since` of 1970."""
    credential = Credential(user.name, iat=since)
    return Principal(name=user.name, role=user.role, scope=user.scope, user=user.name, credential=credential)


def _refuse_if_exceeded(tokens: Quota) -> None:
    if tokens.is_exceeded:
        raise rate_limited("Too many tokens and changes in this minute", tokens.reset_seconds)


def _too_many(failures: Quota) -> RegistryError:
    return rate_limited(TOO_MANY_FAILURES, failures.reset_seconds)
