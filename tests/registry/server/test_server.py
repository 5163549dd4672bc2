"""The server: how it listens, what it bears, how it logs, and how it ends."""

import json
import os
import re
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from support.processes import Finished
from support.raw_http import TINY_APP, Connection, TinyServer, request, tiny_server
from support.waiting import PATIENCE_SECONDS, wait_until

PROBE = request("GET", "/readyz")


class Gate:
    """Holds a request of the tiny application until it is opened."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "gate"

    def request(self, path: str = "/api/v1/held") -> bytes:
        return request("GET", f"{path}?gate={self._file}")

    def wait_until_begun(self) -> None:
        wait_until(self._file.with_suffix(".begun").exists)

    def open(self) -> None:
        self._file.touch()

    def is_open(self) -> bool:
        return self._file.exists()


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    return Gate(tmp_path)


def test_a_drain_is_seen_on_old_and_new_connections_and_requests_finish(gate: Gate) -> None:
    with tiny_server() as server, server.connect() as old, server.connect() as busy:
        assert old.ask(PROBE).status == 200
        busy.send(gate.request())
        gate.wait_until_begun()
        server.stop()
        server.wait_for_line("Stopping: 1 requests")
        assert old.ask(PROBE).status == 503
        assert server.ask(PROBE).status == 503
        assert server.get("/healthz").status == 200
        gate.open()
        assert busy.answer().json["data"] == "done"
        assert server.exit_code() == 0


def test_a_request_is_told_that_its_caller_has_disconnected(gate: Gate) -> None:
    with tiny_server() as server:
        with server.connect() as leaving:
            leaving.send(gate.request("/api/v1/abandoned"))
            gate.wait_until_begun()
        wait_until(gate.is_open)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_idle_server_ends_promptly_whatever_connections_idle(number: int) -> None:
    with tiny_server(limits={"keep_alive_seconds": 60.0}) as server, server.connect() as idle:
        assert idle.ask(PROBE).status == 200
        server.stop(number)
        assert server.exit_code() == 0
        assert idle.is_closed()


@pytest.mark.parametrize(("how", "code"), [("task", 0), ("deaf", 1), ("loop", 1)])
def test_a_stuck_request_does_not_hold_the_process(gate: Gate, how: str, code: int) -> None:
    with tiny_server(limits={"drain_seconds": 0.5}) as server, server.connect() as stuck:
        stuck.send(gate.request(f"/api/v1/stuck/{how}"))
        gate.wait_until_begun()
        server.stop()
        assert server.exit_code() == code


def test_a_second_signal_ends_it_at_once(gate: Gate) -> None:
    with tiny_server() as server, server.connect() as busy:
        busy.send(gate.request())
        gate.wait_until_begun()
        server.stop()
        server.wait_for_line("Stopping")
        server.stop()
        assert server.exit_code() == -signal.SIGTERM


@pytest.fixture(scope="module")
def impatient() -> Iterator[TinyServer]:
    limits = {"header_seconds": 1.0, "body_seconds": 1.0, "keep_alive_seconds": 1.0}
    with tiny_server(limits=limits) as server:
        yield server


HALF_BODY = request("POST", "/api/v1/options", "Content-Length: 50", content_type="application/json") + b"{"


@pytest.mark.parametrize(("sent", "code"), [(PROBE[:30], "REQUEST_TIMEOUT"), (HALF_BODY, "REQUEST_TIMEOUT")])
def test_half_requests_are_ended(impatient: TinyServer, sent: bytes, code: str) -> None:
    with impatient.connect() as connection:
        answer = connection.ask(sent)
        assert (answer.status, answer.code) == (408, code)
        assert connection.is_closed()


@pytest.mark.parametrize("first", [b"", PROBE, PROBE * 2])
def test_silent_connections_are_closed(impatient: TinyServer, first: bytes) -> None:
    with impatient.connect() as connection:
        connection.send(first)
        for _ in range(first.count(b"GET")):
            assert connection.answer().status == 200
        assert connection.is_closed()


def test_bytes_that_trickle_in_win_no_time(impatient: TinyServer) -> None:
    started = time.monotonic()
    with impatient.connect() as connection, pytest.raises(OSError, match=r"Broken pipe|reset"):
        while time.monotonic() - started < PATIENCE_SECONDS:
            connection.send(b"\r\n")
            time.sleep(0.05)


def test_many_half_requests_do_not_slow_a_healthy_one(impatient: TinyServer) -> None:
    held = [impatient.connect() for _ in range(150)]
    for number, connection in enumerate(held):
        connection.send((b"", PROBE[:30], HALF_BODY)[number % 3])
    assert impatient.ask(PROBE).status == 200
    for connection in held:
        with connection:
            assert connection.rest()[:12] in {b"", b"HTTP/1.1 408"}


def test_responses_that_are_not_read_are_cut_off() -> None:
    with tiny_server(limits={"response_seconds": 1.0}) as server:
        with server.connect() as connection:
            connection.send(request("GET", "/api/v1/large"))
            server.wait_for_line("its response is not read")
            with suppress(ConnectionResetError):
                assert len(connection.rest()) < 8 << 20
        assert server.get("/healthz").status == 200


def test_a_slow_reader_that_reads_enough_is_served() -> None:
    with tiny_server(limits={"response_seconds": 1.5}) as server, server.connect() as connection:
        connection.send(request("GET", "/api/v1/large", "Connection: close"))
        assert len(connection.rest_slowly(pieces=16, pause_seconds=0.25)) > 8 << 20


@pytest.fixture(scope="module")
def server() -> Iterator[TinyServer]:
    with tiny_server() as server:
        yield server


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (request("GET", "/healthz", f"X-Big: {'x' * 17_000}"), 431),
        (request("GET", "/healthz", *(f"X-{n}: {'x' * 200}" for n in range(90))), 431),
        (request("GET", "/healthz", *(f"X-{n}: 1" for n in range(101))), 431),
        (b"GET / HTTP/1.1\r\nX-Endless: " + b"x" * 400_000, 431),
        (request("GET", f"/healthz?{'x' * 9_000}"), 414),
        (b"GET /" + b"x" * 400_000, 414),
        (request("GET", "/healthz", *(f"X-{n}: {'x' * 100}" for n in range(98))), 200),
        (request("GET", f"/healthz?{'x' * 8_000}"), 200),
    ],
)
def test_the_head_of_a_request_has_limits(server: TinyServer, head: bytes, status: int) -> None:
    with server.connect() as connection:
        answer = connection.ask(head)
        assert answer.status == status
        assert status == 200 or connection.is_closed()


POST = "POST /api/v1/options HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    "sent",
    [
        POST + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        POST + "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n",
        POST + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ",
        POST + "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
        POST + "Content-Length: -2\r\n\r\n{}",
        POST + "Content-Length: 0x2\r\n\r\n{}",
        POST + "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
        POST + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}XX0\r\n\r\n",
        POST + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        POST + "X-Folded: a\r\n b\r\nContent-Length: 2\r\n\r\n{}",
        POST + "X-Space : a\r\nContent-Length: 2\r\n\r\n{}",
        POST + "X-Nul: a\x00b\r\nContent-Length: 2\r\n\r\n{}",
        "GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
        "GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "CONNECT evil.example:443 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
def test_what_breaks_the_grammar_is_answered_and_ended(server: TinyServer, sent: str) -> None:
    with server.connect() as connection:
        answer = connection.ask(sent.encode("latin-1"))
        assert (answer.status, answer.code) == (400, "VALIDATION_ERROR")
        assert connection.is_closed()


def test_a_chunked_body_is_read_and_its_trailers_are_not_headers(server: TinyServer) -> None:
    body = "2\r\n{}\r\n0\r\nHost: evil.example\r\nOrigin: http://evil.example\r\n\r\n"
    with server.connect() as connection:
        answer = connection.ask(f"{POST}Transfer-Encoding: chunked\r\n\r\n{body}".encode())
        assert answer.json["data"] == {"force": False}
        assert connection.ask(PROBE).status == 200


def test_a_bad_request_behind_a_good_one_does_not_take_its_answer(server: TinyServer, gate: Gate) -> None:
    with server.connect() as connection:
        connection.send(gate.request() + b"nonsense\r\n\r\n")
        gate.wait_until_begun()
        gate.open()
        answer = connection.answer()
        assert answer.json["data"] == "done"
        assert connection.is_closed()


HOSTILE = ["/a%0d%0ab", "/a%1b[0mb", "/api/v1/things/a%0Ab?q=%0a", "/%E2%80%A8"]


@pytest.mark.parametrize("log_format", ["json", "text"])
def test_one_request_is_one_line_whatever_it_holds(log_format: str) -> None:
    with tiny_server(log_format=log_format) as server:
        for number, path in enumerate(HOSTILE):
            server.get(path, f"X-Request-ID: id-{number}", "User-Agent: a\x9b31m\xe2\x80\xa8")
        for number, path in enumerate(HOSTILE):
            line = server.wait_for_line(f".*id-{number}.*")[0]
            assert path.split("?")[0] in line
        server.get("/escape", "User-Agent: \x1b[31m")
        server.ask(b"GET /nel\x85\x9b HTTP/1.1\r\n\r\n")
        server.stop()
        server.exit_code()
        assert len(server.lines) == len(HOSTILE) + 4
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028]", "".join(server.lines))


def test_a_line_tells_what_happened(server: TinyServer) -> None:
    server.get("/api/v1/things/pdf?token=secret", "X-Request-ID: told")
    server.wait_for_line('"request_id":"told"')
    line = next(line for line in server.log() if line.get("request_id") == "told")
    assert {key: line[key] for key in ("level", "method", "path", "status", "client")} == {
        "level": "info",
        "method": "GET",
        "path": "/api/v1/things/pdf",
        "status": 404,
        "client": "127.0.0.1",
    }
    assert line["bytes"] > 0
    assert line["duration_ms"] >= 0
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"])


def test_a_taken_port_is_one_clear_line(server: TinyServer) -> None:
    done = Finished([str(TINY_APP), json.dumps({"port": server.port})], os.environ, TINY_APP.parent)
    assert done.code == 1
    assert (
        done.error == f"cannot listen on http://127.0.0.1:{server.port}: the port is in use; --port chooses another\n"
    )


def test_localhost_is_both_loopback_addresses() -> None:
    with tiny_server(host="localhost") as server:
        assert server.get("/healthz").status == 200
        if socket.has_ipv6:
            with socket.create_connection(("::1", server.port), timeout=PATIENCE_SECONDS) as connection:
                connection.sendall(PROBE)
                assert connection.recv(100).startswith(b"HTTP/1.1 200")


def ask_until(server: TinyServer, path: str, wanted: int) -> set[int]:
    """Ask on new connections until `wanted` different answers came."""
    found: set[int] = set()

    def is_enough() -> bool:
        with suppress(OSError, AssertionError, ValueError):
            found.add(server.get(path).json["data"])
        return len(found) >= wanted

    wait_until(is_enough)
    return found


def test_workers_share_the_port_are_replaced_when_they_die_and_drain_together(gate: Gate) -> None:
    with tiny_server(workers=2) as server:
        first = ask_until(server, "/api/v1/pid", 2)
        assert len(first) == 2
        with pytest.raises((OSError, AssertionError)):
            server.get("/api/v1/die")
        server.wait_for_line("ended with code 9 and is started again")
        assert len(ask_until(server, "/api/v1/pid", 2) - first) <= 1
        with Connection(server.port) as busy:
            busy.send(gate.request())
            gate.wait_until_begun()
            server.stop()
            server.wait_for_line("Stopping")
            gate.open()
            assert busy.answer().json["data"] == "done"
        assert server.exit_code() == 0
