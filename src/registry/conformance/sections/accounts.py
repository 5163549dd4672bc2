"""What users have of their own: tokens for programs, and a password."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from registry.conformance.answer import expect
from registry.conformance.rows import Section
from registry.conformance.sections.publishing import package, upload
from registry.conformance.service import NAME, Service, bearer
from registry.conformance.shapes import OWN_TOKEN, TOKEN

ACCOUNTS = Section("Accounts: own tokens and passwords")
_ROW: dict[str, Any] = {"profile": "registry", "decided": True}
_USER: dict[str, Any] = {**_ROW, "role": "admin", "level": "write"}
_TOKENS = "/api/v1/auth/tokens"
_USERS = "/api/v1/auth/users"
_OWN = "/api/v1/auth/me/password"


class _User(NamedTuple):
    """A user of the role manager who has signed in."""

    name: str
    password: str
    headers: dict[str, str]


@ACCOUNTS.row("own tokens and passwords need a credential: 401", **_ROW)
def _closed(service: Service) -> None:
    for method, path in (("GET", _TOKENS), ("POST", _TOKENS), ("DELETE", f"{_TOKENS}/x"), ("PUT", _OWN)):
        answer = service.ask(method, path, role=None, json={} if method in ("POST", "PUT") else None)
        service.offers(answer, "own tokens").error(401, "UNAUTHORIZED")


@ACCOUNTS.row("POST /auth/tokens makes a token that is shown once", **_USER)
def _made(service: Service) -> None:
    with _user(service) as ann:
        answer = service.ask("POST", _TOKENS, role=None, headers=ann.headers, json=_body())
        own_token = answer.object(OWN_TOKEN | {"token": "text"}, 201)
        answer.header("Location", f"{_TOKENS}/{own_token['id']}")
        answer.header("Cache-Control", "no-store")
        listed = service.ask("GET", _TOKENS, role=None, headers=ann.headers)
        tokens, _ = listed.page()
        listed.expect(
            [token.get("id") for token in tokens] == [own_token["id"]], f"only the token {own_token['id']}", tokens
        )
        listed.fields(tokens[0], OWN_TOKEN, "data[]")
        listed.expect(own_token["token"] not in listed.response.text, "no text of a token", listed.response.text)


@ACCOUNTS.row("a token for reading reads, and changes nothing", **_USER)
def _reads(service: Service) -> None:
    with _user(service) as ann:
        token = _token(service, ann, operations=["read"])
        service.ask("GET", "/api/skills", role=None, headers=token).data()
        service.ask("POST", "/api/skills", role=None, headers=token, json=service.skill()).error(403, "FORBIDDEN")
        service.ask("POST", "/api/reindex", role=None, headers=token).error(403, "FORBIDDEN")


@ACCOUNTS.row("GET /auth/verify tells the expiry, the operations and the skills of a token", **_USER)
def _verified(service: Service) -> None:
    body = _body(operations=["publish"], skills=[f"{NAME}/pdf-*"])
    with _user(service) as ann:
        token = _token(service, ann, **body)
        seen = service.ask("GET", "/auth/verify", role=None, headers=token)
        data = seen.object({"expires_at": "timestamp", "operations": "texts", "skills": "texts"})
        told = {name: data[name] for name in ("operations", "skills")}
        seen.expect(told == {"operations": ["publish"], "skills": [f"{NAME}/pdf-*"]}, "what it was made for", told)
        seen.expect(data["expires_at"][:16] == body["expires_at"][:16], f"expiry {body['expires_at']}", data)


@ACCOUNTS.row("a token makes no other token", **_USER)
def _no_more(service: Service) -> None:
    with _user(service) as ann:
        token = _token(service, ann, operations=["read", "publish", "yank"])
        service.ask("POST", _TOKENS, role=None, headers=token, json=_body()).error(403, "FORBIDDEN")
        service.ask("POST", "/auth/token", role=None, headers=token, json={"role": "user"}).error(403, "FORBIDDEN")


@ACCOUNTS.row("a body that would give more than the user has is refused, as is an unknown key", **_USER)
def _refused(service: Service) -> None:
    bad: tuple[tuple[str, dict[str, Any]], ...] = (
        ("operations", {"operations": []}), ("operations", {"operations": ["admin"]}),
        ("expires_at", {"expires_at": "2020-01-01T00:00:00Z"}), ("expires_at", {"expires_at": _in_days(400)}),
        ("expires_at", {"expires_at": "soon"}), ("expires_in", {"expires_in": 60}),
        ("skills", {"skills": ["another-scope-than-mine/x"]}), ("name", {"name": ""}),
    )  # fmt: skip
    with _user(service) as ann:
        for field, change in bad:
            answer = service.ask("POST", _TOKENS, role=None, headers=ann.headers, json=_body() | change)
            answer.expect(field in str(answer.faults()), f"a fault of {field}", answer.response.text)
        listed = service.ask("GET", _TOKENS, role=None, headers=ann.headers)
        listed.expect(listed.items() == [], "no token", listed.response.text)


@ACCOUNTS.row("a revoked token is 401 at once, and no user revokes that of another", **_USER)
def _revoked(service: Service) -> None:
    with _user(service) as ann, _user(service) as bob:
        token = _token(service, ann)
        (listed,) = service.ask("GET", _TOKENS, role=None, headers=ann.headers).items()
        path = f"{_TOKENS}/{listed['id']}"
        service.ask("DELETE", path, role=None, headers=bob.headers).error(404, "NOT_FOUND")
        service.ask("GET", "/auth/verify", role=None, headers=token).data()
        service.ask("DELETE", path, role=None, headers=ann.headers).data()
        service.ask("GET", "/auth/verify", role=None, headers=token).error(401, "INVALID_TOKEN")
        service.ask("DELETE", path, role=None, headers=ann.headers).error(404, "NOT_FOUND")


@ACCOUNTS.row("a token that is narrowed to skills publishes no other", **{**_USER, "registry_mode": True})
def _narrowed(service: Service) -> None:
    with _user(service) as ann:
        token = _token(service, ann, operations=["publish"], skills=[f"{NAME}/{service.new_id()}"])
        upload(service, package(service.new_id()), role=None, headers=token).error(403, "FORBIDDEN")
        token = _token(service, ann, operations=["read"])
        upload(service, package(service.new_id()), role=None, headers=token).error(403, "FORBIDDEN")


@ACCOUNTS.row("a changed password ends the sign-ins of before and leaves own tokens", **_USER)
def _changed(service: Service) -> None:
    new = secrets.token_urlsafe()
    with _user(service) as ann:
        token = _token(service, ann)
        body = {"old_password": ann.password, "new_password": new}
        answer = service.ask("PUT", _OWN, role=None, headers=ann.headers, json=body)
        again = service.offers(answer, "own passwords").object(TOKEN)
        service.ask("GET", "/auth/verify", role=None, headers=ann.headers).error(401, "INVALID_TOKEN")
        for still in (bearer(again["token"]), token):
            service.ask("GET", "/auth/verify", role=None, headers=still).data()
        old = service.ask("POST", "/auth/token", role=None, json={"username": ann.name, "password": ann.password})
        service.offers(old, "passwords").error(401, "UNAUTHORIZED")
        service.ask("POST", "/auth/token", role=None, json={"username": ann.name, "password": new}).object(TOKEN)


@ACCOUNTS.row("a password is not changed without the old one, nor to a short one", **_USER)
def _kept(service: Service) -> None:
    with _user(service) as ann:
        for body in ({"new_password": "long enough"}, {"old_password": ann.password, "new_password": "short"}):
            service.ask("PUT", _OWN, role=None, headers=ann.headers, json=body).error(400, "VALIDATION_ERROR")
        body = {"old_password": "not the password", "new_password": "long enough"}
        answer = service.ask("PUT", _OWN, role=None, headers=ann.headers, json=body)
        service.offers(answer, "own passwords").error(403, "FORBIDDEN")
        service.ask("GET", "/auth/verify", role=None, headers=ann.headers).data()


@contextmanager
def _user(service: Service) -> Iterator[_User]:
    """Add a user for the block, who signs in. Raises NotApplicable, Mismatch."""
    name, password = f"{NAME}/{service.new_id()}", secrets.token_urlsafe()
    body = {"name": name, "password": password, "role": "manager"}
    service.offers(service.ask("POST", _USERS, role="admin", json=body), "users").has_status(201)
    try:
        answer = service.ask("POST", "/auth/token", role=None, json={"username": name, "password": password})
        yield _User(name, password, bearer(str(service.offers(answer, "passwords").object(TOKEN)["token"])))
    finally:
        if service.ask("DELETE", f"{_USERS}/{name}", role="admin").status not in (200, 404):
            service.leftovers.append(f"the user {name}")


def _body(**changes: Any) -> dict[str, Any]:
    """Return a body that makes a token for a day."""
    return {"name": NAME, "operations": ["read"], "skills": [], "expires_at": _in_days(1)} | changes


def _token(service: Service, user: _User, **changes: Any) -> dict[str, str]:
    """Return the headers of a new token of a user, which ends with the user."""
    answer = service.ask("POST", _TOKENS, role=None, headers=user.headers, json=_body(**changes))
    text = service.offers(answer, "own tokens").object({"token": "text"}, 201)["token"]
    expect("." not in text, "an opaque token, not a JWT", "a text with dots")
    return bearer(text)


def _in_days(days: int) -> str:
    return (datetime.now(UTC) + timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")
