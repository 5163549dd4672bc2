"""The HTTP client of the commands: where the credential goes, redirects, uploads and errors."""

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from registry.cli.backend import CommandFailed
from registry.cli.remote.client import ConnectionFailed, RegistryClient
from support.commands import Done
from support.nginx import Nginx
from support.web_server import Answer, Request, WebServer, redirect, reply

OK = reply(b'{"success": true, "data": {"skills": 1}}')


@pytest.fixture
def web() -> Iterator[WebServer]:
    with WebServer() as running:
        yield running


@pytest.fixture
def other() -> Iterator[WebServer]:
    with WebServer() as running:
        yield running


@pytest.mark.parametrize(
    ("credential", "header"), [("sk_id_canary", ("x-api-key", "sk_id_canary")), ("t", ("authorization", "Bearer t"))]
)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_within_the_origin_is_followed_with_the_credential(
    web: WebServer, credential: str, header: tuple[str, str], status: int
) -> None:
    web.answers |= {"/api/v1/status": redirect(f"{web.url}/moved", status), "/moved": redirect("/again"), "/again": OK}
    with RegistryClient(web.url, credential) as client:
        assert client.call(dict, "GET", "/api/v1/status") == {"skills": 1}
    paths, headers = zip(*web.requests, strict=True)
    assert paths == ("/api/v1/status", "/moved", "/again")
    assert all(header in {name.lower(): value for name, value in sent.items()}.items() for sent in headers)


@pytest.mark.parametrize("credential", ["sk_id_canary", "canary"])
def test_a_redirect_to_another_origin_is_refused_and_sends_nothing(
    web: WebServer, other: WebServer, credential: str
) -> None:
    for location in (f"{other.url}/x", f"//{other.host}/x", f"http://user@{other.host}/x"):
        web.answers["/api/v1/status"] = redirect(location)
        with RegistryClient(web.url, credential) as client, pytest.raises(CommandFailed) as caught:
            client.call(dict, "GET", "/api/v1/status")
        assert str(caught.value).startswith(f"the server redirects to {other.url}:")
    assert other.connections == 0


@pytest.mark.parametrize(
    "location",
    ["https://127.0.0.1/x", "http://localhost/x", "file:///etc/passwd", "http://[", "http://xn--/", "http:///"],
)
def test_a_redirect_to_a_strange_place_is_one_error(web: WebServer, location: str) -> None:
    web.answers["/api/v1/status"] = redirect(location)
    with RegistryClient(web.url, "canary") as client, pytest.raises(CommandFailed) as caught:
        client.call(dict, "GET", "/api/v1/status")
    assert "canary" not in str(caught.value)


def test_redirects_without_end_are_given_up(web: WebServer) -> None:
    web.answers["/api/v1/status"] = redirect("/api/v1/status")
    with RegistryClient(web.url) as client, pytest.raises(CommandFailed, match="redirects more than"):
        client.call(dict, "GET", "/api/v1/status")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (reply(b'{"error": {"message": "No.", "details": []}}', 409), "No."),
        (
            reply(b'{"error": {"message": "x (and 1 more)", "details": [{"field": "x", "message": "is bad"}]}}', 400),
            "x: is bad",
        ),
        (reply(b"<html>", 502), "the server answered 502 Bad Gateway"),
        (reply(b'{"error": []}', 500), "the server answered 500 Internal Server Error"),
        (reply(b"<html>"), "does not answer as a skill registry"),
        (reply(b"[]"), "does not answer as a skill registry"),
        (reply(b'{"data": ' + b"[" * 100_000), "does not answer as a skill registry"),
        (reply(b"[" * 100_000, 500), "the server answered 500 Internal Server Error"),
        (reply(b"\x1f\x8bnot gzip", Content_Encoding="gzip"), "compressed text, although"),
        (reply(b'{"error": {"message": "Sign in."}}', 401), "Sign in.; 'skill-registry login --server "),
    ],
)
def test_an_error_is_one_line_from_the_server_or_about_it(web: WebServer, answer: Answer, message: str) -> None:
    web.answers["/api/v1/status"] = answer
    with RegistryClient(web.url) as client, pytest.raises(CommandFailed) as caught:
        client.call(dict, "GET", "/api/v1/status")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "url", ["http://h:99999", "http://h:x", "http://[::1", "http://", "ftp://h", "h:80", "http://xn--", "http://h\n/"]
)
def test_what_is_not_the_url_of_a_server_is_refused(url: str) -> None:
    with pytest.raises(CommandFailed, match="not an http"):
        RegistryClient(url)


def test_a_password_in_the_url_is_refused_and_not_shown() -> None:
    with pytest.raises(CommandFailed) as caught:
        RegistryClient("http://user:canary@127.0.0.1")
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("credential", ["canary\r\nX-Evil: 1", "canary\x00", "canarý"])
def test_a_credential_that_no_header_carries_is_refused_and_not_shown(credential: str) -> None:
    with pytest.raises(CommandFailed) as caught:
        RegistryClient("http://127.0.0.1", credential)
    assert "canar" not in str(caught.value)


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:9", "ftp://127.0.0.1:9", "http://127.0.0.1:x"])
def test_a_proxy_that_cannot_be_used_is_named_as_the_cause(monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    with pytest.raises(CommandFailed, match="proxy"):
        RegistryClient("http://127.0.0.1")


def test_an_upload_starts_at_the_beginning_of_the_file_each_time(web: WebServer) -> None:
    def cut(request: Request) -> None:
        web.answers[request.path] = OK
        request.close_connection = True

    package = io.BytesIO(b"package " * 50_000)
    web.answers["/api/v1/publish"] = cut
    with RegistryClient(web.url) as client:
        with pytest.raises(ConnectionFailed):
            client.upload(dict, "/api/v1/publish", package, {"Idempotency-Key": "k"})
        assert client.upload(dict, "/api/v1/publish", package, {"Idempotency-Key": "k"}) == {"skills": 1}
    assert [package.getvalue() in body for _, body in web.posted] == [True, True]
    assert {headers["Idempotency-Key"] for headers, _ in web.posted} == {"k"}


def test_a_proxy_that_takes_no_package_of_this_size_is_named_with_the_size(web: WebServer, tmp_path: Path) -> None:
    package = io.BytesIO(bytes(2_000_000))
    refused = r"proxy before it, accepts no package of this size \(413\): as it is sent, it has 2,000,\d{3} bytes"
    with Nginx(tmp_path / "nginx").start(web.url, strips=True) as proxy, RegistryClient(proxy.url) as client:
        with pytest.raises(CommandFailed, match=refused):
            client.upload(dict, "/api/v1/publish", package, {"Idempotency-Key": "k"})
        with pytest.raises(CommandFailed, match=r"accepts no request of this size \(413\): .* 2,000,\d{3} bytes"):
            client.call(dict, "POST", "/api/v1/skills", {"content": "x" * 2_000_000})
    assert web.posted == []


def test_a_message_of_a_server_cannot_control_the_terminal(web: WebServer, tmp_path: Path) -> None:
    error = {"error": {"message": "bad\x1b[2J\nskill-registry: all is well"}}
    web.answers["/api/v1/status"] = reply(json.dumps(error).encode(), 400)
    done = Done(tmp_path, "status", "--server", web.url)
    done.complains(1, "bad")
    assert "\x1b" not in done.error
