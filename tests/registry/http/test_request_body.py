"""Strict bodies and queries: what is accepted is exactly what the types say, and all faults are told at once."""

import json
import socket
from collections.abc import Iterator

import pytest

from support.raw_http import TinyServer, request, tiny_server

FIELD_FAULTS = {
    "text for a number": (b'"count": "5"', "count"),
    "fraction for a whole number": (b'"count": 1.0', "count"),
    "boolean for a number": (b'"count": true', "count"),
    "number for a boolean": (b'"on": 1', "on"),
    "null where none is allowed": (b'"on": null', "on"),
    "2^53 + 1": (b'"count": 9007199254740993', "count"),
    "2^70": (b'"count": 1180591620717411303424', "count"),
    "5000 digits": (b'"count": ' + b"9" * 5000, "count"),
    "negative": (b'"count": -1', "count"),
    "not finite": (b'"score": 1e999', "score"),
    "rule broken": (b'"words": ["ok", "X"]', "words[1]"),
    "line break in one line": (b'"words": ["ab\\n"]', "words[0]"),
    "unknown choice": (b'"kind": "c"', "kind"),
    "nested": (b'"origin": {"type": "git", "url": 5}', "origin.url"),
    "nested, missing": (b'"origin": {"type": "git"}', "origin.url"),
    "line break where nothing allows it": (b'"origin": "a\\nb"', "origin"),
    "line break beside one that is allowed": (b'"text": "a\\nb", "origin": "a\\nb"', "origin"),
    "line break beside one that is allowed, nested": (
        b'"text": "a\\nb", "origin": {"type": "git", "url": "a\\nb"}',
        "origin.url",
    ),
    "NUL": (b'"text": "a\\u0000b"', "text"),
    "escape": (b'"text": "\\u001b[0m"', "text"),
    "lone surrogate": (b'"text": "\\ud800"', "text"),
    "lone surrogate as a choice": (b'"kind": "\\ud800"', "kind"),
    "lone surrogate as a key": (b'"\\ud800": 1', "\ufffd"),
    "lone surrogate as a key of a known field": (
        b'"origin": {"type": "git", "url": "x", "\\udfff": 1}',
        "origin.\ufffd",
    ),
    "lone surrogate as a key, deep": (b'"other": [{"x": {"a\\ud800b": {}}}]', "other[0].x.a\ufffdb"),
    "lone surrogate below a key": (b'"other": {"x": {"y": ["\\udc00"]}}', "other.x.y[0]"),
    "NUL as a key": (b'"\\u0000": 1', "\ufffd"),
    "control character in an unknown field": (b'"other": {"x": ["\\u0001"]}', "other.x[0]"),
    "same key twice": (b'"count": 1, "count": 1', "count"),
    "same key twice, deep": (b'"other": [{"a": 1, "a": 2}]', "a"),
}
BROKEN = {
    "half": b"{",
    "nothing": b"",
    "blank": b" ",
    "null": b"null",
    "list": b"[]",
    "text": b'"x"',
    "byte order mark": b'\xef\xbb\xbf{"id":"abc"}',
    "trailing junk": b'{"id":"abc"} x',
    "two values": b'{"id":"abc"}{}',
    "byte 0xFF": b'{"id":"\xff"}',
    "UTF-16": '{"id":"abc"}'.encode("utf-16"),
    "encoded surrogate": b'{"text":"\xed\xa0\x80"}',
    "raw line break in text": b'{"text":"a\nb"}',
    "NaN": b'{"score":NaN}',
    "Infinity": b'{"score":-Infinity}',
    "100,000 brackets": b"[" * 100_000,
    "100,000 objects": b'{"a":' * 100_000,
    "5,000 values": b'{"other":[' + b"1," * 5_000 + b"1]}",
    "5,000 values beside text": b'{"text":"\\\\\\"","other":[' + b'"",' * 5_000 + b"1]}",
    "40 levels": b'{"other":' + b"[" * 40 + b"]" * 40 + b"}",
}


@pytest.fixture(scope="module")
def server() -> Iterator[TinyServer]:
    with tiny_server(limits={"json_body_bytes": 600_000}) as server:
        yield server


@pytest.mark.parametrize("name", FIELD_FAULTS)
def test_a_bad_field_is_named(server: TinyServer, name: str) -> None:
    member, field = FIELD_FAULTS[name]
    answer = server.post("/api/v1/things", b'{"id": "abc", ' + member + b"}")
    assert (answer.status, answer.code, answer.fields) == (400, "VALIDATION_ERROR", [field])


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_body_is_refused_with_details(server: TinyServer, name: str) -> None:
    answer = server.post("/api/v1/things", BROKEN[name])
    assert (answer.status, answer.code) == (400, "VALIDATION_ERROR")
    assert answer.json["error"]["details"][0]["message"]


def test_all_faults_are_told_at_once_in_the_words_of_the_rules(server: TinyServer) -> None:
    body = {"id": "A", "count": "5", "on": 1, "words": ["ok", "x"], "origin": {"type": "git", "depth": 0}}
    details = server.post("/api/v1/things", json.dumps(body).encode()).json["error"]["details"]
    assert details == [
        {"field": "id", "message": "must be 2 to 9 small letters"},
        {"field": "count", "message": "must be a whole number, not text"},
        {"field": "on", "message": "must be true or false, not a whole number"},
        {"field": "words[1]", "message": "must be 2 to 9 small letters"},
        {"field": "origin.url", "message": "is required"},
        {"field": "origin.depth", "message": "must be at least 1"},
    ]


@pytest.mark.parametrize(
    "text", ["naïve 漢字 🧪 שלום", "two\nlines\tand a tab", '"quoted" \\ back', "\u2028 \U0010ffff"]
)
def test_text_comes_back_as_it_was_sent(server: TinyServer, text: str) -> None:
    for ascii_only in (True, False):
        body = json.dumps({"id": "abc", "text": text}, ensure_ascii=ascii_only).encode()
        assert server.post("/api/v1/things", body).json["data"]["text"] == text


@pytest.mark.parametrize("number", [0, 1, 2**53])
def test_whole_numbers_up_to_2_to_the_53_are_accepted(server: TinyServer, number: int) -> None:
    body = json.dumps({"id": "abc", "count": number}).encode()
    assert server.post("/api/v1/things", body).json["data"]["count"] == number


@pytest.mark.parametrize("content_type", [None, "text/plain", "application/x-www-form-urlencoded", "application/jsonp"])
def test_only_json_is_read(server: TinyServer, content_type: str | None) -> None:
    answer = server.post("/api/v1/things", b'{"id":"abc"}', content_type=content_type)
    assert (answer.status, answer.code) == (415, "UNSUPPORTED_MEDIA_TYPE")


@pytest.mark.parametrize("content_type", ["application/json; charset=utf-8", "Application/JSON"])
def test_the_content_type_may_be_written_otherwise(server: TinyServer, content_type: str) -> None:
    assert server.post("/api/v1/things", b'{"id":"abc"}', content_type=content_type).status == 201


def test_a_body_may_be_missing_where_every_field_is_optional(server: TinyServer) -> None:
    assert server.post("/api/v1/options", b"", content_type=None).json["data"] == {"force": False}


def test_a_compressed_body_is_not_read(server: TinyServer) -> None:
    assert server.post("/api/v1/things", b"\x1f\x8b", "Content-Encoding: gzip").code == "UNSUPPORTED_MEDIA_TYPE"


def test_a_body_announced_too_large_is_refused_unread(server: TinyServer) -> None:
    head = request("POST", "/api/v1/things", "Content-Length: 900000000", content_type="application/json")
    with server.connect() as connection:
        assert connection.ask(head).code == "PAYLOAD_TOO_LARGE"
        assert connection.is_closed()


def test_a_body_that_grows_too_large_is_refused_and_the_answer_can_be_read(server: TinyServer) -> None:
    head = request("POST", "/api/v1/things", "Transfer-Encoding: chunked", content_type="application/json")
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    with server.connect() as connection:
        connection.send(head)
        connection.send(chunk * 64)
        assert connection.answer().code == "PAYLOAD_TOO_LARGE"
        assert connection.is_closed()


BAD_NUMBERS = ["2" * 19, str(2**63), str(2**70), "9" * 5000, "1e3", "1_000", "+5", "05", "٣".encode().decode("latin-1")]
BAD_NUMBERS += ["%D9%A3", '"5"', "1.0", "true", "-1", "%205", "", "0x1", "null"]


@pytest.mark.parametrize("text", BAD_NUMBERS)
@pytest.mark.parametrize("name", ["limit", "offset"])
def test_a_number_in_a_query_is_plain_digits(server: TinyServer, name: str, text: str) -> None:
    answer = server.get(f"/api/v1/things?q=a&{name}={text}")
    assert (answer.status, answer.code) == (400, "VALIDATION_ERROR")


def test_all_faults_of_a_query_are_told_at_once(server: TinyServer) -> None:
    answer = server.get("/api/v1/things?limit=0&offset=x&enabled=1&score=.5&mode=slow")
    assert answer.fields == ["q", "limit", "offset", "enabled", "score", "mode"]


@pytest.mark.parametrize("query", ["q=a&q=b", "q=a&limit=1&limit=1", "q=a&other=1&other=2"])
def test_a_key_may_stand_once_in_a_query(server: TinyServer, query: str) -> None:
    assert server.get(f"/api/v1/things?{query}").json["error"]["details"][0]["message"] == "is there more than once"


@pytest.mark.parametrize("q", ["", "%00", "%1B", "%FF", "%ED%A0%80", "x" * 51])
def test_text_in_a_query_obeys_its_rules(server: TinyServer, q: str) -> None:
    assert server.get(f"/api/v1/things?q={q}").code == "VALIDATION_ERROR"


def test_a_query_means_what_it_says(server: TinyServer) -> None:
    answer = server.get(
        "/api/v1/things?q=%E6%BC%A2+b&limit=100&offset=9007199254740992&enabled=false&score=0.5&mode=good"
    )
    expected = {"q": "漢 b", "limit": 100, "offset": 2**53, "enabled": False, "score": 0.5, "mode": "good"}
    assert answer.json["data"] == expected


def test_a_limit_above_the_maximum_is_clamped_and_reported(server: TinyServer) -> None:
    assert server.get("/api/v1/things?q=a&limit=101").json["pagination"]["limit"] == 100


def test_a_caller_that_hangs_up_is_not_a_fault_of_ours(server: TinyServer) -> None:
    head = request(
        "POST", "/api/v1/things", "Content-Length: 50", "X-Request-ID: gone", content_type="application/json"
    )
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(head + b"{")
    assert '"status":499' in server.wait_for_line('.*"request_id":"gone".*')[0]


def test_very_many_faults_are_told_in_part(server: TinyServer) -> None:
    answer = server.post("/api/v1/things", b'{"id":"abc","words":[' + b'"X",' * 3_000 + b'"X"]}')
    assert (answer.status, answer.code) == (400, "VALIDATION_ERROR")
    assert len(answer.json["error"]["details"]) == 100


def test_the_name_of_a_fault_is_short_where_a_key_is_long(server: TinyServer) -> None:
    answer = server.post("/api/v1/things", b'{"id":"abc","' + b"k" * 50_000 + b'":{"x":[-1]}}')
    assert (answer.status, answer.fields) == (400, ["k" * 100 + ".x[0]"])


def test_commas_within_text_are_no_values(server: TinyServer) -> None:
    answer = server.post("/api/v1/things", b'{"id":"abc","other":"' + b'[{,\\\\\\",' * 5_000 + b'"}')
    assert answer.status == 201
