"""A server in front of a registry, which rewrites what it answers."""

from collections.abc import Callable
from typing import Any

import httpx

from support.parties import Addressed

HEADERS = ("x-api-key", "authorization")

Rewrite = Callable[[str, httpx.Response], tuple[int, dict[str, str], bytes]]
"""Returns status, headers and body of what a front answers, given the path and the answer of the registry behind it."""


class Front(dict[str, Any]):
    """The answers of a server in front of a registry: it passes requests on, and rewrites what it likes."""

    def __init__(self, registry: Addressed, rewrite: Rewrite) -> None:
        self._registry = registry
        self._rewrite = rewrite

    def get(self, path: str, default: object = None) -> Any:
        """Return what answers a path."""

        def answer(request: Any) -> None:
            sent = {name: value for name, value in request.headers.items() if name.lower() in HEADERS}
            status, headers, body = self._rewrite(path, httpx.get(f"{self._registry.address}{path}", headers=sent))
            request.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                request.send_header(name, value)
            request.end_headers()
            request.wfile.write(body)

        return answer
