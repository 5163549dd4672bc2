"""A reverse proxy with nothing configured: it passes bytes on and adds no header, from a process of another user."""

import os
import socket
import subprocess
import sys
import threading
from types import TracebackType
from typing import Self

import httpx

OTHER_USER = 65_534
"""`nobody`, whom proxies of a distribution run as, or as a user like it."""

can_run = os.geteuid() == 0 and sys.platform == "linux"
"""Only root can start a process of another user, and only Linux says whose a connection is."""


class PlainProxy:
    """Sends what it receives to `url`, with the `Host` of that address, as `proxy_pass` of nginx does by default."""

    def __init__(self, url: httpx.URL) -> None:
        self._target = url

    def __enter__(self) -> Self:
        command = [sys.executable, __file__, str(self._target.host), str(self._target.port)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        port = int(self._process.stdout.readline())
        headers = {"Host": f"{self._target.host}:{self._target.port}"}
        self.http = httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, trust_env=False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.http.close()
        self._process.kill()
        self._process.communicate()


def _pump(source: socket.socket, target: socket.socket) -> None:
    while data := source.recv(65_536):
        target.sendall(data)
    target.shutdown(socket.SHUT_WR)


def _main(host: str, port: str) -> None:
    socket.getaddrinfo(host, port)  # reads what the other user may not: the interpreter's codecs
    os.setuid(OTHER_USER)
    listener = socket.create_server(("127.0.0.1", 0))
    sys.stdout.write(f"{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    while True:
        caller, _ = listener.accept()
        service = socket.create_connection((host, int(port)))
        for ends in ((caller, service), (service, caller)):
            threading.Thread(target=_pump, args=ends, daemon=True).start()


if __name__ == "__main__":
    _main(*sys.argv[1:])
