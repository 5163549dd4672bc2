"""Reads the identity tokens of other issuers: OpenID Connect discovery, keys that rotate, and claims.

Only issuers that an administrator has registered are asked for keys, within the rules for outgoing requests. A token
that is not as it must be raises AssertionInvalid. An issuer that does not answer raises IssuerDown, so that nobody
takes an outage for a wrong token.
"""

import threading
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

import jwt
import msgspec

from registry.domain.addresses import OutboundError
from registry.errors import RegistryError
from registry.outbound.client import OutboundClient
from registry.parsing.strict_json import decode

MAX_BYTES = 16 << 10
"""A longer token is refused without being decoded."""

MAX_LIFETIME_SECONDS = 3600
"""A token that is valid for longer is refused: it is no token of one run."""

_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Only signatures with a key pair. HS256 would make a secret of a key that everybody may read."""

_LEEWAY_SECONDS = 30
_KEYS_SECONDS = 300.0
_ASK_AGAIN_SECONDS = 10.0
_DOCUMENT_BYTES = 256 << 10
_FETCH_SECONDS = 5.0
_MOST_KEYS = 100


class AssertionInvalid(Exception):
    """The token is not valid; the message is one line that says why."""


class IssuerDown(Exception):
    """The keys of an issuer cannot be read; the message is one line that says why."""


class _Discovery(msgspec.Struct):
    issuer: str
    jwks_uri: str


class _KeySet(msgspec.Struct):
    keys: list[dict[str, Any]]


class _Keys(NamedTuple):
    """The keys of an issuer by id, and when they were read, as a monotonic time."""

    by_id: Mapping[str, jwt.PyJWK]
    at: float


class Assertions:
    """Verifies identity tokens. Safe to use from several threads.

    Args:
        outbound: Fetches the keys of issuers.
        clock: Returns the current time.
    """

    def __init__(self, outbound: OutboundClient, clock: Callable[[], datetime]) -> None:
        self._outbound = outbound
        self._clock = clock
        self._keys: dict[str, _Keys] = {}
        self._lock = threading.Lock()
        self._signatures = jwt.PyJWS(algorithms=_ALGORITHMS, options={"enforce_minimum_key_length": True})

    def read(self, token: str, audience: str, is_known: Callable[[str], bool]) -> Mapping[str, Any]:
        """Return the claims of a token for an audience, of an issuer that is known.

        Raises AssertionInvalid, IssuerDown.
        """
        header, issuer = self._unverified(token)
        if not is_known(issuer):
            raise AssertionInvalid(f"no publisher of the issuer {issuer[:200]!r} is registered")
        key = self._key(issuer, header["kid"])
        try:
            content = self._signatures.decode_complete(token, key.key, algorithms=[header["alg"]])["payload"]
        except (jwt.PyJWTError, ValueError, TypeError):
            raise AssertionInvalid("its signature is not that of its issuer") from None
        claims = _claims(content)
        self._check(claims, issuer, audience)
        return claims

    def _unverified(self, token: str) -> tuple[dict[str, str], str]:
        """Return the header and the issuer that a token claims to have. Raises AssertionInvalid."""
        if len(token) > MAX_BYTES or not token.isascii():
            raise AssertionInvalid("it is no identity token")
        try:
            parts = jwt.PyJWS().decode_complete(token, options={"verify_signature": False})
        except (jwt.PyJWTError, ValueError):
            raise AssertionInvalid("it is no identity token") from None
        header, issuer = parts["header"], _claims(parts["payload"]).get("iss")
        if header.get("alg") not in _ALGORITHMS or "crit" in header:
            raise AssertionInvalid("it is signed in a way that is not accepted")
        if not isinstance(header.get("kid"), str) or not isinstance(issuer, str):
            raise AssertionInvalid("it names no key, or no issuer")
        return header, issuer

    def _check(self, claims: Mapping[str, Any], issuer: str, audience: str) -> None:
        """Check the claims that are the same for every issuer. Raises AssertionInvalid."""
        if claims.get("iss") != issuer:
            raise AssertionInvalid("it is of another issuer")
        if claims.get("aud") != audience:
            raise AssertionInvalid(f"it is for another audience than {audience!r}")
        if not isinstance(claims.get("jti"), str) or not claims["jti"]:
            raise AssertionInvalid("it has no id (jti)")
        times = [claims.get("iat"), claims.get("exp"), claims.get("nbf", claims.get("iat"))]
        issued, expires, begins = (time if type(time) is int else -1 for time in times)
        if min(issued, expires, begins) < 0:
            raise AssertionInvalid("it does not say from when and until when it is valid")
        now = int(self._clock().timestamp())
        if expires <= now:
            raise AssertionInvalid("it has expired")
        if max(issued, begins) > now + _LEEWAY_SECONDS:
            raise AssertionInvalid("it is not valid yet")
        if expires - issued > MAX_LIFETIME_SECONDS:
            raise AssertionInvalid(f"it is valid for longer than {MAX_LIFETIME_SECONDS} seconds")

    def _key(self, issuer: str, key_id: str) -> jwt.PyJWK:
        """Return a key of an issuer. A key that is not known makes the keys be read anew, at most every 10 s.

        Raises AssertionInvalid, IssuerDown.
        """
        known = self._keys.get(issuer)
        age = time.monotonic() - known.at if known else _KEYS_SECONDS
        if known is None or age >= _KEYS_SECONDS or (key_id not in known.by_id and age >= _ASK_AGAIN_SECONDS):
            with self._lock:  # one request at a time, whatever is sent
                if self._keys.get(issuer) is known:
                    self._keys[issuer] = _Keys(self._fetched(issuer), time.monotonic())
        key = self._keys[issuer].by_id.get(key_id)
        if key is None:
            raise AssertionInvalid("its issuer has no such key")
        return key

    def _fetched(self, issuer: str) -> dict[str, jwt.PyJWK]:
        """Return the keys of an issuer by id. Raises IssuerDown."""
        try:
            discovery = self._document(f"{issuer.rstrip('/')}/.well-known/openid-configuration", _Discovery)
            if discovery.issuer != issuer:
                raise IssuerDown(f"{issuer} says that it is {discovery.issuer[:200]!r}")
            listed = self._document(discovery.jwks_uri, _KeySet).keys
        except (OutboundError, RegistryError, msgspec.DecodeError) as error:
            raise IssuerDown(f"the keys of {issuer} cannot be read: {error}") from None
        keys = {}
        for entry in listed[:_MOST_KEYS]:
            if entry.get("kty") in ("RSA", "EC", "OKP") and isinstance(entry.get("kid"), str):
                try:
                    keys[entry["kid"]] = jwt.PyJWK(entry)
                except (jwt.PyJWTError, ValueError, TypeError, KeyError):
                    continue  # a kind of key that is not known
        return keys

    def _document(self, url: str, kind: type[Any]) -> Any:
        return msgspec.json.decode(
            self._outbound.get(url, limit=_DOCUMENT_BYTES, seconds=_FETCH_SECONDS).body or b"", type=kind
        )


def _claims(content: bytes) -> dict[str, Any]:
    """Return the claims of a token. Raises AssertionInvalid."""
    try:
        return decode(content, dict[str, Any])
    except RegistryError:
        raise AssertionInvalid("its claims cannot be read") from None
