"""People sign in for a command: a code that they enter in a browser, on this or another device (RFC 8628).

The service asks the issuer, so that the command needs neither a client of its own there nor its secret.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from registry.auth.access import Access
from registry.auth.issuing import Caller
from registry.auth.oidc.issuers import AssertionInvalid, IssuerDown, Issuers
from registry.auth.oidc.sign_in import SignedIn, SignIn, down
from registry.auth.rate_limits import address_key
from registry.errors import RegistryError, rate_limited, unauthorized

_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_TOO_MANY = "Too many sign-ins from this address"
_WAITING = {"authorization_pending": False, "slow_down": True}
"""What the issuer says while the person is busy, and whether it was asked too early."""


class DeviceCode(msgspec.Struct, kw_only=True):
    """A code for a person, who enters `user_code` at `verification_uri`, or opens `verification_uri_complete`.

    The command asks with `device_code` how that went, every `interval` seconds, for `expires_in` seconds at most.
    """

    device_code: Annotated[str, Meta(min_length=1, max_length=4000)]
    user_code: Annotated[str, Meta(min_length=1, max_length=100)]
    verification_uri: Annotated[str, Meta(pattern=r"^https?://[^\s]{1,2000}$(?!\n)")]
    verification_uri_complete: Annotated[str, Meta(pattern=r"^(https?://[^\s]{1,2000})?$(?!\n)")] = ""
    expires_in: Annotated[int, Meta(ge=1, le=86_400)]
    interval: Annotated[int, Meta(ge=1, le=60)] = 5


class DeviceTokenRequest(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The body that asks whether the person has signed in."""

    device_code: Annotated[str, Meta(min_length=1, max_length=4000)]


class Waiting(msgspec.Struct, kw_only=True):
    """The person has not signed in yet. With `slow_down`, ask five seconds less often (RFC 8628, section 3.5)."""

    slow_down: bool


class Devices:
    """Relays the device flow to the issuer of `sign_in`.

    Args:
        sign_in: Asks the issuer, and issues the tokens.
        issuers: Knows where its endpoints are.
        access: Counts the requests of an address.
    """

    def __init__(self, sign_in: SignIn, issuers: Issuers, access: Access) -> None:
        self._sign_in = sign_in
        self._issuers = issuers
        self._access = access

    def begin(self, caller: Caller) -> DeviceCode:
        """Return a code for a person.

        Raises NOT_FOUND where sign-in at an issuer is off, or it has no device flow, RATE_LIMITED,
        SERVICE_UNAVAILABLE while it does not answer.
        """
        self._count(caller)
        try:
            discovery = self._issuers.discovery(self._sign_in.issuer)
            if not discovery.device_authorization_endpoint:
                raise RegistryError("NOT_FOUND", "The issuer has no sign-in for devices: use the page, or an own token")
            form = {"scope": self._sign_in.scope}
            code: DeviceCode = self._sign_in.ask(discovery.device_authorization_endpoint, "device", form, DeviceCode)
        except IssuerDown as error:
            raise down(error) from None
        return code

    def take(self, request: DeviceTokenRequest, caller: Caller) -> SignedIn | Waiting:
        """Return a token for the person who has entered the code, or that the person has not done so yet.

        Raises UNAUTHORIZED for a code that the issuer does not know, FORBIDDEN for a person in no group that may sign
        in, CONFLICT where the name belongs to another user, NOT_FOUND, RATE_LIMITED, SERVICE_UNAVAILABLE.
        """
        self._count(caller)
        form = {"grant_type": _GRANT, "device_code": request.device_code}
        try:
            answer = self._sign_in.redeem(form)
            if answer.error in _WAITING:
                return Waiting(slow_down=_WAITING[answer.error])
            return self._sign_in.admit(answer.identity(), None, caller)
        except IssuerDown as error:
            raise down(error) from None
        except AssertionInvalid as error:
            self._access.limiter.count_failure(caller.address)
            raise unauthorized(f"The sign-in is refused: {error}. Begin it again") from None

    def _count(self, caller: Caller) -> None:
        """Count a request, which the issuer gets too, against the limits of its address. Raises RATE_LIMITED."""
        quota = self._access.limiter.count(f"address {address_key(caller.address)}", "write")
        self._access.limiter.refuse_after_failures(caller.address, _TOO_MANY)
        if quota.is_exceeded:
            raise rate_limited(_TOO_MANY, quota.reset_seconds)
