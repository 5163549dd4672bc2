"""Every refusal is one envelope, whichever part refuses and whatever the reason, and it tells nothing of the inside."""

import re
from collections.abc import Iterator

import pytest

from registry.errors import STATUS
from support.raw_http import RawAnswer, TinyServer, request, tiny_server

INSIDE = re.compile(r"secret|Traceback|\.py|/srv|/work|select|sqlite", re.IGNORECASE)

REFUSALS = {
    "unknown path": (request("GET", "/nope"), 404, "NOT_FOUND"),
    "unknown path of the API": (request("GET", "/api/v1/nope"), 404, "NOT_FOUND"),
    "wrong method": (request("DELETE", "/api/v1/things"), 405, "METHOD_NOT_ALLOWED"),
    "wrong method outside the API": (request("POST", "/healthz", body=b""), 405, "METHOD_NOT_ALLOWED"),
    "absent skill": (request("GET", "/api/v1/things/pdf"), 404, "SKILL_NOT_FOUND"),
    "bad query": (request("GET", "/api/v1/things?limit=x"), 400, "VALIDATION_ERROR"),
    "bad body": (
        request("POST", "/api/v1/things", body=b"{", content_type="application/json"),
        400,
        "VALIDATION_ERROR",
    ),
    "not JSON": (
        request("POST", "/api/v1/things", body=b"{}", content_type="text/plain"),
        415,
        "UNSUPPORTED_MEDIA_TYPE",
    ),
    "foreign host": (request("GET", "/api/v1/things", host="evil.example"), 403, "FORBIDDEN"),
    "full disk": (request("GET", "/api/v1/fail/full"), 507, "INSUFFICIENT_STORAGE"),
    "read-only database": (request("GET", "/api/v1/fail/readonly"), 503, "SERVICE_UNAVAILABLE"),
    "fault of ours": (request("GET", "/api/v1/fail/bug"), 500, "INTERNAL_ERROR"),
    "not HTTP": (b"hello\r\n\r\n", 400, "VALIDATION_ERROR"),
    "long URL": (request("GET", f"/api/v1/{'x' * 9000}"), 414, "URI_TOO_LONG"),
    "many headers": (request("GET", "/", *(f"X-{n}: 1" for n in range(101))), 431, "HEADERS_TOO_LARGE"),
}


@pytest.fixture(scope="module")
def server() -> Iterator[TinyServer]:
    with tiny_server() as server:
        yield server


@pytest.mark.parametrize("name", REFUSALS)
def test_every_refusal_is_the_envelope(server: TinyServer, name: str) -> None:
    sent, status, code = REFUSALS[name]
    answer = server.ask(sent)
    assert (answer.status, answer.code) == (status, code)
    assert STATUS[code] == status
    assert answer.json["error"]["message"]
    assert not INSIDE.search(answer.body.decode())
    assert re.fullmatch(r"[0-9a-f]{16}", answer.headers["x-request-id"])


def test_a_refused_method_is_told_the_allowed_ones(server: TinyServer) -> None:
    answer = server.ask(request("DELETE", "/api/v1/things"))
    assert {"GET", "POST"} <= set(answer.headers["allow"].split(", "))


def test_an_outage_says_when_to_come_back(server: TinyServer) -> None:
    assert int(server.get("/api/v1/fail/readonly").headers["retry-after"]) > 0


def test_an_absent_skill_is_named(server: TinyServer) -> None:
    assert "'pdf'" in server.get("/api/v1/things/pdf").json["error"]["message"]


def test_a_fault_of_ours_is_found_in_the_log_by_its_request_id(server: TinyServer) -> None:
    answer = server.get("/api/v1/fail/bug", "X-Request-ID: from-the-caller")
    assert "from-the-caller" in answer.json["error"]["message"]
    server.wait_for_line("request from-the-caller failed.*secret_table")


@pytest.mark.parametrize("sent", ["/api/v1/things?q=a", "/api/v1/nope", "/api/v1/fail/bug", "/api/v1/pid?x=%FF"])
def test_every_answer_below_the_api_names_its_version(server: TinyServer, sent: str) -> None:
    assert server.get(sent).headers["x-api-version"] == "v1"


@pytest.mark.parametrize("sent", ["/healthz", "/readyz", "/nope", "/api/v10/things"])
def test_no_other_answer_names_one(server: TinyServer, sent: str) -> None:
    assert "x-api-version" not in server.get(sent).headers


@pytest.mark.parametrize(
    ("inbound", "kept"),
    [("abc.DEF_1-2", True), ("x" * 64, True), ("x" * 65, False), ("a b", False), ("a;b", False), ("", False)],
)
def test_a_sane_request_id_is_kept(server: TinyServer, inbound: str, kept: bool) -> None:
    answer: RawAnswer = server.get("/healthz", f"X-Request-ID: {inbound}")
    assert (answer.headers["x-request-id"] == inbound) is kept


def test_an_answer_without_a_page_has_no_pagination(server: TinyServer) -> None:
    assert set(server.get("/api/v1/pid").json) == {"success", "data"}
    assert server.get("/api/v1/things?q=a").json["pagination"] == {"total": 0, "limit": 20, "offset": 0}
