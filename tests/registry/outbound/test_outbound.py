"""The outgoing client with real servers: its addresses, time limits and size limits."""

import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from registry.outbound import (
    AddressPolicy,
    Authorities,
    Credential,
    Interruption,
    OutboundClient,
    OutboundError,
    StatusError,
    Validators,
    parse_url,
    redact_url,
)
from support import slow_answers, web_server
from support.waiting import PATIENCE_SECONDS
from support.web_server import WebServer, redirect, reply

PRIVATE = [
    *("127.0.0.1", "169.254.169.254", "10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1", "0.0.0.0", "224.0.0.1"),
    *("198.18.0.1", "192.0.2.1", "255.255.255.255", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[fe80::1]", "[fd00::1]"),
    *("[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[2001:0:7f00:1::]", "[2001:db8::1]", "[ff02::1]", "[::127.0.0.1]"),
    *("2130706433", "127.1", "0x7f.1", "0177.0.0.1", "0x7f000001", "127.0.0.1.", "localhost", "①②⑦.0.0.1"),
]


@pytest.fixture
def web() -> Iterator[WebServer]:
    with WebServer() as server:
        yield server


def client(*allowed: str, **options: object) -> OutboundClient:
    return OutboundClient(AddressPolicy(allowed, **options))  # type: ignore[arg-type]


def refusal(outbound: OutboundClient, url: str, limit: int = 1000, seconds: float = 10) -> str:
    with pytest.raises(OutboundError) as error:
        outbound.get(url, limit=limit, seconds=seconds)
    return str(error.value)


@pytest.mark.parametrize("host", PRIVATE)
def test_private_addresses_are_refused_in_every_spelling(web: WebServer, host: str) -> None:
    refusal(client(), f"http://{host}:{web.port}/")
    assert web.connections == 0


@pytest.mark.parametrize(
    "url",
    [
        *("file:///etc/passwd", "ftp://example.org/", "gopher://127.0.0.1/", "//example.org/", "example.org", ""),
        *("http:///path", "http://", "https://exa mple.org/", "http://example.org/\n", "http://a\\@example.org/"),
        *("http://example.org:99999/", "http://[::1", "http://%31.0.0.1/", "javascript:alert(1)"),
    ],
)
def test_a_malformed_url_is_refused(url: str) -> None:
    with pytest.raises(OutboundError):
        parse_url(url)


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111"])
def test_public_addresses_are_allowed(address: str) -> None:
    assert AddressPolicy(resolve=lambda host, port: [address]).addresses("public.example", 443) == [address]


@pytest.mark.parametrize("addresses", [["8.8.8.8", "10.0.0.1"], ["fe80::1%eth0"], []])
def test_a_name_with_one_private_address_is_refused(addresses: Sequence[str]) -> None:
    with pytest.raises(OutboundError):
        AddressPolicy(resolve=lambda host, port: addresses).addresses("mixed.example", 443)


@pytest.mark.parametrize("allowed", ["127.0.0.1", "127.0.0.1:{port}", "127.0.0.0/8"])
def test_an_allowed_private_address_is_reached(web: WebServer, allowed: str) -> None:
    web.answers["/"] = reply(b"hello")
    answer = client(allowed.format(port=web.port)).get(f"{web.url}/", limit=5, seconds=10)
    assert answer.body == b"hello"


def test_allowing_one_port_allows_no_other(web: WebServer) -> None:
    refusal(client("127.0.0.1:1"), web.url)
    assert web.connections == 0


def test_the_client_connects_to_the_checked_address(web: WebServer) -> None:
    web.answers["/"] = reply(b"first")
    looked_up = []

    def resolve(host: str, port: int) -> Sequence[str]:
        looked_up.append(host)
        return ["127.0.0.1"] if len(looked_up) == 1 else ["127.0.0.2"]

    with socket.create_server(("127.0.0.2", web.port)) as other:
        other.settimeout(0.1)
        outbound = client("127.0.0.1/32", resolve=resolve)
        assert outbound.get(f"http://rebound.example:{web.port}/", limit=10, seconds=10).body == b"first"
        assert looked_up == ["rebound.example"]
        assert "not on the public network" in refusal(outbound, f"http://rebound.example:{web.port}/")
        with pytest.raises(TimeoutError):
            other.accept()
    assert web.requests[0][1]["Host"] == f"rebound.example:{web.port}"


def test_the_next_address_is_tried_if_one_does_not_answer(web: WebServer) -> None:
    web.answers["/"] = reply(b"second")
    outbound = client("127.0.0.0/8", resolve=lambda host, port: ["127.0.0.9", "127.0.0.1"])
    assert outbound.get(f"http://two.example:{web.port}/", limit=10, seconds=10).body == b"second"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_a_private_address_is_refused(web: WebServer, status: int) -> None:
    with WebServer({"/": reply(b"secret")}) as inner:
        web.answers["/"] = redirect(f"{inner.url}/", status)
        assert "not on the public network" in refusal(client(web.host), web.url)
        assert inner.connections == 0


def test_at_most_five_redirects_are_followed(web: WebServer) -> None:
    web.answers |= {f"/{number}": redirect(f"/{number + 1}") for number in range(6)}
    web.answers["/6"] = reply(b"end")
    outbound = client(web.host)
    assert outbound.get(f"{web.url}/1", limit=3, seconds=10) == (f"{web.url}/6", b"end", Validators())
    assert "redirected more than 5 times" in refusal(outbound, f"{web.url}/0")


@pytest.mark.parametrize("location", ["file:///etc/passwd", "http://", "", "//[", "http://127.1/"])
def test_a_redirect_to_an_invalid_url_is_refused(web: WebServer, location: str) -> None:
    web.answers["/"] = redirect(location)
    refusal(client(web.host), web.url)


def test_credentials_are_sent_to_their_own_host_only_and_never_shown(web: WebServer) -> None:
    with WebServer({"/there": reply(b"there")}) as other:
        web.answers |= {"/": redirect("/here"), "/here": redirect(f"{other.url}/there")}
        url = f"http://ada:canary@{web.host}/?token=canary"
        web.answers["/?token=canary"] = redirect("/here")
        assert client(web.host, other.host).get(url, limit=9, seconds=10).body == b"there"
        assert [request[1].get("Authorization") for request in web.requests] == ["Basic YWRhOmNhbmFyeQ=="] * 2
        assert "Authorization" not in other.requests[0][1]
        assert "canary" not in refusal(client(web.host), url) + refusal(client(), url) + redact_url(url)


@pytest.mark.parametrize(("secret", "header"), [("sk_canary", "x-api-key"), ("canary", "Authorization")])
def test_an_api_key_or_token_is_sent_to_its_own_origin_only(
    web: WebServer, tmp_path: Path, secret: str, header: str
) -> None:
    with WebServer() as other:
        web.answers |= {"/": redirect("/here"), "/here": reply(b"here"), "/away": redirect(f"{other.url}/back")}
        other.answers["/back"] = redirect(f"{web.url}/here")
        outbound, credential = client(web.host, other.host), Credential(web.url, secret)
        outbound.get(web.url, limit=9, seconds=10, credential=credential)
        assert [secret in request[1].get(header, "") for request in web.requests] == [True, True]
        outbound.download(f"{web.url}/away", tmp_path / "package.zip", limit=9, seconds=10, credential=credential)
        assert [secret in request[1].get(header, "") for request in web.requests] == [True, True, True, False]
        outbound.get(f"{other.url}/back", limit=9, seconds=10, credential=credential)
        assert "canary" not in str(other.requests)
        assert "canary" not in f"{credential} {credential!r}" + refusal(outbound, f"{web.url}/absent")


@pytest.mark.parametrize("secret", ["", "canary\r\nX-Other: 1", "canary\x00", "canäry"])
def test_a_credential_that_no_header_can_carry_is_refused_without_showing_it(secret: str) -> None:
    with pytest.raises(OutboundError) as error:
        Credential("https://example.org", secret)
    assert "can" not in str(error.value).removesuffix("can carry")


def test_another_thread_can_end_a_request_that_waits(web: WebServer) -> None:
    arrived = threading.Event()

    def wait(request: web_server.Request) -> None:
        arrived.set()
        slow_answers.silence(request)

    web.answers["/"] = wait
    interruption = Interruption()

    def interrupt() -> None:
        arrived.wait()
        interruption.set()

    ended = threading.Thread(target=interrupt)
    ended.start()
    for _ in range(2):  # it stays set
        with pytest.raises(OutboundError):
            client(web.host).get(web.url, limit=10, seconds=PATIENCE_SECONDS, interruption=interruption)
    ended.join()


@pytest.mark.parametrize("answer", [slow_answers.silence, slow_answers.drip, slow_answers.drip_header])
def test_a_slow_response_times_out(web: WebServer, answer: web_server.Answer) -> None:
    web.answers["/"] = answer
    assert "did not answer in time" in refusal(client(web.host), web.url, limit=10_000, seconds=0.3)


def test_a_response_that_is_too_large_is_refused_whatever_its_announced_length(web: WebServer, tmp_path: Path) -> None:
    web.answers["/"] = web_server.flood
    outbound = client(web.host)
    assert "larger than 1,000 bytes" in refusal(outbound, web.url)
    with pytest.raises(OutboundError, match="larger"):
        outbound.download(web.url, tmp_path / "package.zip", limit=100_000, seconds=10)
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_downloaded_whole(web: WebServer, tmp_path: Path) -> None:
    content = bytes(range(256)) * 1000
    web.answers["/package.zip"] = reply(content)
    client(web.host).download(f"{web.url}/package.zip", tmp_path / "package.zip", limit=len(content), seconds=10)
    assert (tmp_path / "package.zip").read_bytes() == content


@pytest.mark.parametrize("status", [204, 304, 400, 404, 500])
def test_any_other_status_is_reported(web: WebServer, status: int) -> None:
    web.answers["/"] = reply(b"", status)
    with pytest.raises(StatusError, match=str(status)) as error:
        client(web.host).get(web.url, limit=10, seconds=10)
    assert error.value.status == status


def test_a_compressed_body_is_refused(web: WebServer) -> None:
    web.answers["/"] = reply(b"x", Content_Encoding="gzip")
    assert "compressed" in refusal(client(web.host), web.url)


def test_an_unchanged_document_is_not_fetched_again(web: WebServer) -> None:
    web.answers["/"] = reply(b"new", ETag='"one"')
    outbound = client(web.host)
    first = outbound.get(web.url, limit=10, seconds=10)
    web.answers["/"] = reply(b"", 304)
    again = outbound.get(web.url, limit=10, seconds=10, known=first.validators)
    assert (again.body, again.validators) == (None, Validators('"one"'))
    assert web.requests[1][1]["If-None-Match"] == '"one"'


def test_the_certificate_must_match_the_name(web: WebServer, tmp_path: Path) -> None:
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    openssl = shutil.which("openssl")
    assert openssl, "the tests need openssl"
    names = ("-subj", "/CN=named.example", "-addext", "subjectAltName=DNS:named.example")
    command = (openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", str(key), "-out", str(certificate))
    subprocess.run([*command, *names], check=True, capture_output=True)
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_side.load_cert_chain(certificate, key)
    web.server.socket = server_side.wrap_socket(web.server.socket, server_side=True)
    web.answers["/"] = reply(b"safe")
    policy = AddressPolicy(["127.0.0.1/32"], lambda host, port: ["127.0.0.1"])
    outbound = OutboundClient(policy, Authorities(certificate))
    assert outbound.get(f"https://named.example:{web.port}/", limit=10, seconds=10).body == b"safe"
    assert "certificate" in refusal(outbound, f"https://other.example:{web.port}/")
    assert "certificate" in refusal(OutboundClient(policy), f"https://named.example:{web.port}/")
