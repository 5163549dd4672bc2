"""A service that is right but for one fault: a server that passes requests on, and spoils what comes back."""

import http.client
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import NamedTuple, Self
from urllib.parse import urlsplit


class Passed(NamedTuple):
    """An answer on its way to the client."""

    method: str
    path: str
    status: int
    headers: dict[str, str]
    body: bytes


class SpoilingProxy:
    """Stands before the service at `url`. `spoil` changes each answer; one of the status 0 is a closed connection."""

    def __init__(self, url: str, spoil: Callable[[Passed], Passed]) -> None:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one_request(self) -> None:
                self.raw_requestline = self.rfile.readline(65_537)
                if not self.raw_requestline or not self.parse_request():
                    self.close_connection = True
                    return
                _pass_on(self, urlsplit(url).netloc, spoil)

            def log_message(self, *args: object) -> None:
                """Say nothing."""

        class Server(ThreadingHTTPServer):
            def handle_error(self, request: object, client_address: object) -> None:
                """Say nothing of a client or a service that was killed."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def stop(self) -> None:
        """Take no more connections. May be called while an answer is spoilt."""
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self._thread.join()


def _pass_on(handler: BaseHTTPRequestHandler, service: str, spoil: Callable[[Passed], Passed]) -> None:
    body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
    connection = http.client.HTTPConnection(service, timeout=60)
    connection.putrequest(handler.command, handler.path, skip_host=True, skip_accept_encoding=True)
    for name, value in handler.headers.items():
        connection.putheader(name, value)
    connection.endheaders(body)
    answer = connection.getresponse()
    names = {name.title(): value for name, value in answer.getheaders()}
    sent = spoil(Passed(handler.command, handler.path, answer.status, names, answer.read()))
    connection.close()
    if not sent.status:
        handler.close_connection = True
        return
    lines = [f"{name}: {value}" for name, value in sent.headers.items() if name != "Content-Length"]
    length = sent.headers.get("Content-Length", "0") if sent.method == "HEAD" else str(len(sent.body))
    head = [f"HTTP/1.1 {sent.status} Status", *lines, f"Content-Length: {length}", "", ""]
    handler.wfile.write("\r\n".join(head).encode("latin-1") + (b"" if sent.method == "HEAD" else sent.body))
