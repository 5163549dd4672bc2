"""Issuing tokens: never with more rights than the credential, and without a credential only on loopback."""

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from registry.auth.access import Access
from registry.auth.issuing import Caller, TokenIssuer, TokenRequest, issuer_mode
from registry.auth.keys import NewKey
from registry.auth.locality import Connection
from registry.auth.proxy_notice import ProxyNotice
from registry.auth.tokens import Claims
from registry.auth.users import NewUser, UserChanges
from registry.config.settings import Settings, load_settings
from registry.db import Database
from registry.errors import RegistryError
from support.clock import WallClock

HERE = ((b"host", b"localhost:8080"),)
SERVER = socket.create_server(("127.0.0.1", 0))
CLIENT = socket.create_connection(SERVER.getsockname())
LOCAL = Connection(CLIENT.getsockname(), SERVER.getsockname())
"""A connection of this process."""


def settings(folder: Path, **flags: Any) -> Settings:
    return load_settings({"profile": "registry", "data_dir": str(folder), **flags}, {})


@pytest.fixture
def access(tmp_path: Path, database: Database, clock: WallClock) -> Iterator[Access]:
    made = Access(settings(tmp_path), database, clock)
    made.users.add(NewUser(name="acme/ada", password="a good password", role="manager"))
    yield made
    made.close()


@pytest.fixture
def issuer(access: Access) -> TokenIssuer:
    return TokenIssuer(access, "loopback", ProxyNotice())


def caller(*headers: tuple[bytes, bytes], address: str | None = None) -> Caller:
    connection = LOCAL if address is None else LOCAL._replace(client=(address, 1))
    return Caller((*HERE, *headers), connection, "request")


def with_token(token: str) -> tuple[bytes, bytes]:
    return (b"authorization", f"Bearer {token}".encode())


def with_key(access: Access, **fields: Any) -> tuple[bytes, bytes]:
    return (b"x-api-key", access.keys.create(NewKey(name="ci", **fields)).key.encode())


def issued(access: Access, issuer: TokenIssuer, request: TokenRequest, by: Caller) -> Claims:
    return access.tokens.read(issuer.issue(request, by).token)


def code_of(issuer: TokenIssuer, request: TokenRequest, by: Caller) -> str:
    with pytest.raises(RegistryError) as refusal:
        issuer.issue(request, by)
    return refusal.value.code


@pytest.mark.parametrize(
    ("flags", "mode"),
    [
        ({}, "loopback"),
        ({"server.host": "127.0.0.1"}, "loopback"),
        ({"server.host": "::1"}, "loopback"),
        ({"server.public_url": "http://localhost:8080"}, "loopback"),
        ({"server.public_url": "https://skills.example/team"}, "closed"),
        ({"server.public_url": "https://skills.example", "auth.issuer": "open"}, "open"),
        ({"server.host": "0.0.0.0"}, "closed"),
        ({"server.host": "192.0.2.1"}, "closed"),
        ({"server.host": "0.0.0.0", "auth.issuer": "open"}, "open"),
        ({"auth.issuer": "closed"}, "closed"),
    ],
)
def test_the_listening_address_sets_the_issuer_mode(tmp_path: Path, flags: dict[str, str], mode: str) -> None:
    assert issuer_mode(settings(tmp_path, **flags)) == mode


def test_a_caller_on_loopback_gets_the_role_and_name_it_requests(access: Access, issuer: TokenIssuer) -> None:
    by_default = issued(access, issuer, TokenRequest(role="admin"), caller())
    named = issued(access, issuer, TokenRequest(role="manager", username="acme/bot"), caller())
    assert (by_default.sub, by_default.scope, by_default.role) == ("dev-user", "dev-user", "admin")
    assert (named.sub, named.scope, named.role) == ("acme/bot", "acme", "manager")
    assert code_of(issuer, TokenRequest(), caller()) == "VALIDATION_ERROR"


@pytest.mark.parametrize(
    "header",
    [
        (b"x-forwarded-for", b"127.0.0.1"),
        (b"x-forwarded-proto", b"https"),
        (b"x-forwarded", b"for=::1"),
        (b"forwarded", b"for=127.0.0.1"),
        (b"via", b"1.1 proxy"),
        (b"x-real-ip", b"127.0.0.1"),
        (b"host", b"localhost"),
    ],
)
def test_a_proxied_request_does_not_count_as_loopback(issuer: TokenIssuer, header: tuple[bytes, bytes]) -> None:
    assert code_of(issuer, TokenRequest(role="user"), caller(header)) == "UNAUTHORIZED"


@pytest.mark.parametrize("host", [b"registry.example", b"localhost.evil.example", b"", b"192.0.2.1", b"\xe9", b"["])
def test_a_foreign_host_header_does_not_count_as_loopback(issuer: TokenIssuer, host: bytes) -> None:
    by = Caller(((b"host", host),), LOCAL, "request")
    assert code_of(issuer, TokenRequest(role="user"), by) == "UNAUTHORIZED"


@pytest.mark.parametrize("address", ["192.0.2.1", "-", "", "::ffff:192.0.2.1", "localhost"])
def test_a_foreign_address_does_not_count_as_loopback(issuer: TokenIssuer, address: str) -> None:
    assert code_of(issuer, TokenRequest(role="user"), caller(address=address)) == "UNAUTHORIZED"


def test_an_open_issuer_needs_no_credential_and_a_closed_one_does(access: Access) -> None:
    away = caller((b"via", b"1.1 proxy"), address="192.0.2.1")
    assert issued(access, TokenIssuer(access, "open", ProxyNotice()), TokenRequest(role="admin"), away).role == "admin"
    assert code_of(TokenIssuer(access, "closed", ProxyNotice()), TokenRequest(role="user"), caller()) == "UNAUTHORIZED"


def test_a_password_gives_at_most_the_role_of_the_user(access: Access, issuer: TokenIssuer) -> None:
    away = caller(address="192.0.2.1")
    login: dict[str, Any] = {"username": "acme/ada", "password": "a good password"}
    assert issued(access, issuer, TokenRequest(**login), away).role == "manager"
    assert issued(access, issuer, TokenRequest(role="user", **login), away).role == "user"
    assert code_of(issuer, TokenRequest(role="admin", **login), away) == "FORBIDDEN"
    assert code_of(issuer, TokenRequest(password="a good password"), away) == "VALIDATION_ERROR"


def test_a_password_beside_a_credential_header_is_refused(access: Access, issuer: TokenIssuer) -> None:
    for password in ("a good password", "a wrong password"):
        login = TokenRequest(username="acme/ada", password=password)
        assert code_of(issuer, login, caller(with_key(access, role="admin"))) == "VALIDATION_ERROR"


def test_a_wrong_password_and_an_unknown_user_get_the_same_error(issuer: TokenIssuer) -> None:
    said = set()
    for name in ("acme/ada", "nobody"):
        with pytest.raises(RegistryError) as refusal:
            issuer.issue(TokenRequest(username=name, password="a wrong password"), caller())
        said.add((refusal.value.code, refusal.value.message))
    assert len(said) == 1


def test_an_invalid_credential_is_refused_on_loopback_too(issuer: TokenIssuer) -> None:
    for header in (with_token("nonsense"), (b"x-api-key", b"sk_nonsense"), (b"authorization", b"Basic eDp5")):
        assert code_of(issuer, TokenRequest(role="user"), caller(header)) == "UNAUTHORIZED"


def test_a_token_has_at_most_the_role_and_scope_of_the_credential(access: Access, issuer: TokenIssuer) -> None:
    token = issuer.issue(TokenRequest(role="manager", username="acme/bot"), caller()).token
    for header in (with_token(token), with_key(access, role="manager", scope="acme")):
        claims = issued(access, issuer, TokenRequest(role="user"), caller(header))
        assert (claims.role, claims.scope) == ("user", "acme")
        assert issued(access, issuer, TokenRequest(), caller(header)).role == "manager"
        assert code_of(issuer, TokenRequest(role="admin"), caller(header)) == "FORBIDDEN"


def test_a_name_outside_the_scope_of_the_credential_is_refused(access: Access, issuer: TokenIssuer) -> None:
    by = caller(with_key(access, role="manager", scope="acme"))
    assert issued(access, issuer, TokenRequest(username="acme/bot"), by).scope == "acme"
    for name in ("other", "other/bot", "acmee/bot"):
        assert code_of(issuer, TokenRequest(username=name), by) == "FORBIDDEN"


def test_an_administrator_may_request_any_username(access: Access, issuer: TokenIssuer) -> None:
    claims = issued(
        access, issuer, TokenRequest(role="user", username="other/bot"), caller(with_key(access, role="admin"))
    )
    assert (claims.sub, claims.scope, claims.role) == ("other/bot", "other", "user")


def test_a_key_without_a_scope_gets_only_tokens_of_the_role_user(access: Access, issuer: TokenIssuer) -> None:
    by = caller(with_key(access, role="manager"))
    assert issued(access, issuer, TokenRequest(role="user"), by).role == "user"
    assert code_of(issuer, TokenRequest(role="manager"), by) == "FORBIDDEN"


def test_a_renewed_token_expires_no_later(access: Access, issuer: TokenIssuer, clock: WallClock) -> None:
    first = issuer.issue(TokenRequest(role="admin"), caller())
    clock.forward(3600)
    second = issuer.issue(TokenRequest(), caller(with_token(first.token)))
    assert second.expires_at == first.expires_at
    assert second.expires_in == first.expires_in - 3600


def test_revoking_a_key_revokes_its_tokens(access: Access, issuer: TokenIssuer) -> None:
    key = access.keys.create(NewKey(name="ci", role="manager", scope="acme"))
    token = issuer.issue(TokenRequest(username="acme/bot"), caller((b"x-api-key", key.key.encode()))).token
    again = issuer.issue(TokenRequest(username="acme/other"), caller(with_token(token))).token
    access.keys.revoke(key.id)
    for one in (token, again):
        assert code_of(issuer, TokenRequest(), caller(with_token(one))) == "UNAUTHORIZED"


def test_changing_the_role_of_a_user_revokes_their_tokens(access: Access, issuer: TokenIssuer) -> None:
    login = TokenRequest(username="acme/ada", password="a good password")
    token = issuer.issue(login, caller()).token
    other = issuer.issue(TokenRequest(username="acme/other"), caller(with_token(token))).token
    access.users.change("acme/ada", UserChanges(role="user"))
    for one in (token, other):
        assert code_of(issuer, TokenRequest(), caller(with_token(one))) == "UNAUTHORIZED"
    assert issued(access, issuer, login, caller()).role == "user"


def tokens_of_a_line(issuer: TokenIssuer, first: Caller, count: int) -> list[str]:
    """Return tokens, each issued for the one before; the first for a caller."""
    tokens = [issuer.issue(TokenRequest(role="manager", username="acme/bot-0"), first).token]
    for number in range(1, count):
        request = TokenRequest(username=f"acme/bot-{number}")
        tokens.append(issuer.issue(request, caller(with_token(tokens[-1]))).token)
    return tokens


@pytest.mark.parametrize("ended", [0, 1, 2])
def test_a_token_ends_with_every_token_it_comes_from(access: Access, issuer: TokenIssuer, ended: int) -> None:
    tokens = tokens_of_a_line(issuer, caller(), 4)
    end(access, tokens[ended])
    for token in tokens[ended:]:
        assert code_of(issuer, TokenRequest(), caller(with_token(token))) == "UNAUTHORIZED"
    for token in tokens[:ended]:
        assert issued(access, issuer, TokenRequest(), caller(with_token(token)))


def end(access: Access, token: str) -> None:
    principal = access.identify([with_token(token)])
    assert principal is not None
    assert principal.token_id is not None
    assert principal.expires_at is not None
    access.revocations.revoke(principal.token_id, principal.expires_at)


def test_a_change_of_any_owner_ends_the_tokens_that_come_from_theirs(access: Access, issuer: TokenIssuer) -> None:
    access.users.add(NewUser(name="acme/bot-1", password="a good password", role="manager"))
    tokens = tokens_of_a_line(issuer, caller(with_key(access, role="manager", scope="acme")), 4)
    access.users.change("acme/bot-1", UserChanges(role="user"))
    states = [access.revocations.is_revoked(access.tokens.read(token)) for token in tokens]
    assert states == [False, True, True, True]


def test_no_token_is_issued_for_a_credential_that_another_process_has_revoked(
    tmp_path: Path, database: Database, clock: WallClock, access: Access, issuer: TokenIssuer
) -> None:
    token = issuer.issue(TokenRequest(role="manager"), caller()).token
    key = access.keys.create(NewKey(name="ci"))
    elsewhere = Access(settings(tmp_path), database, clock)
    for header in (with_token(token), (b"x-api-key", key.key.encode())):
        assert issued(access, issuer, TokenRequest(), caller(header))
    end(elsewhere, token)
    elsewhere.keys.revoke(key.id)
    elsewhere.close()
    for header in (with_token(token), (b"x-api-key", key.key.encode())):
        assert code_of(issuer, TokenRequest(), caller(header)) == "UNAUTHORIZED"


def test_a_credential_that_is_revoked_while_it_is_exchanged_gives_no_valid_token(
    access: Access, clock: WallClock
) -> None:
    key = access.keys.create(NewKey(name="ci", role="manager", scope="acme"))
    principal = access.identify([(b"x-api-key", key.key.encode())])
    access.keys.revoke(key.id)
    clock.forward(1)
    assert principal is not None
    for subject in (principal.name, "acme/bot"):
        at = access.revocations.earliest_issue(subject)
        _, claims = access.tokens.issue(subject, "user", "acme", at=at, credential=principal.credential)
        assert access.revocations.is_revoked(claims)


def test_tokens_are_exchanged_a_limited_number_of_times(issuer: TokenIssuer) -> None:
    last = tokens_of_a_line(issuer, caller(), 9)[-1]
    assert code_of(issuer, TokenRequest(), caller(with_token(last))) == "FORBIDDEN"


def test_a_new_token_of_a_changed_user_is_valid_at_once(access: Access, issuer: TokenIssuer) -> None:
    access.users.change("acme/ada", UserChanges(password="a new password"))
    login = TokenRequest(username="acme/ada", password="a new password")
    token = issuer.issue(login, caller()).token
    assert issued(access, issuer, TokenRequest(username="acme/bot"), caller(with_token(token))).sub == "acme/bot"


def test_an_address_has_to_wait_after_ten_failures(access: Access, issuer: TokenIssuer) -> None:
    wrong = TokenRequest(username="acme/ada", password="a wrong password")
    right = TokenRequest(username="acme/ada", password="a good password")
    assert {code_of(issuer, wrong, caller()) for _ in range(10)} == {"UNAUTHORIZED"}
    with pytest.raises(RegistryError) as refusal:
        issuer.issue(right, caller())
    assert (refusal.value.code, 0 < int(refusal.value.headers["Retry-After"]) <= 300) == ("RATE_LIMITED", True)
    assert issued(access, issuer, right, caller(address="192.0.2.1")).sub == "acme/ada"
    assert issued(access, issuer, TokenRequest(), caller(with_key(access))).role == "user"


def test_successes_are_not_failures(issuer: TokenIssuer) -> None:
    right = TokenRequest(username="acme/ada", password="a good password")
    for _ in range(12):
        issuer.issue(right, caller())
    assert (
        code_of(issuer, TokenRequest(role="admin", username="acme/ada", password="no such"), caller()) == "UNAUTHORIZED"
    )


def test_concurrent_guesses_get_no_more_attempts(issuer: TokenIssuer) -> None:
    wrong = TokenRequest(username="acme/ada", password="a wrong password")
    with ThreadPoolExecutor(20) as pool:
        codes = list(pool.map(lambda _: code_of(issuer, wrong, caller()), range(40)))
    assert codes.count("UNAUTHORIZED") == 10
    assert codes.count("RATE_LIMITED") == 30


def test_tokens_that_may_write_are_audited(access: Access, issuer: TokenIssuer) -> None:
    for role in ("user", "manager", "admin"):
        issuer.issue(TokenRequest(role=role), caller())
    entries, total = access.audit.list(10, 0)
    assert total == 2
    assert [entry.detail.split()[0] for entry in entries] == ["admin", "manager"]
    assert {(entry.actor, entry.client, entry.request_id) for entry in entries} == {
        ("dev-user", "127.0.0.1", "request")
    }
