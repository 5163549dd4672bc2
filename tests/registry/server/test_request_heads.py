"""Heads that the parser accepts and a server must refuse, or read otherwise (RFC 9110 and 9112)."""

from collections.abc import Iterator

import pytest

from support.raw_http import TinyServer, request, tiny_server

POST = "POST /api/v1/options HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
OLD = POST.replace("1.1", "1.0")
PROBE = request("GET", "/readyz")


@pytest.fixture(scope="module")
def server() -> Iterator[TinyServer]:
    with tiny_server() as server:
        yield server


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (POST + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
        (POST + "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 501),
        (POST + "Transfer-Encoding: deflate ,\tchunked\r\n\r\n0\r\n\r\n", 501),
        (POST + "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", 400),
        (POST + "Transfer-Encoding: gzip\r\n\r\n0\r\n\r\n", 400),
        (POST + "Transfer-Encoding:\r\n\r\n0\r\n\r\n", 400),
        (OLD + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 400),
        (POST + "Expect: 200-ok\r\nContent-Length: 2\r\n\r\n{}", 417),
        (POST + "Expect: 100-continue, x\r\nContent-Length: 2\r\n\r\n{}", 417),
        (POST + "Expect: 100-continue\r\nExpect: x\r\nContent-Length: 2\r\n\r\n{}", 417),
        ("CONNECT / HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        ("GET http://me@localhost/readyz HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        ("GET http:///readyz HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        ("GET ftp://localhost/readyz HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    ],
)
def test_what_the_server_cannot_do_is_refused(server: TinyServer, head: str, status: int) -> None:
    with server.connect() as connection:
        answer = connection.ask(head.encode())
        assert answer.status == status
        assert answer.json["success"] is False
        assert connection.is_closed()


@pytest.mark.parametrize(
    ("target", "host", "status"),
    [
        ("http://evil.example/api/v1/pid", "localhost", 403),
        ("HTTP://evil.example:80/api/v1/pid", "localhost", 403),
        ("http://localhost.evil.example?/api/v1/pid", "localhost", 403),
        ("http://localhost/api/v1/pid", "evil.example", 200),
        ("http://localhost:8080/api/v1/pid", "evil.example", 200),
        ("https://127.0.0.1/api/v1/things?q=a", "evil.example", 200),
        ("http://localhost", "localhost", 404),
        ("http://localhost?q=a", "localhost", 404),
    ],
)
def test_the_host_of_an_absolute_target_decides(server: TinyServer, target: str, host: str, status: int) -> None:
    with server.connect() as connection:
        assert connection.ask(request("GET", target, host=host)).status == status
        assert connection.ask(PROBE).status == 200


@pytest.mark.parametrize("headers", ["", "Host: localhost\r\nHost: localhost\r\n"], ids=["none", "two"])
def test_an_absolute_target_needs_one_host_header_too(server: TinyServer, headers: str) -> None:
    answer = server.ask(f"GET http://localhost/api/v1/pid HTTP/1.1\r\n{headers}\r\n".encode())
    assert answer.status in {400, 403}


def test_a_page_of_an_absolute_target_is_judged_by_that_host(server: TinyServer) -> None:
    foreign = request(
        "POST", "http://localhost/api/v1/options", "Origin: http://a.example", body=b"{}", host="a.example"
    )
    assert server.ask(foreign).status == 403


BODIES = {
    "length": b"Content-Length: 14\r\n\r\n" + b'{"force":true}',
    "chunks": b"Transfer-Encoding: chunked\r\n\r\n" + b'e\r\n{"force":true}\r\n0\r\n\r\n',
}
UPGRADE = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n"


@pytest.mark.parametrize("is_split", [False, True], ids=["one packet", "two packets"])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_request_that_asks_for_another_protocol_keeps_its_body(
    server: TinyServer, body: bytes, is_split: bool
) -> None:
    sent = POST.encode() + UPGRADE + body
    cut = sent.index(b"\r\n\r\n") + 4 if is_split else len(sent)
    with server.connect() as connection:
        connection.send(sent[:cut])
        if is_split:
            assert server.ask(PROBE).status == 200  # so the head is read by now
        connection.send(sent[cut:])
        assert connection.answer().json["data"] == {"force": True}
        assert connection.ask(PROBE).status == 200


def test_a_body_that_waits_for_100_continue_is_asked_for(server: TinyServer) -> None:
    with server.connect() as connection:
        connection.send(POST.encode() + b"Expect: 100-Continue\r\nContent-Length: 2\r\n\r\n")
        assert connection.line() == b"HTTP/1.1 100 Continue\r\n"
        assert connection.line() == b"\r\n"
        assert connection.ask(b"{}").json["data"] == {"force": False}


def test_an_older_client_is_not_told_to_continue(server: TinyServer) -> None:
    with server.connect() as connection:
        answer = connection.ask(OLD.encode() + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n{}")
        assert answer.json["data"] == {"force": False}


def test_a_body_that_comes_in_small_pieces_is_read(server: TinyServer) -> None:
    text = "a" * 150
    body = b'{"id": "thing", "text": "%s"}' % text.encode()
    with server.connect() as connection:
        connection.send(b"POST /api/v1/things HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n")
        connection.send(b"Transfer-Encoding: chunked\r\n\r\n")
        for byte in body:
            connection.send(b"1\r\n%c\r\n" % byte)
        assert connection.ask(b"0\r\nX-Trailer: yes\r\n\r\n").json["data"]["text"] == text
        assert connection.ask(PROBE).status == 200
