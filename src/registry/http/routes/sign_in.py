"""Sign-in of people at an issuer of OpenID Connect: in a browser, and for a command by a code."""

from typing import Annotated, Any

from litestar import Request, Response, get, post
from litestar.datastructures import Cookie
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import JSONBody, QueryParameter

from registry.auth.oidc.devices import DeviceCode, DeviceTokenRequest, Waiting
from registry.auth.oidc.sign_in import BEGIN_SECONDS, TAKE_SECONDS, SignedIn
from registry.domain.roles import PUBLIC
from registry.http.envelope import Ok
from registry.http.links import base_url
from registry.http.request_state import request_state
from registry.http.routes.auth import NO_STORE, caller_of
from registry.http.routes.parameters import ERRORS, RunningServices
from registry.http.thread_pools import ADMINISTRATION_POOL, OUTGOING_POOL

_BEGUN = "skill-registry-sign-in"
_ENDED = "skill-registry-signed-in"
_CALLBACK = "/auth/sign-in/callback"
_TAKE = "/auth/sign-in/token"
_TAKEN_HERE = "#signed-in"
"""Where the page takes the token over: it looks for this at the end of its address."""

_OPTIONS: dict[str, Any] = {"tags": ["auth"], "role": PUBLIC, "security": [{}], "changes": False}
_SENT = {303: ResponseSpec(None, generate_examples=False, description="Where the browser goes next")}
_SENDS: dict[str, Any] = {**_OPTIONS, "status_code": 303, "responses": {**ERRORS, **_SENT}}
_ANSWERS: dict[str, Any] = {**_OPTIONS, "status_code": 200, "responses": ERRORS}

Back = Annotated[str, QueryParameter(max_length=2000, description="The page to return to")]
Code = Annotated[str, QueryParameter(max_length=4000, description="What the issuer gives for a person")]
State = Annotated[str, QueryParameter(name="state", max_length=200, description="The state of the sign-in")]
Reason = Annotated[str, QueryParameter(max_length=2000, description="Why the issuer gives nothing")]


@get("/sign-in", fails={404, 503}, **_SENDS)
@OUTGOING_POOL.handler
def begin_sign_in(request: Request[Any, Any, Any], running: RunningServices, back: Back = "/") -> Response[None]:
    """Send the browser to the issuer at which people sign in."""
    redirect_uri = base_url(request, running) + _CALLBACK
    sent = running.registry.sign_in.begin(redirect_uri, back)
    # Lax: the issuer sends the browser back here, which is a navigation from another site.
    cookie = _cookie(request, redirect_uri, _BEGUN, _CALLBACK, sent.cookie, BEGIN_SECONDS)
    cookie.samesite = "lax"
    return _redirect(sent.location, [cookie])


@get("/sign-in/callback", fails={401, 404, 429, 503}, **_SENDS)
@OUTGOING_POOL.handler
def finish_sign_in(
    request: Request[Any, Any, Any],
    running: RunningServices,
    code: Code = "",
    given_state: State = "",
    error: Reason = "",
    error_description: Reason = "",
) -> Response[None]:
    """End a sign-in to which the issuer has sent the browser back, and send it to the page."""
    answer = {"code": code, "state": given_state, "error": error, "error_description": error_description}
    sent = running.registry.sign_in.finish(request.cookies.get(_BEGUN, ""), answer, caller_of(request))
    own = base_url(request, running)
    cookies = [
        _cookie(request, own, _ENDED, _TAKE, sent.cookie, TAKE_SECONDS),
        _cookie(request, own, _BEGUN, _CALLBACK, "", 0),
    ]
    return _redirect(sent.location + _TAKEN_HERE, cookies)


@post("/sign-in/token", fails={401, 404}, **_ANSWERS)
@ADMINISTRATION_POOL.handler
def take_sign_in(request: Request[Any, Any, Any], running: RunningServices) -> Response[Ok[SignedIn]]:
    """Return the token of the sign-in that has just ended in this browser, once."""
    signed_in = running.registry.sign_in.take(request.cookies.get(_ENDED, ""))
    gone = _cookie(request, base_url(request, running), _ENDED, _TAKE, "", 0)
    return Response(Ok(signed_in), headers=NO_STORE, cookies=[gone])


@post("/sign-in/device", fails={404, 429, 503}, **_ANSWERS)
@OUTGOING_POOL.handler
def begin_device_sign_in(request: Request[Any, Any, Any], running: RunningServices) -> Response[Ok[DeviceCode]]:
    """Return a code that a person enters in a browser, on this or another device, to sign in for a command."""
    return Response(Ok(running.registry.devices.begin(caller_of(request))), headers=NO_STORE)


@post("/sign-in/device/token", fails={401, 403, 404, 409, 429, 503}, **_ANSWERS)
@OUTGOING_POOL.handler
def take_device_sign_in(
    request: Request[Any, Any, Any], running: RunningServices, data: JSONBody[DeviceTokenRequest]
) -> Response[Ok[SignedIn | Waiting]]:
    """Return the token of the person who has entered the code. While there is none, the status is 202."""
    answer = running.registry.devices.take(data, caller_of(request))
    return Response(Ok(answer), status_code=202 if isinstance(answer, Waiting) else 200, headers=NO_STORE)


def _cookie(request: Request[Any, Any, Any], url: str, name: str, path: str, value: str, seconds: int) -> Cookie:
    """Return a cookie that only one route of this service gets, and no script."""
    return Cookie(
        key=name,
        value=value,
        path=request_state(request.scope).base_path + path,
        max_age=seconds,
        httponly=True,
        secure=url.startswith("https:"),
        samesite="strict",
    )


def _redirect(location: str, cookies: list[Cookie]) -> Response[None]:
    return Response(None, status_code=303, headers={"Location": location, **NO_STORE}, cookies=cookies)


SIGN_IN = [begin_sign_in, finish_sign_in, take_sign_in, begin_device_sign_in, take_device_sign_in]
