"""A real forward proxy on loopback, as companies have one: CONNECT for https, absolute URLs for http."""

import base64
import http.client
import socket
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit


class Proxied(NamedTuple):
    """A request as it came to the proxy."""

    method: str
    target: str
    headers: dict[str, str]


class ForwardProxy:
    """Resolves the names in `hosts` only, to ports of loopback: `example.org:80` or `example.org`.

    Args:
        hosts: The port of loopback for each host.
        login: The user and password that callers must send, `user:password`.
    """

    def __init__(self, hosts: Mapping[str, int], login: str = "") -> None:
        self.hosts = dict(hosts)
        self.login = login
        self.requests: list[Proxied] = []
        handler = type("Handler", (_Handler,), {"owner": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self.host = f"127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def url(self, login: str = "") -> str:
        """Return the URL of the proxy, with user and password if given."""
        return f"http://{f'{login}@' if login else ''}{self.host}"

    def port(self, netloc: str) -> int | None:
        return self.hosts.get(netloc) or self.hosts.get(netloc.partition(":")[0])

    @property
    def targets(self) -> list[tuple[str, str]]:
        """The method and the target of each request."""
        return [(request.method, request.target) for request in self.requests]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner: ForwardProxy

    def _accepts(self) -> bool:
        self.owner.requests.append(Proxied(self.command, self.path, dict(self.headers.items())))
        expected = f"Basic {base64.b64encode(self.owner.login.encode()).decode()}"
        if not self.owner.login or self.headers["Proxy-Authorization"] == expected:
            return True
        self._refuse(407)
        return False

    def _refuse(self, status: int) -> None:
        self.send_response(status)
        if status == 407:
            self.send_header("Proxy-Authenticate", 'Basic realm="company"')
        self.send_header("Content-Length", "0")
        self.send_header("Connection", "close")
        self.end_headers()

    def do_CONNECT(self) -> None:
        if not self._accepts():
            return
        if (port := self.owner.port(self.path)) is None:
            self._refuse(403)
            return
        self.close_connection = True
        with socket.create_connection(("127.0.0.1", port)) as server:
            self.send_response(200)
            self.end_headers()
            back = threading.Thread(target=_pump, args=(server, self.connection), daemon=True)
            back.start()
            _pump(self.connection, server)
            back.join()

    def _forward(self) -> None:
        if not self._accepts():
            return
        parts = urlsplit(self.path)
        if (port := self.owner.port(parts.netloc)) is None:
            self._refuse(403)
            return
        body = self._body()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        kept = {name: value for name, value in self.headers.items() if not _is_of_hop(name)}
        kept |= {"Content-Length": str(len(body))} if body else {}
        connection.request(self.command, f"{parts.path}?{parts.query}" if parts.query else parts.path, body, kept)
        answer = connection.getresponse()
        content = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if not _is_of_hop(name):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        connection.close()

    def _body(self) -> bytes:
        body = b""
        if self.headers.get("Transfer-Encoding") == "chunked":
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return body
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def do_GET(self) -> None:
        self._forward()

    def do_POST(self) -> None:
        self._forward()

    def log_message(self, *_: Any) -> None:
        """Keep quiet."""


def _is_of_hop(name: str) -> bool:
    return name.lower() in {"content-length", "transfer-encoding", "connection"} or name.lower().startswith("proxy-")


def _pump(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(65_536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        return
