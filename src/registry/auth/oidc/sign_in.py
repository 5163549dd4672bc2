"""People sign in at an issuer of OpenID Connect: the authorization code flow with PKCE, state and nonce.

`begin` sends the browser to the issuer, and gives it a cookie with what the answer must match. The issuer sends the
browser back with a code, which `finish` exchanges for an identity token, and that for a token of this service. The page
then takes the token over with `take`. Nothing is kept on the server but that a state was used, so that any replica
answers any step (OpenID Connect Core 1.0, section 3.1; RFC 7636; RFC 9700).
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import quote_plus, urlencode

import jwt
import msgspec

from registry.auth.access import Access
from registry.auth.issuing import Caller, TokenData, TokenIssuer
from registry.auth.oidc.groups import Groups, NotAdmitted, subject_of
from registry.auth.oidc.issuers import (
    DOCUMENT_BYTES,
    FETCH_SECONDS,
    AssertionInvalid,
    IssuerDown,
    Issuers,
    lifetime,
    said,
)
from registry.auth.oidc.publishers import is_first_use
from registry.config.groups import SignInSettings
from registry.domain.addresses import OutboundError
from registry.domain.hosts import is_private_url
from registry.errors import (
    FieldError,
    RegistryError,
    forbidden,
    service_unavailable,
    unauthorized,
    validation_error,
)
from registry.outbound.client import basic_authorization

BEGIN_SECONDS = 600
"""How long a person may take at the issuer."""

TAKE_SECONDS = 60
"""How long the page may take to take over the token."""

_ALGORITHM = "HS256"
_FORM = "application/x-www-form-urlencoded"


class _Begun(msgspec.Struct, kw_only=True):
    """What the cookie of a sign-in holds, in which the answer of the issuer must have the same state and nonce.

    `verifier` is that of PKCE, `redirect_uri` where the issuer sends the browser, `back` the page to return to, and
    `exp` when it ends, in seconds since 1970.
    """

    state: str
    nonce: str
    verifier: str
    redirect_uri: str
    back: str
    exp: int


class SignedIn(msgspec.Struct, kw_only=True):
    """A token for a person, with the user name."""

    user: str
    scope: str
    token: TokenData


class _Outcome(msgspec.Struct, kw_only=True):
    """How a sign-in has ended: a token, or why there is none."""

    exp: int
    signed_in: SignedIn | None = None
    refused: str = ""


class TokenAnswer(msgspec.Struct):
    """What the issuer answers to a grant: an identity token, or why there is none (RFC 6749, section 5)."""

    id_token: str = ""
    error: str = ""

    def identity(self) -> str:
        """Return the identity token. Raises AssertionInvalid where there is none."""
        if self.error or not self.id_token:
            why = said(self.error, 100) or "it has no id_token"
            raise AssertionInvalid(f"the issuer gives no identity token ({why})")
        return self.id_token


class Sent(NamedTuple):
    """Where the browser goes next, and the cookie that it gets."""

    location: str
    cookie: str


class SignIn:
    """Signs people in at the issuer of the settings.

    Args:
        settings: The settings `auth.oidc`.
        access: Holds the users and the secret.
        tokens: Issues the tokens.
        issuers: Asks the issuer.
        clock: Returns the current time.
    """

    def __init__(
        self,
        settings: SignInSettings,
        access: Access,
        tokens: TokenIssuer,
        issuers: Issuers,
        clock: Callable[[], datetime],
    ) -> None:
        self._settings = settings
        self._access = access
        self._tokens = tokens
        self._issuers = issuers
        self._clock = clock
        self._groups = Groups(self._settings)
        # Keys of their own: what they seal is no token, and no token is what they seal.
        self._keys = access.tokens.derived_keys(b"sign-in")

    @property
    def is_on(self) -> bool:
        """Whether people sign in at an issuer."""
        return self._settings.issuer is not None

    def begin(self, redirect_uri: str, back: str) -> Sent:
        """Return where a person signs in. Afterwards, the issuer sends the browser to `redirect_uri`.

        `back` is the path of the page to return to. Raises NOT_FOUND where sign-in at an issuer is off,
        VALIDATION_ERROR, SERVICE_UNAVAILABLE while the issuer does not answer.
        """
        if not back.startswith("/") or back.startswith(("//", "/\\")) or not back.isprintable():
            raise validation_error(FieldError("back", "must be the path of a page of this service"))
        begun = _Begun(
            state=secrets.token_urlsafe(32),
            nonce=secrets.token_urlsafe(32),
            verifier=secrets.token_urlsafe(48),
            redirect_uri=redirect_uri,
            back=back,
            exp=self._access.tokens.now() + BEGIN_SECONDS,
        )
        try:
            endpoint = _endpoint(self._issuers.discovery(self.issuer).authorization_endpoint, "authorization")
        except IssuerDown as error:
            raise down(error) from None
        challenge = base64.urlsafe_b64encode(hashlib.sha256(begun.verifier.encode()).digest()).decode().rstrip("=")
        query = {
            "response_type": "code",
            "client_id": self._settings.client_id or "",
            "redirect_uri": redirect_uri,
            "scope": self.scope,
            "state": begun.state,
            "nonce": begun.nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        return Sent(f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(query)}", self._sealed(begun))

    @property
    def issuer(self) -> str:
        """The issuer at which people sign in. Raises NOT_FOUND where there is none."""
        self._refuse_if_off()
        return self._settings.issuer or ""

    def _refuse_if_off(self) -> None:
        """Raise NOT_FOUND where sign-in at an issuer is off."""
        if not self.is_on:
            raise RegistryError("NOT_FOUND", "Sign-in at an issuer is off: auth.oidc.issuer is not set")

    @property
    def scope(self) -> str:
        """The scopes to request from the issuer."""
        return " ".join(("openid", *self._settings.scopes))

    def finish(self, cookie: str, answer: Mapping[str, str], caller: Caller) -> Sent:
        """Return the page to go to, and a cookie with the token of a person, or with why there is none.

        `answer` are the parameters with which the issuer sends the browser back. Raises UNAUTHORIZED for an answer to
        no sign-in of this browser, NOT_FOUND where this sign-in is off, SERVICE_UNAVAILABLE, RATE_LIMITED.
        """
        self._refuse_if_off()
        self._access.limiter.refuse_after_failures(caller.address, "Too many failed sign-ins from this address")
        try:
            begun = self._unsealed(cookie, _Begun)
            if not hmac.compare_digest(begun.state.encode(), answer.get("state", "").encode()):
                raise AssertionInvalid("the answer belongs to another sign-in")
            outcome = self._outcome(begun, answer, caller)
        except IssuerDown as error:
            raise down(error) from None
        except AssertionInvalid as error:
            self._access.limiter.count_failure(caller.address)
            raise unauthorized(f"The sign-in is refused: {error}. Begin it again on the page") from None
        return Sent(begun.back, self._sealed(outcome))

    def _outcome(self, begun: _Begun, answer: Mapping[str, str], caller: Caller) -> _Outcome:
        """Return how a sign-in ends. Raises AssertionInvalid, IssuerDown."""
        until = self._access.tokens.now() + TAKE_SECONDS
        with self._access.database.write() as transaction:
            if not is_first_use(transaction, self._clock(), f"sign-in\0{begun.state}", begun.exp):
                raise AssertionInvalid("it has ended already")
        if not answer.get("code"):  # the person has said no, or may not use this service
            why = said(answer.get("error_description") or answer.get("error") or "", 200) or "it does not say why"
            return _Outcome(exp=until, refused=f"The issuer has not signed you in: {why}")
        token = self.redeem(
            {
                "grant_type": "authorization_code",
                "code": answer["code"],
                "redirect_uri": begun.redirect_uri,
                "code_verifier": begun.verifier,
            }
        )
        try:
            return _Outcome(exp=until, signed_in=self.admit(token.identity(), begun.nonce, caller))
        except RegistryError as error:
            return _Outcome(exp=until, refused=str(error))

    def redeem(self, grant: Mapping[str, str]) -> TokenAnswer:
        """Return what the issuer answers to a grant. Raises IssuerDown."""
        endpoint = self._issuers.discovery(self.issuer).token_endpoint
        answer: TokenAnswer = self.ask(endpoint, "token", grant, TokenAnswer)
        return answer

    def ask(self, url: str, name: str, form: Mapping[str, str], kind: type[Any]) -> Any:
        """Return the answer of an endpoint of the issuer to a form of this client. Raises IssuerDown."""
        endpoint, client, secret = _endpoint(url, name), self._settings.client_id or "", self._settings.client_secret
        headers = {"Content-Type": _FORM, "Accept": "application/json"}
        if secret is None:
            form = {**form, "client_id": client}
        else:  # both are encoded as in a form before (RFC 6749, section 2.3.1)
            headers["Authorization"] = basic_authorization((quote_plus(client), quote_plus(secret.reveal())))
        try:
            status, body = self._issuers.outbound.exchange(
                endpoint, urlencode(form).encode(), headers, limit=DOCUMENT_BYTES, seconds=FETCH_SECONDS
            )
            if status >= 500:
                raise IssuerDown(f"{self.issuer} answers with status {status}")
            return msgspec.json.decode(body, type=kind)
        except (OutboundError, msgspec.DecodeError) as error:
            raise IssuerDown(f"{self.issuer} cannot be asked: {error}") from None

    def admit(self, id_token: str, nonce: str | None, caller: Caller) -> SignedIn:
        """Return a token for the person whom an identity token names; without a nonce, none is expected.

        Raises AssertionInvalid, IssuerDown, FORBIDDEN for a person in no group that may sign in, CONFLICT where the
        name belongs to another user.
        """
        claims = self._issuers.signed(id_token, lambda issuer: issuer == self.issuer)
        self._check(claims, nonce)
        try:
            person = self._groups.person(self.issuer, claims)
        except NotAdmitted:
            self._access.users.signed_out(self.issuer, subject_of(claims))
            raise forbidden("None of your groups may sign in here: ask an administrator") from None
        since = self._access.users.signed_in(person)
        token = self._tokens.issue_to(person, since, caller)
        self._access.limiter.forgive(caller.address)
        return SignedIn(user=person.name, scope=person.scope, token=token)

    def _check(self, claims: Mapping[str, Any], nonce: str | None) -> None:
        """Check that an identity token is for this service, and for this sign-in. Raises AssertionInvalid."""
        client, audience = self._settings.client_id, claims.get("aud")
        audiences = audience if isinstance(audience, list) else [audience]
        party = claims.get("azp", client if len(audiences) == 1 else None)
        if client not in audiences or party != client:
            raise AssertionInvalid("the identity token is for another service")
        lifetime(claims, self._access.tokens.now())
        if nonce is not None and claims.get("nonce") != nonce:
            raise AssertionInvalid("the identity token belongs to another sign-in")

    def take(self, cookie: str) -> SignedIn:
        """Return the token of a sign-in that has just ended.

        Raises UNAUTHORIZED, also for one that was refused, and NOT_FOUND where this sign-in is off.
        """
        self._refuse_if_off()
        try:
            outcome: _Outcome = self._unsealed(cookie, _Outcome)
        except AssertionInvalid as error:
            raise unauthorized(f"There is no sign-in to take over: {error}") from None
        if outcome.signed_in is None:
            raise unauthorized(outcome.refused)
        return outcome.signed_in

    def _sealed(self, content: msgspec.Struct) -> str:
        name = type(content).__name__.encode()
        return jwt.PyJWS().encode(msgspec.json.encode(content), hmac.digest(self._keys[0], name, "sha256"), _ALGORITHM)

    def _unsealed(self, text: str, kind: type[Any]) -> Any:
        """Return what `_sealed` has sealed, if it has not expired. Raises AssertionInvalid."""
        for key in self._keys:
            try:
                sealed = hmac.digest(key, kind.__name__.encode(), "sha256")
                content = msgspec.json.decode(jwt.PyJWS().decode(text, sealed, [_ALGORITHM]), type=kind)
            except (jwt.PyJWTError, ValueError):
                continue
            if content.exp > self._access.tokens.now():
                return content
        raise AssertionInvalid("it was not begun in this browser, or took too long")


def _endpoint(url: str, name: str) -> str:
    """Return the address of an endpoint. Raises IssuerDown for one that is none, or not safe."""
    if not is_private_url(url) or not url.isprintable():
        raise IssuerDown(f"it names no {name} endpoint with https")
    return url


def down(error: IssuerDown) -> RegistryError:
    """Return the error for an issuer that cannot be asked."""
    return service_unavailable(f"The issuer cannot be asked now, keys and passwords can: {error}", 10)
