"""Tokens of the registry profile, and that the local profile has none."""

import base64
import json
from collections.abc import Mapping
from typing import Any

from registry.conformance.answer import NotApplicable, expect
from registry.conformance.rows import Section
from registry.conformance.service import Service, bearer
from registry.conformance.shapes import TOKEN, VERIFIED

AUTHENTICATION = Section("Authentication")
_CLAIMS = {"sub": "dev-user", "scope": "dev-user", "role": "admin", "iat": 1, "exp": 9_999_999_999, "jti": "x"}


@AUTHENTICATION.row("no token endpoint is exposed", profile="local")
def _no_tokens(service: Service) -> None:
    for method, path in (("POST", "/auth/token"), ("GET", "/auth/verify")):
        service.ask(method, path, json={"role": "user"} if method == "POST" else None).has_status(404)


@AUTHENTICATION.row("credentials are neither needed nor looked at", profile="local")
def _ignored(service: Service) -> None:
    for headers in ({}, {"Authorization": "Bearer nonsense"}, {"x-api-key": "nonsense"}):
        service.ask("GET", "/api/v1/skills", headers=headers).data()


@AUTHENTICATION.row("a token response has `token`, `expires_at` and `role`", profile="registry")
def _token(service: Service) -> None:
    answer = service.ask("POST", "/auth/token", headers=service.given, role=None, json={"role": "user"})
    if answer.status in (401, 403):
        raise NotApplicable("the service issues no token for this credential")
    data = answer.object(TOKEN)
    answer.expect(data["role"] == "user", "role user", data["role"])


@AUTHENTICATION.row("a token carries `sub`, `scope`, `role`, `iat` and `exp`", profile="registry", role="user")
def _claims(service: Service) -> None:
    claims = _payload(_token_of(service))
    missing = sorted({"sub", "scope", "role", "iat", "exp"} - claims.keys())
    expect(not missing, "claims sub, scope, role, iat and exp", f"no {', '.join(missing)}")
    first = str(claims["sub"]).partition("/")[0]
    if not service.given:  # an API key brings a scope of its own
        expect(claims["scope"] == first, f"scope {first}, the first part of `sub`", claims["scope"])


@AUTHENTICATION.row("a role of a token request is one of user, manager and admin", profile="registry")
def _roles(service: Service) -> None:
    for body in ({"role": "root"}, {"role": 5}, {"role": "USER"}):
        service.ask("POST", "/auth/token", role=None, json=body).any_error("VALIDATION_ERROR")


@AUTHENTICATION.row("a user name is 1 to 3 segments of small letters and digits", profile="registry", decided=True)
def _names(service: Service) -> None:
    for name in ("", "/", "a//b", "../x", " a", "a" * 300, "A", "a\n", "a/b/c/d"):
        answer = service.ask("POST", "/auth/token", role=None, json={"role": "user", "username": name})
        answer.expect(answer.faults() == ["username"], f"a fault of username {name[:20]!r}", answer.response.text)


@AUTHENTICATION.row("a token cannot be exchanged for a higher role", profile="registry", role="user", decided=True)
def _raised(service: Service) -> None:
    for role in ("manager", "admin"):
        answer = service.ask("POST", "/auth/token", role=None, headers=service.exactly("user"), json={"role": role})
        answer.error(403, "FORBIDDEN")


@AUTHENTICATION.row("GET /auth/verify returns who a valid token is for", profile="registry", role="user")
def _verify(service: Service) -> None:
    answer = service.ask("GET", "/auth/verify", role="user")
    data = answer.object(VERIFIED)
    answer.expect(data["valid"] is True, "`valid` true", data["valid"])


@AUTHENTICATION.row("verifying an invalid token is INVALID_TOKEN", profile="registry")
def _invalid(service: Service) -> None:
    for token in ("nonsense", "a.b.c", _forged({"alg": "none"}), _forged({"alg": "HS256"}, "bm90IGl0")):
        service.ask("GET", "/auth/verify", role=None, headers=bearer(token)).any_error("INVALID_TOKEN")


@AUTHENTICATION.row("a missing or malformed token is 401 UNAUTHORIZED", profile="registry")
def _missing(service: Service) -> None:
    headers: tuple[Mapping[str, Any], ...] = (
        {"Authorization": "Bearer"}, {"Authorization": "Bearer  x"}, {"Authorization": "Basic eDp5"},
        {"Authorization": "nonsense"}, bearer("nonsense"), bearer("x" * 6000), {"Authorization": b"Bearer \xe9"},
        {"x-api-key": ""}, {"x-api-key": "sk_no_such"}, {"x-api-key": b"\xe9"}, {"x-api-key": "x" * 6000},
    )  # fmt: skip
    for header in headers:
        service.ask("GET", "/api/code/v1/skills", role=None, headers=header).error(401, "UNAUTHORIZED")


@AUTHENTICATION.row("no header at all is 401, with WWW-Authenticate: Bearer", profile="registry")
def _challenge(service: Service) -> None:
    if service.anonymous_read:
        raise NotApplicable("this registry lets every caller read")
    answer = service.ask("GET", "/api/code/v1/skills", role=None)
    answer.error(401, "UNAUTHORIZED")
    answer.header("WWW-Authenticate")


@AUTHENTICATION.row("a forged or altered token is 401", profile="registry", role="user")
def _forgeries(service: Service) -> None:
    head, payload, signature = _token_of(service).split(".")
    raised = _coded({**_payload(f"{head}.{payload}.{signature}"), "role": "admin"})
    turned = signature[:-6] + ("AAAAAA" if signature[-6:] != "AAAAAA" else "BBBBBB")
    tokens = (
        f"{head}.{raised}.{signature}", f"{head}.{payload}.", f"{head}.{payload}.{turned}",
        *(_forged({"alg": alg}, signature) for alg in ("none", "nOnE", "HS512", "RS256")),
        _forged({}, signature),
    )  # fmt: skip
    for token in tokens:
        service.ask("GET", "/api/code/v1/skills", role=None, headers=bearer(token)).error(401, "UNAUTHORIZED")


@AUTHENTICATION.row("a good token does not save a bad API key", profile="registry", role="user", decided=True)
def _both(service: Service) -> None:
    headers = {**(service.credential("user") or {}), "x-api-key": "sk_no_such"}
    service.ask("GET", "/api/code/v1/skills", role=None, headers=headers).error(401, "UNAUTHORIZED")


@AUTHENTICATION.row("a token ends with POST /auth/logout", profile="registry", role="user", decided=True)
def _logout(service: Service) -> None:
    answer = service.ask("POST", "/auth/token", role=None, headers=service.exactly("user"), json={"role": "user"})
    headers = bearer(str(answer.object(TOKEN)["token"]))
    service.ask("GET", "/auth/verify", role=None, headers=headers).data()
    service.ask("POST", "/auth/logout", role=None, headers=headers).data()
    service.ask("GET", "/auth/verify", role=None, headers=headers).error(401, "INVALID_TOKEN")
    service.ask("GET", "/api/code/v1/skills", role=None, headers=headers).error(401, "UNAUTHORIZED")


def _token_of(service: Service) -> str:
    value = service.exactly("user").get("Authorization", "")
    if value.count(".") != 2:
        raise NotApplicable("the credential is not a token, and the service exchanges it for none")
    return value.removeprefix("Bearer ")


def _payload(token: str) -> dict[str, Any]:
    part = token.split(".")[1]
    try:
        claims = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except ValueError:
        claims = None
    expect(isinstance(claims, dict), "a JWT whose payload is a JSON object", claims)
    return dict(claims)


def _coded(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def _forged(head: Mapping[str, str], signature: str = "") -> str:
    return f"{_coded({'typ': 'JWT', **head})}.{_coded(_CLAIMS)}.{signature}"
