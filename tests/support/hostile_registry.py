"""A registry that answers the commands as its owner likes: wrong shapes, bytes without end, and texts for terminals."""

import json
import re
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Writer = Callable[["Handler"], None]

_CARD = {
    "id": "acme/pdf",
    "name": "pdf",
    "version": "1.0.0",
    "description": "Reads documents.",
    "source": "local",
    "installed": False,
    "findings": "high",
}
_FINDING = {"severity": "high", "rule": "secret", "message": "A key.", "file": "SKILL.md", "line": 3}
_VERSION = {
    "skill_id": "acme/pdf",
    "version": "1.0.0",
    "description": "Reads PDF files.",
    "created_at": "2026-11-21T12:00:00.000Z",
    "changes": ["The first one"],
}
_SKILL = {
    **_CARD,
    "tags": ["pdf"],
    "warnings": ["Its version is missing"],
    "findings": {"risk": "high", "findings": [_FINDING]},
}
_EXPLANATION = {
    "evidence": 0.9,
    "parts": {"words": 0.5},
    "cosine": 0.4,
    "tier": "exact_name",
    "words": [{"word": "pdf", "weight": 1.0, "fields": ["name"]}],
    "examples": ["read a pdf"],
}
_HIT = {"skill": _CARD, "score": 0.9, "relevance": "high", "matched_by": ["name"], "explanation": _EXPLANATION}
_FOUND = {
    "skills": [_HIT],
    "warnings": ["The index is old"],
    "mode": "hybrid",
    "took_ms": 1.5,
    "count": 1,
    "corrections": [{"word": "pfd", "used": ["pdf"]}],
    "search_id": "s",
}
_SOURCE = {
    "name": "team",
    "type": "git",
    "skills": 3,
    "last_refreshed": None,
    "url": "https://example.org",
    "path": None,
    "error": None,
    "warnings": ["One skill is missing"],
}
_JOB = {
    "job_id": "j",
    "skill_id": "acme/pdf",
    "version": "1.0.0",
    "status": "accepted",
    "checksum": "sha256:1",
    "completed_at": "2026-01-01T00:00:00Z",
    "errors": [],
    "warnings": [{"kind": "quality", "message": "Short.", "field": "description"}],
}
_STATUS = {
    "status": "ok",
    "embedding": {"provider": "local", "model": "m", "dim": 3},
    "skipped": {"a": "It has no name"},
    "problems": {"search": "It waits"},
    "issuer": "closed",
}
_ROUTES: tuple[tuple[str, Any], ...] = (
    (r"POST /api/v1/search", _FOUND),
    (r"POST /api/v1/search/feedback", {}),
    (r"GET /api/v1/skills\?.*", [_CARD]),
    (r"GET /api/v1/skills/[^?]*/content", {"content": "# PDF\n"}),
    (r"GET /api/v1/skills/[^?]*/versions/1\.0\.0", _VERSION),
    (r"GET /api/v1/skills/.*/versions\?.*", [_VERSION]),
    (r"(GET|DELETE) /api/v1/skills/.*", _SKILL),
    (r"POST /api/v1/skills", _SKILL),
    (r"POST /api/v1/skills:batch", {"results": [{"success": False, "error": {"code": "CONFLICT", "message": "No."}}]}),
    (
        r"POST /api/v1/skills/upgrade",
        {"results": [{"id": "acme/pdf", "outcome": "updated", "reason": "Newer", "resolved_version": "1.1.0"}]},
    ),
    (r"GET /api/v1/status", _STATUS),
    (r"GET /api/v1/registry/sources", [_SOURCE]),
    (r"POST /api/v1/registry/sources", _SOURCE),
    (r"DELETE /api/v1/registry/sources/.*", {"name": "team", "message": "Removed"}),
    (r"POST /api/v1/registry/refresh", {}),
    (r"POST /api/v1/reindex.*", {"job_id": "j"}),
    (
        r"GET /api/v1/reindex/.*",
        {"status": "done", "done": 1, "total": 1, "result": {"indexed": 1, "failed": 1, "errors": ["No model"]}},
    ),
    (r"POST /api/v1/manifest/generate-mdc", {"skills_count": 1, "path": ".cursor/rules/skills.mdc"}),
    (r"POST /auth/token", {"token": "t", "role": "manager", "expires_at": "2999-01-01T00:00:00Z"}),
    (r"POST /auth/logout", {"message": "Revoked"}),
    (r"POST /api/v1/registry/publish", {"job_id": "j"}),
    (r"GET /api/v1/registry/publish/.*", _JOB),
    (r"POST /api/v1/registry/skills/.*", {"skill_id": "acme/pdf", "version": "1.0.0", "yanked": True}),
)


def honest(route: str) -> Any:
    """Return the answer of a registry that works, for a method and a path."""
    data: Any = next((data for pattern, data in _ROUTES if re.fullmatch(pattern, route)), {})
    answer = {"success": True, "data": data}
    return answer | {"pagination": {"total": 1}} if isinstance(data, list) else answer


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each value within a value, and of itself."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


def replaced(value: Any, path: tuple[Any, ...], other: Any) -> Any:
    """Return a value in which the one at a path is another one."""
    if not path:
        return other
    copied = dict(value) if isinstance(value, dict) else list(value)
    copied[path[0]] = replaced(value[path[0]], path[1:], other)
    return copied


def texts_replaced(value: Any, text: str) -> Any:
    """Return a value with a text at the end of each text, and of each name that no program reads."""
    if isinstance(value, dict):
        return {name: texts_replaced(inner, text) for name, inner in value.items()} | {f"x{text}": f"y{text}"}
    if isinstance(value, list):
        return [texts_replaced(inner, text) for inner in value]
    return f"{value}{text}" if isinstance(value, str) else value


class Handler(BaseHTTPRequestHandler):
    """One request."""

    owner: "HostileRegistry"

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.owner.routes.append(f"{self.command} {self.path}")
        try:
            self.owner.write(self)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    do_GET = do_POST = do_DELETE = do_HEAD = do_PUT = do_PATCH = do_OPTIONS = _answer  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Keep quiet."""


class HostileRegistry:
    """A server on loopback. `write` answers each request; `routes` are the methods and paths that were asked for."""

    def __init__(self) -> None:
        self.write: Writer = self.answer_honestly
        self.routes: list[str] = []
        self.stopping = threading.Event()

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False

            def handle_error(self, request: object, client_address: object) -> None:
                """Clients that cut a connection are what the tests are about."""

        self._server = Server(("127.0.0.1", 0), type("_Handler", (Handler,), {"owner": self}))
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def __enter__(self) -> "HostileRegistry":
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()

    def answer_honestly(self, request: Handler) -> None:
        """Answer as a registry that works."""
        send(request, json.dumps(honest(f"{request.command} {request.path}")).encode())

    def drip(self, request: Handler) -> None:
        """Send one byte after the other, without end."""
        request.send_response(200)
        request.end_headers()
        while not self.stopping.wait(0.05):
            request.wfile.write(b" ")
            request.wfile.flush()

    def drip_head(self, request: Handler) -> None:
        """Send one byte of the head after the other, without end."""
        request.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
        while not self.stopping.wait(0.05):
            request.wfile.write(b"a")
            request.wfile.flush()

    def flood(self, request: Handler) -> None:
        """Send bytes without end, and without a length."""
        request.send_response(200)
        request.end_headers()
        while not self.stopping.is_set():
            request.wfile.write(b" " * (64 << 10))


def send(request: Handler, body: bytes, status: int = 200, **headers: str) -> None:
    """Send an answer; `_` in the name of a header stands for `-`."""
    request.send_response(status)
    for name, value in {"Content-Length": str(len(body)), **headers}.items():
        request.send_header(name.replace("_", "-"), value)
    request.end_headers()
    request.wfile.write(body)


def sending(body: bytes, status: int = 200, **headers: str) -> Writer:
    """Return a writer that sends the same answer to every request."""
    return lambda request: send(request, body, status, **headers)
