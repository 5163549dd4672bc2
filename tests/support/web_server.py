"""A real HTTP server on loopback that answers what a test tells it to, and counts who connects."""

import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

Answer = Callable[["Request"], None]


class Request(BaseHTTPRequestHandler):
    """One request; an `Answer` writes the response to it."""

    owner: "WebServer"

    def do_GET(self) -> None:
        self.owner.requests.append((self.path, dict(self.headers.items())))
        answer = self.owner.answers.get(self.path, reply(b"", 404))
        try:
            answer(self)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.owner.posted.append((dict(self.headers.items()), body))
        self.owner.answers.get(self.path, reply(b"", 404))(self)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Keep quiet."""


class WebServer:
    """`answers` maps paths, with their query, to what is answered; `connections` counts every one accepted."""

    def __init__(self, answers: Mapping[str, Answer] | None = None) -> None:
        self.answers = dict(answers or {})
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.posted: list[tuple[dict[str, str], bytes]] = []
        self.connections = 0
        self.stopping = threading.Event()
        owner = self

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False

            def get_request(self) -> Any:
                owner.connections += 1
                return super().get_request()

            def handle_error(self, request: object, client_address: object) -> None:
                """Clients that cut a connection are what the tests are about."""

        self.server = Server(("127.0.0.1", 0), type("Handler", (Request,), {"owner": self}))
        self.port = self.server.server_address[1]
        self.host = f"127.0.0.1:{self.port}"
        self.url = f"http://{self.host}"
        self._thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self.server.shutdown()
        self.server.server_close()
        self._thread.join()


def reply(body: bytes, status: int = 200, **headers: str) -> Answer:
    """Answer these bytes; `_` in the name of a header stands for `-`."""

    def answer(request: Request) -> None:
        request.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            request.send_header(name.replace("_", "-"), value)
        request.end_headers()
        request.wfile.write(body)

    return answer


def redirect(location: str, status: int = 302) -> Answer:
    return reply(b"", status, Location=location)


def flood(request: Request) -> None:
    """Send bytes without end, and without a length."""
    request.send_response(200)
    request.end_headers()
    while not request.owner.stopping.is_set():
        request.wfile.write(b" " * (64 << 10))
