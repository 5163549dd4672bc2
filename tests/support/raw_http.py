"""A raw HTTP client, and the tiny application as a process to point it at."""

import json
import os
import re
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, NamedTuple

from support.processes import Process, start
from support.waiting import PATIENCE_SECONDS, wait_until

TINY_APP = Path(__file__).parent / "tiny_app.py"


class RawAnswer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The error code, after checking that the answer is an error envelope."""
        assert self.headers["content-type"] == "application/json", self
        assert self.json["success"] is False
        assert set(self.json) == {"success", "error"}
        return str(self.json["error"]["code"])

    @property
    def fields(self) -> list[str]:
        return [fault["field"] for fault in self.json["error"]["details"]]


class Connection:
    """One connection; answers are read as bytes, by the book."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS)
        self._file = self._socket.makefile("rb")

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._socket.close()

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def ask(self, data: bytes) -> RawAnswer:
        self.send(data)
        return self.answer()

    def send_what_fits(self, data: bytes, *, seconds: float) -> int:
        """Send as much as the other side takes until it takes nothing for some time; return the number of bytes."""
        sent = 0
        self._socket.settimeout(seconds)
        with suppress(OSError):
            while sent < len(data):
                sent += self._socket.send(data[sent : sent + 65_536])
        self._socket.settimeout(PATIENCE_SECONDS)
        return sent

    def no_more(self) -> None:
        """Close the sending half."""
        self._socket.shutdown(socket.SHUT_WR)

    def line(self) -> bytes:
        """Return the next line, with its end."""
        return self._file.readline()

    def answer(self) -> RawAnswer:
        line = self._file.readline()
        assert line.startswith(b"HTTP/1.1 "), line
        headers = dict(self._header(raw) for raw in iter(self._file.readline, b"\r\n"))
        body = self._file.read(int(headers.get("content-length", 0)))
        return RawAnswer(int(line.split()[1]), headers, body)

    def rest(self) -> bytes:
        """Return everything that comes until the other side closes."""
        return self._file.read()

    def rest_slowly(self, *, pieces: int, pause_seconds: float) -> bytes:
        """Return what `rest` returns, and pause before each of the first pieces, which have 256 KiB."""
        data = b""
        for _ in range(pieces):
            time.sleep(pause_seconds)
            data += self._file.read(256 << 10)
        return data + self.rest()

    def is_closed(self) -> bool:
        """Wait for the other side to say something; return whether it was that it closes."""
        try:
            return self._file.read(1) == b""
        except ConnectionResetError:
            return True

    @staticmethod
    def _header(raw: bytes) -> tuple[str, str]:
        name, _, value = raw.decode("latin-1").strip().partition(": ")
        return name, value


class TinyServer:
    """The tiny application, running."""

    def __init__(self, process: Process, log: IO[str]) -> None:
        self.process = process
        self._log = log
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.port = 0

    def wait_until_listening(self) -> None:
        self.port = int(self.wait_for_line(r"listening on http://\S+:(\d+)")[1])

    def _read(self) -> None:
        self.lines.extend(iter(self._log.readline, ""))

    def read_to_end(self) -> None:
        """Read what the process, which has ended, has written last."""
        self._reader.join(PATIENCE_SECONDS)

    def wait_for_line(self, pattern: str) -> re.Match[str]:
        found: list[re.Match[str]] = []

        def is_there() -> bool:
            found.extend(match for line in list(self.lines) if (match := re.search(pattern, line)))
            return bool(found)

        wait_until(is_there, why=lambda: f"no line like {pattern!r} in {self.lines}")
        return found[0]

    def connect(self) -> Connection:
        return Connection(self.port)

    def ask(self, data: bytes) -> RawAnswer:
        with self.connect() as connection:
            return connection.ask(data)

    def get(self, path: str, *headers: str) -> RawAnswer:
        return self.ask(request("GET", path, *headers))

    def post(self, path: str, body: bytes, *headers: str, content_type: str | None = "application/json") -> RawAnswer:
        return self.ask(request("POST", path, *headers, body=body, content_type=content_type))

    def stop(self, number: int = signal.SIGTERM) -> None:
        self.process.send_signal(number)

    def exit_code(self) -> int:
        return self.process.wait(PATIENCE_SECONDS)

    def log(self) -> list[dict[str, Any]]:
        """The lines of the log written so far, which is in JSON, as objects."""
        return [json.loads(line) for line in self.lines if line.startswith("{")]


def request(
    method: str,
    path: str,
    *headers: str,
    body: bytes | None = None,
    content_type: str | None = None,
    host: str = "localhost",
) -> bytes:
    """Return a request as bytes."""
    lines = [f"{method} {path} HTTP/1.1", *([f"Host: {host}"] if host else []), *headers]
    if content_type:
        lines.append(f"Content-Type: {content_type}")
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + (body or b"")


@contextmanager
def tiny_server(**run: Any) -> Iterator[TinyServer]:
    """Run the tiny application with these settings (`tiny_app.Run`) and end it afterwards."""
    read, write = os.pipe()
    with os.fdopen(read, encoding="utf-8") as log:
        try:
            process = start([str(TINY_APP), json.dumps(run)], os.environ, stderr=write)
        finally:
            os.close(write)
        server = TinyServer(process, log)
        try:
            server.wait_until_listening()
            yield server
        finally:
            process.kill()
            process.wait()
            server.read_to_end()
