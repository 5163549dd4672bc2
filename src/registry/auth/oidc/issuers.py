"""Other issuers of tokens: OpenID Connect discovery, keys that rotate, and signatures.

They are asked within the rules for outgoing requests. A token that is not as it must be raises AssertionInvalid. An
issuer that does not answer raises IssuerDown, so that no caller takes an outage for a wrong token.
"""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jwt
import msgspec

from registry.domain.addresses import OutboundError
from registry.errors import RegistryError
from registry.outbound.client import OutboundClient
from registry.parsing.strict_json import decode

MAX_BYTES = 16 << 10
"""A longer token is refused without being decoded."""

FETCH_SECONDS = 5.0
"""How long one request to an issuer may take."""

DOCUMENT_BYTES = 256 << 10
"""The most bytes of one answer of an issuer."""

_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Only signatures with a key pair. HS256 would make a secret of a key that everybody may read."""

_LEEWAY_SECONDS = 30
_KEYS_SECONDS = 300.0
_ASK_AGAIN_SECONDS = 10.0
_MOST_KEYS = 100


class AssertionInvalid(Exception):
    """The token is not valid; the message is one line that says why."""


class IssuerDown(Exception):
    """An issuer cannot be asked; the message is one line that says why."""


class Discovery(msgspec.Struct):
    """What an issuer says of itself (OpenID Connect Discovery 1.0, and RFC 8628 for devices)."""

    issuer: str
    jwks_uri: str
    authorization_endpoint: str = ""
    token_endpoint: str = ""
    device_authorization_endpoint: str = ""


class _KeySet(msgspec.Struct):
    keys: list[dict[str, Any]]


class _Known(NamedTuple):
    """An issuer with its keys by id, and when they were read, as a monotonic time."""

    discovery: Discovery
    keys: Mapping[str, jwt.PyJWK]
    at: float


class Issuers:
    """Reads what issuers say, and checks their signatures. Safe to use from several threads.

    Args:
        outbound: Sends the requests to issuers.
    """

    def __init__(self, outbound: OutboundClient) -> None:
        self.outbound = outbound
        self._known: dict[str, _Known] = {}
        self._lock = threading.Lock()
        self._signatures = jwt.PyJWS(algorithms=_ALGORITHMS, options={"enforce_minimum_key_length": True})

    def discovery(self, issuer: str) -> Discovery:
        """Return what an issuer says of itself, at most five minutes old. Raises IssuerDown."""
        return self._read(issuer, lambda entry: False).discovery

    def signed(self, token: str, is_known: Callable[[str], bool]) -> Mapping[str, Any]:
        """Return the claims of a token whose issuer is known and has signed it. No claim but `iss` is checked.

        Raises AssertionInvalid, IssuerDown.
        """
        header, issuer = self._unverified(token)
        if not is_known(issuer):
            raise AssertionInvalid(f"its issuer {issuer[:200]!r} is not known here")
        key = self._key(issuer, header.get("kid"))
        try:
            content = self._signatures.decode_complete(token, key.key, algorithms=[header["alg"]])["payload"]
        except (jwt.PyJWTError, ValueError, TypeError):
            raise AssertionInvalid("its signature is not that of its issuer") from None
        claims = _claims(content)
        if claims.get("iss") != issuer:
            raise AssertionInvalid("it is of another issuer")
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
        if not isinstance(header.get("kid", ""), str) or not isinstance(issuer, str):
            raise AssertionInvalid("it names no key, or no issuer")
        return header, issuer

    def _key(self, issuer: str, key_id: str | None) -> jwt.PyJWK:
        """Return a key of an issuer. A key that is not known makes the keys be read anew, at most every 10 s.

        A token may leave out its key if its issuer has one only (OpenID Connect Core 1.0, section 10.1). Raises
        AssertionInvalid, IssuerDown.
        """
        if key_id is None:
            keys = self._read(issuer, lambda entry: False).keys
            key = next(iter(keys.values())) if len(keys) == 1 else None
        else:
            key = self._read(issuer, lambda entry: key_id not in entry.keys).keys.get(key_id)
        if key is None:
            raise AssertionInvalid("its issuer has no such key")
        return key

    def _read(self, issuer: str, lacks: Callable[[_Known], bool]) -> _Known:
        """Return what is known of an issuer, read anew if it is old or lacks something. Raises IssuerDown."""
        entry = self._known.get(issuer)
        age = time.monotonic() - entry.at if entry else _KEYS_SECONDS
        if entry is None or age >= _KEYS_SECONDS or (age >= _ASK_AGAIN_SECONDS and lacks(entry)):
            with self._lock:  # one request at a time, whatever is sent
                if self._known.get(issuer) is entry:
                    self._known[issuer] = self._fetched(issuer)
        return self._known[issuer]

    def _fetched(self, issuer: str) -> _Known:
        """Return an issuer with its keys. Raises IssuerDown."""
        try:
            discovery = self._document(f"{issuer.rstrip('/')}/.well-known/openid-configuration", Discovery)
            if discovery.issuer != issuer:
                raise IssuerDown(f"{issuer} says that it is {discovery.issuer[:200]!r}")
            listed = self._document(discovery.jwks_uri, _KeySet).keys
        except (OutboundError, RegistryError, msgspec.DecodeError) as error:
            raise IssuerDown(f"the keys of {issuer} cannot be read: {error}") from None
        keys = {}
        for entry in listed[:_MOST_KEYS]:
            if entry.get("kty") in ("RSA", "EC", "OKP") and entry.get("use", "sig") == "sig":
                try:
                    keys[str(entry.get("kid", ""))] = jwt.PyJWK(entry)
                except (jwt.PyJWTError, ValueError, TypeError, KeyError):
                    continue  # a kind of key that is not known
        return _Known(discovery, keys, time.monotonic())

    def _document(self, url: str, kind: type[Any]) -> Any:
        return msgspec.json.decode(
            self.outbound.get(url, limit=DOCUMENT_BYTES, seconds=FETCH_SECONDS).body or b"", type=kind
        )


def said(text: str, most: int) -> str:
    """Return what an issuer says as it may be shown: one line without control characters, of `most` characters."""
    return "".join(filter(str.isprintable, text))[:most]


def lifetime(claims: Mapping[str, Any], now: int) -> int:
    """Return for how many seconds a token is valid, from its issue to its end.

    Raises AssertionInvalid if it is not valid at `now`, in seconds since 1970, or does not say when it is.
    """
    times = [claims.get("iat"), claims.get("exp"), claims.get("nbf", claims.get("iat"))]
    issued, expires, begins = (time if type(time) is int else -1 for time in times)
    if min(issued, expires, begins) < 0:
        raise AssertionInvalid("it does not say from when and until when it is valid")
    if expires <= now:
        raise AssertionInvalid("it has expired")
    if max(issued, begins) > now + _LEEWAY_SECONDS:
        raise AssertionInvalid("it is not valid yet")
    return expires - issued


def _claims(content: bytes) -> dict[str, Any]:
    """Return the claims of a token. Raises AssertionInvalid."""
    try:
        return decode(content, dict[str, Any])
    except RegistryError:
        raise AssertionInvalid("its claims cannot be read") from None
