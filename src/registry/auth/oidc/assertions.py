"""Reads the identity tokens of workflows: for this registry, of a registered issuer, short-lived, with an id."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from registry.auth.oidc.issuers import AssertionInvalid, Issuers, lifetime

MAX_LIFETIME_SECONDS = 3600
"""A token that is valid for longer is refused: it is no token of one run."""


class Assertions:
    """Verifies identity tokens of workflows. Safe to use from several threads.

    Args:
        issuers: Checks the signatures.
        clock: Returns the current time.
    """

    def __init__(self, issuers: Issuers, clock: Callable[[], datetime]) -> None:
        self._issuers = issuers
        self._clock = clock

    def read(self, token: str, audience: str, is_known: Callable[[str], bool]) -> Mapping[str, Any]:
        """Return the claims of a token for an audience, of an issuer that is known.

        Raises AssertionInvalid, IssuerDown.
        """
        claims = self._issuers.signed(token, is_known)
        if claims.get("aud") != audience:
            raise AssertionInvalid(f"it is for another audience than {audience!r}")
        if not isinstance(claims.get("jti"), str) or not claims["jti"]:
            raise AssertionInvalid("it has no id (jti)")
        if lifetime(claims, int(self._clock().timestamp())) > MAX_LIFETIME_SECONDS:
            raise AssertionInvalid(f"it is valid for longer than {MAX_LIFETIME_SECONDS} seconds")
        return claims
