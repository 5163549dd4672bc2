"""Trusted publishing: the exchange of identity tokens, and the publishers that administrators register."""

import base64
import json
from typing import Any

from registry.conformance.rows import Section
from registry.conformance.service import NAME, Service
from registry.conformance.shapes import PUBLISHER

WORKFLOWS = Section("Trusted publishing")
_ROW: dict[str, Any] = {"profile": "registry", "decided": True}
_CHANGE: dict[str, Any] = {**_ROW, "role": "admin", "level": "write"}
_WHAT = "trusted publishing"
_PUBLISHERS = "/api/v1/auth/publishers"
_SCOPES = "/api/v1/auth/trusted-scopes"
_GITHUB = {"repository": f"{NAME}/{NAME}", "owner_id": "1", "workflow": "publish.yml"}


@WORKFLOWS.row("GET /auth/oidc/audience says publicly what an identity token must be for", **_ROW)
def _audience(service: Service) -> None:
    service.offers(service.ask("GET", "/auth/oidc/audience", role=None), _WHAT).object({"audience": "text"})


@WORKFLOWS.row("POST /auth/oidc/token refuses what is no identity token of a registered publisher", **_ROW)
def _refused(service: Service) -> None:
    claims = {"iss": "https://issuer.example.org", "aud": "skill-registry", "jti": "x", "iat": 1, "exp": 9_999_999_999}
    for token in ("nonsense", _unsigned(claims)):
        answer = service.ask("POST", "/auth/oidc/token", role=None, json={"token": token})
        service.offers(answer, _WHAT).error(401, "UNAUTHORIZED")


@WORKFLOWS.row("a body of POST /auth/oidc/token without a token, or with an unknown key, is 400", **_ROW)
def _bodies(service: Service) -> None:
    bad: tuple[dict[str, Any], ...] = (
        {}, {"token": ""}, {"token": 5}, {"token": "x", "role": "admin"}, {"token": "x", "scope": "../x"},
    )  # fmt: skip
    for body in bad:
        answer = service.ask("POST", "/auth/oidc/token", role=None, json=body)
        service.offers(answer, _WHAT).error(400, "VALIDATION_ERROR")


@WORKFLOWS.row("only administrators register publishers", role="user", **_ROW)
def _closed(service: Service) -> None:
    for method, path in (("GET", _PUBLISHERS), ("POST", _PUBLISHERS), ("DELETE", f"{_PUBLISHERS}/x"), ("GET", _SCOPES)):
        body: dict[str, str] | None = {} if method == "POST" else None
        service.offers(service.ask(method, path, role=None, json=body), _WHAT).error(401, "UNAUTHORIZED")
        answer = service.ask(method, path, role=None, headers=service.exactly("user"), json=body)
        answer.error(403, "FORBIDDEN")


@WORKFLOWS.row("a publisher is registered by exact claims, or by the short form for GitHub Actions", **_CHANGE)
def _registered(service: Service) -> None:
    forms: tuple[dict[str, Any], ...] = (
        {"github": _GITHUB},
        {"issuer": "https://issuer.example.org", "claims": {"sub": f"project:{NAME}"}},
    )
    for form in forms:
        body = {"name": service.new_id(), "scope": NAME, **form}
        answer = service.ask("POST", _PUBLISHERS, role="admin", json=body)
        entry = service.offers(answer, _WHAT).object(PUBLISHER, 201)
        path = f"{_PUBLISHERS}/{entry['id']}"
        try:
            answer.expect(entry["claims"], "claims that a token must have", entry)
            listed = service.ask("GET", f"{_PUBLISHERS}?limit=100", role="admin").items()
            answer.expect(entry["id"] in [publisher["id"] for publisher in listed], "the publisher in the list", listed)
        finally:
            if service.ask("DELETE", path, role="admin").status != 200:
                service.leftovers.append(f"the publisher {entry['id']}")
        service.ask("DELETE", path, role="admin").error(404, "NOT_FOUND")


@WORKFLOWS.row("a publisher that would trust too many workflows is refused", **_CHANGE)
def _too_wide(service: Service) -> None:
    bad: tuple[dict[str, Any], ...] = (
        {}, {"issuer": "https://issuer.example.org"}, {"issuer": "https://issuer.example.org", "claims": {}},
        {"issuer": "http://issuer.example.org", "claims": {"sub": "x"}},
        {"issuer": "https://issuer.example.org", "claims": {"aud": "x"}},
        {"github": {**_GITHUB, "owner_id": ""}}, {"github": {**_GITHUB, "repository": "*"}},
        {"github": _GITHUB, "claims": {"sub": "x"}}, {"github": _GITHUB, "role": "admin"},
        {"github": _GITHUB, "skills": ["another-scope-than-mine/x"]},
    )  # fmt: skip
    for form in bad:
        answer = service.ask("POST", _PUBLISHERS, role="admin", json={"name": NAME, "scope": NAME, **form})
        service.offers(answer, _WHAT).error(400, "VALIDATION_ERROR")


@WORKFLOWS.row("a scope that only trusted publishers publish to is listed, and opens again", **_CHANGE)
def _trusted_only(service: Service) -> None:
    scope = service.new_id()
    for only in (True, False):
        answer = service.ask("PUT", f"{_SCOPES}/{scope}", role="admin", json={"trusted_only": only})
        changed = service.offers(answer, _WHAT).object({"scope": "text", "trusted_only": "boolean"})
        answer.expect(changed == {"scope": scope, "trusted_only": only}, f"trusted_only {only}", changed)
        listed = [trusted["scope"] for trusted in service.ask("GET", _SCOPES, role="admin").items()]
        answer.expect((scope in listed) is only, f"the scope {'in' if only else 'not in'} the list", listed)


def _unsigned(claims: dict[str, Any]) -> str:
    """Return an unsigned identity token."""
    parts = ({"alg": "none", "typ": "JWT"}, claims)
    return ".".join([*(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts), ""])
