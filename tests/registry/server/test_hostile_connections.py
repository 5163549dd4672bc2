"""Bytes without an end, requests without a pause, connections without a number: what a caller without a credential
can send, and what the others feel of it."""

import json
import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from support.raw_http import Connection, TinyServer, request, tiny_server
from support.waiting import wait_until

PROBE = request("GET", "/readyz")
MEBIBYTE = 1 << 20
CHUNKED = b"Host: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
KNOWN, UNKNOWN = b"POST /api/v1/options HTTP/1.1\r\n" + CHUNKED, b"POST /nothing HTTP/1.1\r\n" + CHUNKED


@pytest.fixture(scope="module")
def server() -> Iterator[TinyServer]:
    with tiny_server() as server:
        yield server


def memory(server: TinyServer) -> int:
    """Return the memory of the process in bytes."""
    pages = Path(f"/proc/{server.process.pid}/statm").read_text().split()[1]
    return int(pages) * resource.getpagesize()


def sent_until_refused(connection: Connection, piece: bytes, most: int) -> int:
    """Send a piece again and again until the other side closes; return the number of bytes it took, at most `most`."""
    sent = 0
    with suppress(OSError):
        while sent < most:
            connection.send(piece)
            sent += len(piece)
    return sent


ENDLESS = {
    "value of a trailer": (b"2\r\n{}\r\n0\r\nX: ", b"a" * 8192),
    "name of a trailer": (b"2\r\n{}\r\n0\r\n", b"a" * 8192),
    "trailers": (b"2\r\n{}\r\n0\r\n", b"a:b\r\n" * 1024),
    "extension of a chunk": (b"2;", b"a" * 8192),
    "value of an extension": (b'2;a="', b"a" * 8192),
    "extensions of small chunks": (b"", b"1;aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n \r\n" * 512),
    "size of a chunk": (b"", b"0" * 8192),
}


@pytest.mark.parametrize("head", [KNOWN, UNKNOWN], ids=["a route that waits", "a response that is sent already"])
@pytest.mark.parametrize(("begin", "piece"), ENDLESS.values(), ids=ENDLESS)
def test_framing_without_an_end_is_refused(server: TinyServer, head: bytes, begin: bytes, piece: bytes) -> None:
    with server.connect() as connection:
        connection.send(head + begin)
        assert sent_until_refused(connection, piece, 40 * MEBIBYTE) < 40 * MEBIBYTE
        assert server.ask(PROBE).status == 200
    with server.connect() as connection:
        with suppress(OSError):
            connection.send(head + begin + piece * 12)
        if head is KNOWN:
            assert connection.answer().status in {400, 431}
        else:
            assert connection.answer().status == 404
        assert connection.is_closed()


@pytest.mark.parametrize("sent", [b"\r\n" * 100_000, PROBE + b"\r\n" * 100_000], ids=["first", "between"])
def test_line_ends_before_a_request_count(server: TinyServer, sent: bytes) -> None:
    with server.connect() as connection:
        with suppress(OSError):
            connection.send(sent)
        if sent.startswith(b"GET"):
            assert connection.answer().status == 200
        assert connection.answer().status == 431
        assert connection.is_closed()


def test_white_space_around_a_value_counts(server: TinyServer) -> None:
    answer = server.ask(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nX:" + b" " * 100_000)
    assert answer.status == 431


def test_a_body_that_nobody_reads_ends_at_the_largest_body() -> None:
    limits = {"upload_bytes": MEBIBYTE, "batch_body_bytes": MEBIBYTE}
    with tiny_server(limits=limits) as server, server.connect() as connection:
        connection.send(b"POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n")
        assert connection.answer().status == 404
        assert sent_until_refused(connection, bytes(65_536), 100 * MEBIBYTE) < 50 * MEBIBYTE


def test_a_body_after_its_response_leaves_the_connection_usable(server: TinyServer) -> None:
    with server.connect() as connection:
        connection.send(b"POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n")
        assert connection.answer().status == 404
        connection.send(bytes(1_000_000))
        assert connection.ask(PROBE).status == 200


def numbered(number: int) -> bytes:
    return request("GET", f"/api/v1/things?q={number}")


def test_hundreds_of_requests_at_once_are_all_answered_in_order(server: TinyServer) -> None:
    with server.connect() as connection:
        connection.send(b"".join(map(numbered, range(300))))
        assert [connection.answer().json["data"]["q"] for _ in range(300)] == [str(number) for number in range(300)]
        assert connection.ask(PROBE).status == 200


def test_requests_with_bodies_at_once_are_all_answered_in_order(server: TinyServer) -> None:
    def thing(number: int) -> bytes:
        body = json.dumps({"id": "thing", "count": number, "text": "\r\n\r\n" * 40}).encode()
        return request("POST", "/api/v1/things", body=body, content_type="application/json")

    with server.connect() as connection:
        connection.send(b"".join(map(thing, range(100))))
        assert [connection.answer().json["data"]["count"] for _ in range(100)] == list(range(100))


def test_requests_behind_a_slow_one_wait_in_the_network(server: TinyServer, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    with ExitStack() as stack:
        before = memory(server)
        slow = [stack.enter_context(server.connect()) for _ in range(4)]
        for connection in slow:
            connection.send(request("GET", f"/api/v1/held?gate={gate}"))
            connection.send_what_fits(b"GET /x HTTP/1.1\r\nHost:a\r\n\r\n" * 10_000, seconds=1)
        wait_until(gate.with_suffix(".begun").exists)
        assert server.ask(PROBE).status == 200
        assert memory(server) - before < 16 * MEBIBYTE
        gate.touch()
        assert [connection.answer().json["data"] for connection in slow] == ["done"] * 4


def test_a_flood_of_small_requests_takes_little_memory_and_no_turn_of_others(server: TinyServer) -> None:
    block = b"GET /x HTTP/1.1\r\nHost:a\r\n\r\n" * 9_000
    before = memory(server)
    with ExitStack() as stack:
        for _ in range(40):
            stack.enter_context(server.connect()).send_what_fits(block, seconds=0.2)
        for _ in range(5):
            assert server.ask(PROBE).status == 200
        assert memory(server) - before < 48 * MEBIBYTE


def test_idle_connections_make_room_for_new_ones() -> None:
    with tiny_server(limits={"connections": 20}) as server, ExitStack() as stack:
        idle = [stack.enter_context(server.connect()) for _ in range(30)]
        assert server.ask(PROBE).status == 200
        for connection in idle[:10]:
            assert connection.is_closed()
        assert idle[-1].ask(PROBE).status == 200


def test_half_requests_make_room_and_requests_in_progress_do_not(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    with tiny_server(limits={"connections": 10}) as server, ExitStack() as stack:
        busy = [stack.enter_context(server.connect()) for _ in range(8)]
        for number, connection in enumerate(busy):
            connection.send(request("GET", f"/api/v1/held?gate={gate}{number}"))
        for number in range(8):
            wait_until(Path(f"{gate}{number}.begun").exists)
        for _ in range(5):
            half_body = request("POST", "/api/v1/options", "Content-Length: 50", content_type="application/json")
            stack.enter_context(server.connect()).send(half_body + b"{")
            stack.enter_context(server.connect()).send(PROBE[:20])
            assert server.ask(PROBE).status == 200
        for number in (8, 9):
            busy.append(stack.enter_context(server.connect()))
            busy[number].send(request("GET", f"/api/v1/held?gate={gate}{number}"))
            wait_until(Path(f"{gate}{number}.begun").exists)
        with server.connect() as refused:
            assert refused.answer().status == 503
        for number, connection in enumerate(busy):
            Path(f"{gate}{number}").touch()
            assert connection.answer().json["data"] == "done"
        assert server.ask(PROBE).status == 200


def test_a_connection_that_has_just_come_stays_rather_than_half_a_body() -> None:
    headers = ("Content-Length: 50", "Content-Type: application/json", "Expect: 100-continue")
    half_body = request("POST", "/api/v1/options", *headers)
    with tiny_server(limits={"connections": 10}) as server, ExitStack() as stack:
        for _ in range(10):
            half = stack.enter_context(server.connect())
            half.send(half_body)
            assert half.line().startswith(b"HTTP/1.1 100")
        new = [stack.enter_context(server.connect()) for _ in range(5)]
        assert [connection.ask(PROBE).status for connection in new] == [200] * 5


def test_connections_keep_within_the_limit_of_open_files() -> None:
    with tiny_server(files=(300, 300)) as server, ExitStack() as stack:
        server.wait_for_line("the limit of open files allows 44 connections")
        for _ in range(400):
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
        for _ in range(10):
            assert server.ask(PROBE).status == 200


def test_the_soft_limit_of_open_files_is_raised() -> None:
    with tiny_server(files=(100, 2000)) as server, ExitStack() as stack:
        connections = [stack.enter_context(server.connect()) for _ in range(300)]
        assert {connection.ask(PROBE).status for connection in connections} == {200}
