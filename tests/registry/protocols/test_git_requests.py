"""Requests that no git makes: the git view refuses them with a reason, and answers whatever follows."""

import gzip
import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.errors import RegistryError
from registry.protocols.git.requests import MAX_BODY, decompressed, parse_request
from support.servers import RunningServer, write_skill

HEAD = "0123456789abcdef0123456789abcdef01234567"
REQUEST = f"0032want {HEAD}\n00000009done\n".encode()


def packet(text: str) -> bytes:
    return f"{len(text) + 4:04x}{text}".encode()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder: Path = tmp_path_factory.mktemp("view")
    write_skill(folder / "skills", "whittle", "Carves spoons with great care.")
    with RunningServer(folder) as running:
        yield running


def head(server: RunningServer) -> str:
    answer = server.http.get("/git/whittle.git/info/refs?service=git-upload-pack")
    return answer.text.splitlines()[1][8:48]


def ask(server: RunningServer, body: bytes, repository: str = "whittle", **headers: str) -> httpx.Response:
    return server.http.post(f"/git/{repository}.git/git-upload-pack", content=body, headers=headers)


def reason(answer: httpx.Response) -> str:
    assert answer.status_code == 200, answer.text
    assert answer.headers["Content-Type"] == "application/x-git-upload-pack-result"
    assert int(answer.text[:4], 16) == len(answer.content)
    assert answer.text[4:8] == "ERR "
    return answer.text[8:]


@given(st.binary(max_size=200))
def test_any_body_is_understood_or_refused(body: bytes) -> None:
    for read, text in ((parse_request, body), (parse_request, REQUEST + body), (decompressed, body)):
        with suppress(RegistryError):  # nothing else is raised
            read(text)


@pytest.mark.parametrize(
    ("body", "word"),
    [
        (b"x", "not complete"),
        (b"0005", "not complete"),
        (b"0001", "length"),
        (b"fff5", "not complete"),
        (b"+032want", "length"),
        (packet("want x\n"), "want"),
        (packet("hello\n") + b"0000", "want"),
        (packet(f"want {HEAD}\n") + packet("deepen-since 1\n") + b"0000", "deepen"),
        (packet(f"want {HEAD}\n") + packet("filter blob:none\n") + b"0000", "want"),
        (packet(f"want {HEAD}\n") + b"0000" + packet("has x\n"), "have"),
        (packet(f"want {HEAD}\n") + b"0000" + packet("done\n"), f"not our ref {HEAD}"),
        (packet(f"have {HEAD}\n") * 2000, "65,536 bytes"),
    ],
)
def test_a_request_that_breaks_a_rule_is_refused_with_the_reason(server: RunningServer, body: bytes, word: str) -> None:
    for repository in ("whittle", "marketplace"):
        assert word in reason(ask(server, body, repository))


def test_compressed_bodies_are_read_and_bombs_are_not(server: RunningServer) -> None:
    body = REQUEST.replace(HEAD.encode(), head(server).encode())
    answer = ask(server, gzip.compress(body), **{"Content-Encoding": "gzip"})
    assert answer.content.startswith(b"0008NAK\nPACK")
    assert answer.content == ask(server, body).content
    bomb = gzip.compress(bytes(50 << 20))
    assert len(bomb) < MAX_BODY
    assert "65,536 bytes" in reason(ask(server, bomb, **{"Content-Encoding": "gzip"}))
    for broken in (b"", b"x", gzip.compress(body)[:-9], gzip.compress(body) * 2, body):
        assert "gzip" in reason(ask(server, broken, **{"Content-Encoding": "gzip"}))
    assert "ompressed" in reason(ask(server, body, **{"Content-Encoding": "br"}))


def test_a_client_that_does_not_want_the_pack_yet_gets_none(server: RunningServer) -> None:
    want = packet(f"want {head(server)} side-band-64k\n")
    have = packet(f"have {HEAD}\n")
    assert ask(server, b"0000").content == b"0000"
    assert ask(server, b"").content == b"0000"
    assert ask(server, want + packet("deepen 1\n") + b"0000").content == b"0000"
    assert ask(server, want + b"0000" + have + b"0000").content == b"0008NAK\n"
    answer = ask(server, want + packet("deepen 1\n") + b"0000" + have + packet("done\n")).content
    assert answer.startswith(b"00000008NAK\n")
    assert answer[16:21] == b"\x01PACK"
    assert answer.endswith(b"0000")


@pytest.mark.parametrize("query", ["", "?service=", "?service=git-upload-archive", "?service=x&service=y", "?x=%FF"])
def test_another_service_is_a_plain_400(server: RunningServer, query: str) -> None:
    answer = server.http.get(f"/git/whittle.git/info/refs{query}")
    assert (answer.status_code, answer.headers["Content-Type"].partition(";")[0]) == (400, "text/plain")


@pytest.mark.parametrize(
    "name",
    [
        "..", "%2e%2e", "a%2fb%2fc", "%00", "@", "@.git", "@@", "@acme%2fx", ".git", "marketplace.git.git", "é", "%ff",
        "@..", "x" * 2000, "acme/whittle", "acme/../whittle", "whittle/1.0.0", "a/b/c", "a/b/..",
    ],
)  # fmt: skip
def test_addresses_that_no_repository_has_are_refused(server: RunningServer, name: str) -> None:
    for path in (f"/git/{name}/info/refs?service=git-upload-pack", f"/git/{name}.git/git-upload-pack"):
        body = None if "?" in path else REQUEST
        answer = server.http.request("GET" if body is None else "POST", path, content=body)
        assert answer.status_code in (200, 400, 404), answer.text
        if answer.status_code == 200:
            assert b"ERR " in answer.content


def test_random_requests_change_nothing(server: RunningServer) -> None:
    rng = random.Random(1)
    before = head(server), server.http.get("/tree/index.json").content
    parts = [
        b"0000",
        b"0001",
        packet(f"want {before[0]}\n"),
        packet("done\n"),
        packet(f"have {HEAD}\n"),
        b"\xff",
        b"00",
    ]
    for _ in range(200):
        body = b"".join(rng.choices(parts, k=rng.randint(0, 8)))
        encoding = {"Content-Encoding": "gzip"} if rng.random() < 0.3 else {}
        answer = ask(server, body if rng.random() < 0.5 else gzip.compress(body), **encoding)
        assert answer.status_code == 200
    assert (head(server), server.http.get("/tree/index.json").content) == before
