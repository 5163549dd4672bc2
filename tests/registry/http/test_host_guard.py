"""Who may speak to the service: the hosts it answers for, and the origins whose pages may change something."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.raw_http import TinyServer, request, tiny_server
from support.servers import RunningServer

OURS = ["localhost", "LOCALHOST", "localhost:{port}", "127.0.0.1:{port}", "127.0.0.2", "[::1]:{port}", "[::1]"]
FOREIGN = [
    "evil.example",
    "localhost.evil.example",
    "127.0.0.1.nip.io",
    "localhost@evil.example",
    "evil.example@localhost",
    "localhost, evil.example",
    "0.0.0.0",
    "192.168.0.7",
    "127.1",
    "2130706433",
    "[::ffff:8.8.8.8]",
    "localhost:",
    "localhost:x",
    "local host",
    " ",
]


@pytest.fixture(scope="module")
def server() -> Iterator[TinyServer]:
    with tiny_server() as server:
        yield server


@pytest.fixture(scope="module")
def shared() -> Iterator[TinyServer]:
    """A server that thinks it listens on every address, with origins of its own."""
    with tiny_server(bind="0.0.0.0", origins=["https://app.example"]) as server:
        yield server


def post(*headers: str, host: str = "localhost") -> bytes:
    return request("POST", "/api/v1/options", *headers, body=b"{}", content_type="application/json", host=host)


@pytest.mark.parametrize("host", OURS)
def test_loopback_hosts_are_ours(server: TinyServer, host: str) -> None:
    assert server.ask(request("GET", "/api/v1/pid", host=host.format(port=server.port))).status == 200


@pytest.mark.parametrize("path", ["/", "/api/v1/pid", "/nope"])
@pytest.mark.parametrize("host", FOREIGN)
def test_other_hosts_are_refused_everywhere(server: TinyServer, host: str, path: str) -> None:
    answer = server.ask(request("GET", path, host=host))
    assert (answer.status, answer.code) == (403, "FORBIDDEN")


@pytest.mark.parametrize("headers", [["Host: localhost", "Host: localhost"], []], ids=["two hosts", "no host"])
def test_a_request_names_one_host(server: TinyServer, headers: list[str]) -> None:
    answer = server.ask(request("GET", "/api/v1/pid", *headers, host=""))
    assert answer.status in {400, 403}
    assert answer.code in {"FORBIDDEN", "VALIDATION_ERROR"}


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
@pytest.mark.parametrize("host", ["evil.example", "10.0.0.7:8080", "localhost@evil"])
def test_probes_answer_any_host(server: TinyServer, path: str, host: str) -> None:
    assert server.ask(request("GET", path, host=host)).status == 200


@pytest.mark.parametrize(
    "headers",
    [
        ["Origin: http://evil.example"],
        ["Origin: null"],
        ["Origin: http://localhost:1"],
        ["Origin: http://localhost", "Origin: http://localhost"],
        ["Origin: ftp://localhost"],
        ["Sec-Fetch-Site: cross-site"],
        ["Origin: http://localhost", "Sec-Fetch-Site: cross-site"],
    ],
)
def test_pages_of_other_origins_may_not_write(server: TinyServer, headers: list[str]) -> None:
    assert server.ask(post(*headers)).code == "FORBIDDEN"


def test_a_form_of_another_page_is_refused(server: TinyServer) -> None:
    form = request("POST", "/api/v1/options", body=b'{"force":true}', content_type="text/plain")
    assert server.ask(form).code == "UNSUPPORTED_MEDIA_TYPE"


@pytest.mark.parametrize("headers", [[], ["Origin: http://localhost"], ["Sec-Fetch-Site: same-origin"]])
def test_programs_and_our_own_pages_may_write(server: TinyServer, headers: list[str]) -> None:
    assert server.ask(post(*headers)).status == 200


@pytest.mark.parametrize("method", ["GET", "OPTIONS"])
def test_a_foreign_origin_is_told_nothing(server: TinyServer, method: str) -> None:
    asked = request(
        method,
        "/api/v1/pid",
        "Origin: http://evil.example",
        "Access-Control-Request-Method: POST",
        "Access-Control-Request-Private-Network: true",
    )
    assert not [name for name in server.ask(asked).headers if name.startswith("access-control")]


def test_a_page_of_an_allowed_origin_may_write_and_read(shared: TinyServer) -> None:
    answer = shared.ask(post("Origin: https://app.example", "Sec-Fetch-Site: cross-site"))
    assert answer.status == 200
    assert answer.headers["access-control-allow-origin"] == "https://app.example"
    assert answer.headers["vary"] == "Origin"
    assert "access-control-allow-credentials" not in answer.headers


def test_a_preflight_of_an_allowed_origin_is_answered(shared: TinyServer) -> None:
    headers = ["Origin: https://app.example", "Access-Control-Request-Method: PUT"]
    answer = shared.ask(request("OPTIONS", "/api/v1/things/pdf", *headers))
    assert answer.status == 204
    assert "PUT" in answer.headers["access-control-allow-methods"]
    assert "content-type" in answer.headers["access-control-allow-headers"]


def test_the_other_origins_still_may_not_write(shared: TinyServer) -> None:
    answer = shared.ask(post("Origin: https://app.example.evil"))
    assert answer.code == "FORBIDDEN"
    assert "access-control-allow-origin" not in answer.headers


def test_any_origin_may_read_where_all_are_allowed_and_none_may_write() -> None:
    with tiny_server(origins=["*"]) as server:
        answer = server.get("/api/v1/pid", "Origin: https://any.example")
        assert answer.headers["access-control-allow-origin"] == "*"
        assert server.ask(post("Origin: https://any.example")).code == "FORBIDDEN"


@pytest.mark.parametrize(("host", "status"), [("10.0.0.7:8080", 200), ("localhost", 200), ("evil.example", 403)])
def test_on_every_address_an_address_is_a_host_of_ours(shared: TinyServer, host: str, status: int) -> None:
    assert shared.ask(request("GET", "/api/v1/pid", host=host)).status == status


def asked(server: RunningServer, method: str, path: str, host: str) -> int:
    headers = {"Host": host, "Origin": f"http://{host}"}
    url = f"http://127.0.0.1:{server.http.base_url.port}{path}"
    body = {"role": "admin"} if method == "POST" else None
    return server.http.request(method, url, headers=headers, json=body).status_code


OPEN = {
    "open issuer": (("--auth-issuer", "open"), ("POST", "/auth/token")),
    "anonymous reading": (("--auth-anonymous-read",), ("GET", "/api/v1/skills")),
}


@pytest.mark.parametrize(("setting", "call"), OPEN.values(), ids=OPEN)
def test_no_page_of_another_name_reaches_what_needs_no_credential(
    tmp_path: Path, setting: tuple[str, ...], call: tuple[str, str]
) -> None:
    reachable = ("--profile", "registry", "--host", "0.0.0.0", *setting)
    with RunningServer(tmp_path, *reachable) as server:
        assert asked(server, *call, "evil.example") == 403
        assert asked(server, *call, "127.0.0.1") == 200
        assert "set server.public_url or server.allowed_hosts to the names in use" in server.log.read_text()
    server.log.write_text("")
    with RunningServer(tmp_path, *reachable, "--public-url", "https://skills.example") as server:
        assert asked(server, *call, "evil.example") == 403
        assert asked(server, *call, "skills.example") == 200
        assert "to the names in use" not in server.log.read_text()


def test_a_registry_whose_requests_all_need_a_credential_answers_any_name(tmp_path: Path) -> None:
    with RunningServer(tmp_path, "--profile", "registry", "--host", "0.0.0.0") as server:
        assert asked(server, "GET", "/api/v1/skills", "skills.example") == 401
        assert "to the names in use" not in server.log.read_text()
