"""Sign-in of people at an issuer of OpenID Connect: what a service does on its side."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

from registry.conformance.answer import Answer, NotApplicable, expect
from registry.conformance.rows import Section
from registry.conformance.service import Service

SIGN_IN = Section("Sign-in at an issuer")
_ROW: dict[str, Any] = {"profile": "registry", "decided": True}
_BEGIN = "/auth/sign-in"
_TAKE = "/auth/sign-in/token"
_DEVICE = "/auth/sign-in/device"


@SIGN_IN.row("status says in `sign_in` whether people sign in at an issuer; if not, the routes of it are 404", **_ROW)
def _told(service: Service) -> None:
    answer = service.ask("GET", "/api/status", role=None)
    offered = dict(answer.data()).get("sign_in")
    answer.expect(offered in (None, True, False), "`sign_in` to be a boolean", offered)
    if not offered:
        for method, path in (("GET", _BEGIN), ("POST", _TAKE), ("POST", _DEVICE)):
            service.ask(method, path, role=None).error(404, "NOT_FOUND")


@SIGN_IN.row("GET /auth/sign-in sends the browser to the issuer, with PKCE, state and nonce", **_ROW)
def _begun(service: Service) -> None:
    first, second = (_sent(service) for _ in range(2))
    for name, value in {"response_type": "code", "code_challenge_method": "S256"}.items():
        expect(first.get(name) == value, f"{name}={value} at the issuer", first)
    expect("openid" in first.get("scope", "").split(), "the scope openid", first)
    expect(first.get("redirect_uri", "").endswith("/auth/sign-in/callback"), "a redirect_uri of the callback", first)
    for name in ("state", "nonce", "code_challenge"):
        expect(len(first.get(name, "")) >= 22, f"{name} of 128 bits at least", first)
        expect(first[name] != second.get(name), f"another {name} for each sign-in", first[name])


@SIGN_IN.row("the cookie of a sign-in is for the callback alone, and for no script", **_ROW)
def _cookie(service: Service) -> None:
    answer = _begin(service)
    answer.header("Cache-Control", "no-store")
    cookie = answer.header("Set-Cookie").lower()
    for part in ("httponly", "samesite=lax", "path=", "max-age="):
        answer.expect(part in cookie, f"a cookie with {part}", cookie.partition("=")[0])


@SIGN_IN.row("a sign-in returns to pages of the service only", **_ROW)
def _back(service: Service) -> None:
    _begin(service)
    for back in ("https://evil.example", "//evil.example", "/%5Cevil.example", ""):
        service.ask("GET", f"{_BEGIN}?back={back}", role=None).error(400, "VALIDATION_ERROR")


@SIGN_IN.row("an answer to no sign-in of this browser is 401, and there is no token to take over", **_ROW)
def _foreign(service: Service) -> None:
    _begin(service)
    answer = service.ask("GET", f"{_BEGIN}/callback?code=x&state=x", role=None)
    service.offers(answer, "sign-in").error(401, "UNAUTHORIZED")
    service.ask("POST", _TAKE, role=None).error(401, "UNAUTHORIZED")


@SIGN_IN.row("a command gets a code for a person, and no token before it is entered", **_ROW)
def _device(service: Service) -> None:
    _begin(service)
    answer = service.offers(service.ask("POST", _DEVICE, role=None), "sign-in for devices")
    shape = {"device_code": "text", "user_code": "text", "verification_uri": "text", "expires_in": "integer"}
    code = answer.object(shape | {"interval": "integer"})
    body = {"device_code": code["device_code"]}
    waiting = service.ask("POST", f"{_DEVICE}/token", role=None, json=body).object({"slow_down": "boolean"}, 202)
    expect("token" not in waiting, "no token", sorted(waiting))
    for bad in ({}, {"device_code": ""}, {**body, "role": "admin"}):
        service.ask("POST", f"{_DEVICE}/token", role=None, json=bad).error(400, "VALIDATION_ERROR")


def _begin(service: Service) -> Answer:
    """Return the answer to the beginning of a sign-in. Raises NotApplicable where sign-in at an issuer is off."""
    if not dict(service.ask("GET", "/api/status", role=None).data()).get("sign_in"):
        raise NotApplicable("sign-in at an issuer is off here")
    answer = service.ask("GET", _BEGIN, role=None)
    if answer.status == 503:
        raise NotApplicable("the issuer cannot be asked now")
    return answer.has_status(302, 303)


def _sent(service: Service) -> dict[str, str]:
    """Return what the issuer is told of a sign-in."""
    location = _begin(service).header("Location")
    return {name: values[0] for name, values in parse_qs(urlsplit(location).query).items()}
