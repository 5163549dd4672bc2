"""Absolute links to this service."""

from typing import Any

from litestar import Request

from registry.http.request_state import request_state
from registry.services.container import Services


def base_url(request: Request[Any, Any, Any], services: Services) -> str:
    """Return the URL that others reach this service at, without a slash at its end.

    It is `server.public_url`, or else the host of the request, which the guard has checked, with the scheme and the
    base path that the server or a trusted proxy names.
    """
    if public_base := services.settings.public_base:
        return public_base
    return str(request.base_url).rstrip("/") + request_state(request.scope).base_path
