"""Tokens: only issued tokens are accepted."""

import base64
import hashlib
import hmac
import json
from typing import Any

import jwt
import pytest

from registry.auth.tokens import TokenExpired, TokenInvalid, Tokens
from support.clock import WallClock

KEY = b"0f1e2d3c4b5a69788796a5b4c3d2e1f0"
OTHER = b"ffeeddccbbaa99887766554433221100"
PUBLIC_KEY = b"""\
-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAy/Tara9/77COKLbnbGQF
+a/mmOaQuyIo1rtna/b7VnzdUVn+LXqScjakgKoo8FJMOlWyoXJe/srBh+BooyN+
1DVPIJD6GaU+FOUh5s/uu6T56nQ5wz2ykDONPQHo4nhILvytGFhY9ybzq8rkqHA9
j1awHia9Fa2c6ClXmT6DeHbezXpaszNdypVbe6hLd6KUsz37qxG+ugXnpWYqpAJX
BqqA6AZAgnItWv8l0O9d/c1W91mL4RRiVhvITLKOVIBlJc/DPdY3t8hRIQ47TuZi
6xtJVn+yNiIhZZPaz22QEnZAe9EuBfGQiqX52My1nmOYnYt55avHGVMKNFO1OJfu
TwIDAQAB
-----END PUBLIC KEY-----
"""


def encoded(part: bytes) -> str:
    return base64.urlsafe_b64encode(part).rstrip(b"=").decode()


def signed(
    payload: bytes | dict[str, Any],
    key: bytes = KEY,
    algorithm: str = "HS256",
    digest: Any = "sha256",
    header: Any = None,
) -> str:
    """Return a token with a valid HMAC, whatever its header says."""
    body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    head = json.dumps({"alg": algorithm, "typ": "JWT", **(header or {})}).encode()
    text = f"{encoded(head)}.{encoded(body)}"
    return f"{text}.{encoded(hmac.new(key, text.encode(), digest).digest())}"


def claims(clock: WallClock, **changes: Any) -> dict[str, Any]:
    says = {"sub": "acme/bot", "scope": "acme", "role": "user", "iat": clock.seconds, "exp": clock.seconds + 60}
    return {name: value for name, value in (says | changes).items() if value is not None}


@pytest.fixture
def tokens(clock: WallClock) -> Tokens:
    return Tokens([KEY], 3600, clock)


def test_an_issued_token_is_accepted(tokens: Tokens, clock: WallClock) -> None:
    token, issued = tokens.issue("acme/bot", "manager")
    assert tokens.read(token) == issued
    assert (issued.scope, issued.role, issued.exp - clock.seconds) == ("acme", "manager", 3600)
    assert set(json.loads(jwt.PyJWS().decode(token, KEY, ["HS256"]))) == {
        "sub", "scope", "role", "iat", "exp", "iss", "jti",
    }  # fmt: skip


def test_every_token_is_unique(tokens: Tokens) -> None:
    (first, one), (second, other) = tokens.issue("ada", "user"), tokens.issue("ada", "user")
    assert first != second
    assert one.jti != other.jti


@pytest.mark.parametrize("algorithm", ["none", "nOnE", "NONE", ""])
def test_a_token_without_a_signature_is_refused(tokens: Tokens, clock: WallClock, algorithm: str) -> None:
    head = json.dumps({"alg": algorithm, "typ": "JWT"}).encode()
    bare = f"{encoded(head)}.{encoded(json.dumps(claims(clock)).encode())}."
    for token in (bare, bare[:-1], signed(claims(clock), algorithm=algorithm)):
        with pytest.raises(TokenInvalid):
            tokens.read(token)


def test_a_header_without_an_algorithm_is_refused(tokens: Tokens, clock: WallClock) -> None:
    text = f"{encoded(b'{}')}.{encoded(json.dumps(claims(clock)).encode())}"
    with pytest.raises(TokenInvalid):
        tokens.read(f"{text}.{encoded(hmac.new(KEY, text.encode(), 'sha256').digest())}")


def test_another_algorithm_with_the_same_secret_is_refused(tokens: Tokens, clock: WallClock) -> None:
    for algorithm, digest in (("HS512", hashlib.sha512), ("HS384", hashlib.sha384)):
        with pytest.raises(TokenInvalid):
            tokens.read(signed(claims(clock), algorithm=algorithm, digest=digest))


def test_a_token_signed_with_a_public_key_is_refused(tokens: Tokens, clock: WallClock) -> None:
    for algorithm in ("HS256", "RS256", "ES256"):
        with pytest.raises(TokenInvalid):
            tokens.read(signed(claims(clock), PUBLIC_KEY, algorithm))


def test_an_edited_role_breaks_the_signature(tokens: Tokens) -> None:
    head, body, signature = tokens.issue("ada", "user")[0].split(".")
    says = json.loads(base64.urlsafe_b64decode(body + "=="))
    forged = encoded(json.dumps(says | {"role": "admin"}).encode())
    with pytest.raises(TokenInvalid):
        tokens.read(f"{head}.{forged}.{signature}")


@pytest.mark.parametrize("name", ["sub", "scope", "role", "iat", "exp"])
def test_a_missing_claim_is_refused(tokens: Tokens, clock: WallClock, name: str) -> None:
    assert tokens.read(signed(claims(clock))).sub == "acme/bot"
    with pytest.raises(TokenInvalid):
        tokens.read(signed(claims(clock, **{name: None})))


EXPIRIES: tuple[Any, ...] = ("2040-01-01", "9999999999", 1e300, 1.5e9, True, [], -1, 2**53 + 1, float("nan"))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("exp", value) for value in EXPIRIES],
        *[("iat", value) for value in ("1", True, -1, 1e300)],
        *[("sub", value) for value in (5, "", "a//b", "a/b/c/d", "../x", " a", "Ada", "a\n", "a" * 65, ["a"], "٢")],
        *[("scope", value) for value in (["acme"], "", "a/b", 5)],
        *[("role", value) for value in ("root", "Admin", "", ["admin"], 3, "public")],
        *[("iss", value) for value in ("somebody", "", 5)],
        *[("jti", value) for value in (5, ["x"])],
        *[("act", value) for value in ("ada", {"sub": 5}, {}, {"sub": "ada", "act": {}}, {"sub": "ada", "iat": "1"})],
        *[("nbf", value) for value in ("1", True, -1, 1e300, None)],
    ],
)
def test_a_claim_of_the_wrong_type_is_refused(tokens: Tokens, clock: WallClock, name: str, value: Any) -> None:
    with pytest.raises(TokenInvalid) as refusal:
        tokens.read(signed(claims(clock) | {name: value}))
    assert not isinstance(refusal.value, TokenExpired)


def test_a_repeated_claim_is_refused(tokens: Tokens, clock: WallClock) -> None:
    twice = json.dumps(claims(clock)).replace('"role": "user"', '"role": "user", "role": "admin"')
    with pytest.raises(TokenInvalid):
        tokens.read(signed(twice.encode()))


@pytest.mark.parametrize("payload", [b"", b"[]", b"null", b"5", b"{", b"\xff", b"[" * 2000])
def test_a_payload_that_is_not_an_object_is_refused(tokens: Tokens, payload: bytes) -> None:
    with pytest.raises(TokenInvalid):
        tokens.read(signed(payload))


@pytest.mark.parametrize("token", ["", ".", "..", "...", "a.b.c", "é.é.é", "a" * 5000, "null", "\ud800.x.y"])
def test_a_malformed_token_is_refused(tokens: Tokens, token: str) -> None:
    with pytest.raises(TokenInvalid):
        tokens.read(token)


def test_a_token_expires_exactly_at_its_second(tokens: Tokens, clock: WallClock) -> None:
    token, _ = tokens.issue("ada", "user")
    clock.forward(3599)
    assert tokens.read(token).sub == "ada"
    clock.forward(1)
    with pytest.raises(TokenExpired):
        tokens.read(token)


def test_expiry_follows_the_clock_of_the_server(tokens: Tokens, clock: WallClock) -> None:
    token, _ = tokens.issue("ada", "user")
    clock.forward(-600)
    with pytest.raises(TokenInvalid):
        tokens.read(token)
    clock.forward(600 + 600)
    assert tokens.read(token).sub == "ada"


def test_another_clock_may_be_thirty_seconds_ahead(tokens: Tokens, clock: WallClock) -> None:
    assert tokens.read(signed(claims(clock, iat=clock.seconds + 30)))
    with pytest.raises(TokenInvalid):
        tokens.read(signed(claims(clock, iat=clock.seconds + 31)))


def test_a_token_that_took_long_to_issue_lasts_from_its_time_of_issue(tokens: Tokens, clock: WallClock) -> None:
    _, claims = tokens.issue("ada", "user", at=clock.seconds - 2)
    assert (claims.iat, claims.exp) == (clock.seconds - 2, clock.seconds - 2 + 3600)


def test_a_token_is_valid_from_its_moment_on(tokens: Tokens, clock: WallClock) -> None:
    assert tokens.read(signed(claims(clock, nbf=clock.seconds + 30)))
    later = signed(claims(clock, nbf=clock.seconds + 31))
    with pytest.raises(TokenInvalid, match="not valid yet"):
        tokens.read(later)
    clock.forward(1)
    assert tokens.read(later)


@pytest.mark.parametrize("critical", [["b64"], ["exp"], [], "b64", None])
def test_a_header_with_critical_extensions_is_refused(tokens: Tokens, clock: WallClock, critical: Any) -> None:
    with pytest.raises(TokenInvalid):
        tokens.read(signed(claims(clock), header={"crit": critical, "b64": True}))


def test_tokens_of_the_previous_secret_are_accepted_while_it_is_configured(clock: WallClock) -> None:
    old, _ = Tokens([OTHER], 3600, clock).issue("ada", "user")
    both = Tokens([KEY, OTHER], 3600, clock)
    assert both.read(old).sub == "ada"
    assert Tokens([KEY], 3600, clock).read(both.issue("bob", "user")[0]).sub == "bob"
    with pytest.raises(TokenInvalid):
        Tokens([KEY], 3600, clock).read(old)


def test_a_token_without_an_id_gets_one_from_its_content(tokens: Tokens, clock: WallClock) -> None:
    first, second = (tokens.read(signed(claims(clock, sub=sub))) for sub in ("ada", "bob"))
    assert len({first.jti, second.jti, ""}) == 3
    assert tokens.read(signed(claims(clock, sub="ada"))).jti == first.jti


def test_a_token_expires_with_its_credential(tokens: Tokens, clock: WallClock) -> None:
    _, claims_until = tokens.issue("ada", "user", until=clock.seconds + 10)
    assert claims_until.exp == clock.seconds + 10
    assert tokens.issue("ada", "user", until=clock.seconds + 10**6)[1].exp == clock.seconds + 3600
