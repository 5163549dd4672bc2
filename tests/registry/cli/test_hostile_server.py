"""Commands against a server that is hostile: wrong shapes, no end, compression, and texts that control a terminal."""

import gzip
import json
import os
import re
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from registry.cli.credentials import Login, Logins
from registry.cli.main import main
from registry.cli.publishing import sending as publishing
from registry.cli.remote import backend
from registry.cli.remote.client import Limits, RegistryClient
from registry.config.groups import ClientSettings
from support.commands import WORDS_ONLY, Done
from support.hostile_registry import (
    Handler,
    HostileRegistry,
    Writer,
    honest,
    places,
    replaced,
    send,
    sending,
    texts_replaced,
)
from support.publishing import skill_package
from support.servers import COMMAND
from support.terminal import on_terminal, plain

COMMANDS = (
    ("search", "pdf"),
    ("search", "pdf", "--explain"),
    ("list",),
    ("show", "acme/pdf"),
    ("show", "acme/pdf", "--content"),
    ("show", "acme/pdf@1.0.0"),
    ("versions", "acme/pdf"),
    ("outdated",),
    ("status",),
    ("sources", "list"),
    ("sources", "add", "team", "https://example.org/x.git"),
    ("sources", "remove", "team"),
    ("sources", "refresh"),
    ("reindex",),
    ("generate-mdc",),
    ("install", "acme/pdf"),
    ("uninstall", "acme/pdf"),
    ("upgrade",),
    ("upgrade", "acme/pdf"),
    ("import", "lines.ndjson"),
    ("login", "--api-key"),
    ("logout",),
    ("publish", "package.zip"),
    ("yank", "acme/pdf@1.0.0"),
    ("unyank", "acme/pdf@1.0.0"),
)
"""Every command that talks to a server, but `mcp`, `doctor` and `conformance`."""

WHOLE = (
    *(b"", b"null", b"[]", b"{}", b"7", b'"x"', b"NaN", b"<html>", b"\xff", b'{"data":null}', b'{"data":[]}'),
    *(b'{"data":{}}', b'{"data":7}', b'{"data":NaN}', b'{"data":[null]}', b'{"data":[[]]}', b'{"data":1e999}'),
    *(b'{"data":' + b"[" * 900 + b"]" * 900 + b"}", b'{"data":' + b'{"a":' * 100_000, b"[" * 200_000),
    b'{"data":[' + b"0," * 1_000_000 + b"0]}",
    b'{"data":"\\ud800"}',
)
PARTS: tuple[Any, ...] = (None, [], {}, "\x1b]0;x\x07", -1, 10**400, [None], {"a": None}, [[]])


@pytest.fixture(scope="module")
def server() -> Iterator[HostileRegistry]:
    with HostileRegistry() as running:
        yield running


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in a folder with something to send, with a login, and without patience."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith(("SKILL_", "OPENAI"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(publishing, "_JOB_SECONDS", -1.0)
    monkeypatch.setattr(publishing, "_POLL_SECONDS", 0.0)
    monkeypatch.setattr(publishing, "_PAUSES", ())
    monkeypatch.setattr(backend, "_STALLED_SECONDS", -1.0)
    monkeypatch.setattr(backend, "_POLL_SECONDS", 0.0)
    Path("lines.ndjson").write_text('{"name": "a", "description": "b"}\n')
    Path("package.zip").write_bytes(skill_package("pdf"))


def logins() -> Logins:
    return Logins(Path("config") / "skill-registry" / "logins.json", ClientSettings())


def run(server: HostileRegistry, *args: str, **env: str) -> Result:
    """Run a command in this process."""
    logins().store(server.url, Login(token="t", expires_at="2999-01-01T00:00:00Z"))
    server.routes.clear()
    return CliRunner().invoke(main, [*args, "--server", server.url], env=WORDS_ONLY | env, input="key\n")


def check(result: Result, *what: Any) -> None:
    """Assert that a command has ended by itself, and says in one line why if it failed."""
    assert result.exception is None or isinstance(result.exception, SystemExit), (what, result.exc_info)
    assert result.exit_code in (0, 1, 3), (what, result.exit_code, result.output)
    if "--content" not in what[0]:  # which is as it is in a pipe
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", result.output), what
    if result.exit_code == 1 and not result.stdout:
        errors = [line for line in result.stderr.splitlines() if not line.startswith("skill-registry: warning: ")]
        assert len(errors) == 1, (what, result.stderr)


def test_every_command_works_with_an_honest_server(server: HostileRegistry) -> None:
    server.write = server.answer_honestly
    for args in COMMANDS:
        result = run(server, *args)
        check(result, args)
        assert server.routes, args
        assert result.exit_code == (1 if args[0] in ("reindex", "import") else 0), (args, result.output)


@pytest.mark.parametrize("args", COMMANDS, ids=" ".join)
def test_what_is_no_answer_is_one_line(server: HostileRegistry, args: tuple[str, ...]) -> None:
    for body in WHOLE:
        server.write = sending(body, 200 if body else 500)
        result = run(server, *args)
        check(result, args, body[:40])
        assert result.exit_code == 1 or b'"data"' in body, (args, body[:40])


@pytest.mark.parametrize("args", COMMANDS, ids=" ".join)
def test_one_wrong_value_is_one_line(server: HostileRegistry, args: tuple[str, ...]) -> None:
    server.write = server.answer_honestly
    run(server, *args)
    for number, route in enumerate(dict.fromkeys(server.routes)):
        answer = honest(route)
        for place in places(answer):
            for part in PARTS:
                body = json.dumps(replaced(answer, place, part)).encode()
                server.write = one_wrong(route, body)
                check(run(server, *args, *(["--json"] if number % 2 else [])), args, route, place, part)


def one_wrong(route: str, body: bytes) -> Writer:
    def write(request: Handler) -> None:
        asked = f"{request.command} {request.path}"
        send(request, body if asked == route else json.dumps(honest(asked)).encode())

    return write


@pytest.mark.parametrize("name", ["drip", "drip_head"])
@pytest.mark.parametrize("args", COMMANDS, ids=" ".join)
def test_an_answer_that_never_ends_is_given_up(server: HostileRegistry, args: tuple[str, ...], name: str) -> None:
    server.write = getattr(server, name)
    result = run(server, *args, SKILL_REGISTRY_CLIENT_ANSWER_SECONDS="0.01")
    check(result, args)
    assert result.exit_code == 1
    assert "in time" in result.output


@pytest.mark.parametrize("args", COMMANDS, ids=" ".join)
def test_a_large_answer_is_refused(server: HostileRegistry, args: tuple[str, ...]) -> None:
    server.write = server.flood
    result = run(server, *args, SKILL_REGISTRY_CLIENT_ANSWER_BYTES="100000")
    check(result, args)
    assert (result.exit_code, "more than 100,000 bytes" in result.output) == (1, True)


@pytest.mark.parametrize("coding", ["gzip", "gzip, gzip", "deflate", "br", "x", "identity, gzip"])
def test_compression_is_refused(server: HostileRegistry, coding: str) -> None:
    body = gzip.compress(json.dumps(honest("GET /api/v1/status")).encode())
    server.write = sending(body, Content_Encoding=coding)
    for args in COMMANDS:
        result = run(server, *args)
        check(result, args)
        assert (result.exit_code, "compressed" in result.output) == (1, True)


def test_conformance_reads_bounded_gzip(server: HostileRegistry) -> None:
    """It asks for gzip, because it tests that. What decompresses to more than the limit is refused unread."""
    bomb = zlib.compressobj(wbits=31)
    body = b"".join(bomb.compress(bytes(1 << 20)) for _ in range(64)) + bomb.flush()
    server.write = sending(body, Content_Encoding="gzip")
    result = run(server, "conformance", SKILL_REGISTRY_CLIENT_ANSWER_BYTES="1000000")
    assert (result.exit_code, "more than 1,000,000 bytes" in result.output) == (2, True)
    for writer in (sending(b"not gzip", Content_Encoding="gzip"), sending(b"x", Content_Encoding="gzip, gzip")):
        server.write = writer
        assert run(server, "conformance").exit_code == 2


def test_a_list_ends(server: HostileRegistry) -> None:
    card = honest("GET /api/v1/skills?")["data"][0]

    def full_pages(total: int) -> Writer:
        body = json.dumps({"data": [card] * 100, "pagination": {"total": total}}).encode()
        return sending(body)

    server.write = full_pages(250)
    assert len(json.loads(run(server, "list", "--json").stdout)["skills"]) == 250
    assert [route.partition("?")[2] for route in server.routes] == [
        f"limit={count}&offset={offset}" for count, offset in ((100, 0), (100, 100), (50, 200))
    ]
    server.write = full_pages(2**53)
    result = run(server, "list", SKILL_REGISTRY_CLIENT_ANSWER_BYTES="30000")
    check(result, ("list",))
    assert (result.exit_code, "--limit reads less" in result.output) == (1, True)
    assert len(server.routes) < 50
    assert len(json.loads(run(server, "list", "--json", "--limit", "5").stdout)["skills"]) == 5
    assert server.routes == ["GET /api/v1/skills?limit=5&offset=0"]


def test_an_upload_is_given_the_time_it_needs(server: HostileRegistry) -> None:
    """The time for the answer begins when the request is sent."""
    server.write = server.answer_honestly
    with Path("large").open("w+b") as package, RegistryClient(server.url, limits=Limits(seconds=5.0)) as client:
        package.truncate(20 << 20)
        assert client.upload(dict, "/api/v1/registry/publish", package, {}) == {"job_id": "j"}


def test_a_hostile_login_changes_nothing(server: HostileRegistry) -> None:
    Path("config/skill-registry").mkdir(parents=True, mode=0o700)
    logins().store("http://other.example", Login(token="kept", expires_at="2999-01-01T00:00:00Z"))
    tokens: tuple[Any, ...] = (5, "", None, "a\nb", "\x1b[m", "ä", ["t"], "t" * 20_000)
    for token in tokens:
        answer = {"token": token, "role": "user", "expires_at": "2999-01-01T00:00:00Z"}
        server.write = sending(json.dumps({"data": answer}).encode())
        result = CliRunner().invoke(main, ["login", "--api-key", "--server", server.url], input="key\n")
        check(result, ("login",), token)
        assert (result.exit_code, logins().servers()) == (1, ["http://other.example"]), token
    server.write = sending(b'{"data": {"token": "t", "role": "user", "expires_at": 5}}')
    assert CliRunner().invoke(main, ["login", "--api-key", "--server", server.url], input="key\n").exit_code == 1


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"http://bad": {"token": 5, "expires_at": "2999"}, "http://a": 7}', b"\xff"]
)
def test_a_broken_file_of_logins_is_set_aside(content: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    file = Path("config/skill-registry/logins.json")
    file.parent.mkdir(parents=True)
    good = Login(token="kept", expires_at="2999-01-01T00:00:00Z")
    if content.startswith(b'{"'):
        content = content[:-1] + b', "http://good": {"token": "kept", "expires_at": "2999-01-01T00:00:00Z"}}'
    file.write_bytes(content)
    file.chmod(0o600)
    found = logins().find("http://good")
    assert (found == good) == (b"good" in content)
    aside = file.with_name("logins.json.broken")
    assert (aside.read_bytes(), aside.stat().st_mode & 0o777, file.stat().st_mode & 0o777) == (content, 0o600, 0o600)
    assert "logins.json.broken" in capsys.readouterr().err
    logins().store("http://new", good)
    assert logins().find("http://good") == found
    assert capsys.readouterr().err == ""


ESCAPES = "\x1b]0;PWNED\x07\x1b]52;c;eA==\x07\x9b31m\u202e\u200b\U000e0041\x08[bold red]:bug:[/]"


@pytest.mark.parametrize("args", [*COMMANDS, ("search", "pdf", "--weak")], ids=" ".join)
def test_no_text_of_a_server_controls_a_terminal(
    server: HostileRegistry, args: tuple[str, ...], tmp_path: Path
) -> None:
    """The terminal is real, since colours and markup depend on it."""

    def write(request: Handler) -> None:
        asked = f"{request.command} {request.path}"
        answer = texts_replaced(honest(asked), ESCAPES)
        if "/auth/token" in asked:
            answer = honest(asked)
        send(request, json.dumps(answer).encode())

    server.write = write
    logins().store(server.url, Login(token="t", expires_at="2999-01-01T00:00:00Z"))
    environment = {**os.environ, **WORDS_ONLY, "SKILL_REGISTRY_CLIENT_API_KEY": "k", "COLUMNS": "300"}
    for extra in ((), ("--json",)) if args[0] in ("search", "status") else ((),):
        command = [COMMAND, *args, "--server", server.url, *extra]
        _, screen = on_terminal(command, tmp_path, environment)
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\u200b\U000e0041\U0001f41b]", plain(screen)), screen
        if args == ("status",):  # whose fields are as wide as the terminal, so that nothing is cut
            assert screen.count("[bold red]:bug:[/]") >= 6, screen


def test_json_with_hidden_characters_means_the_same(server: HostileRegistry) -> None:
    texts = texts_replaced(honest("GET /api/v1/status"), ESCAPES + "ä日\u3000本")
    server.write = sending(json.dumps(texts).encode())
    printed = run(server, "status", "--json").stdout
    assert json.loads(printed) == texts["data"]
    assert "ä日\u3000本" in printed


def test_numbers_have_no_colours(server: HostileRegistry, tmp_path: Path) -> None:
    server.write = server.answer_honestly
    environment = {**os.environ, **WORDS_ONLY}
    _, screen = on_terminal([COMMAND, "search", "pdf", "--explain", "--server", server.url], tmp_path, environment)
    assert set(re.findall(r"\x1b\[([0-9;]*)m", screen)) <= {"0", "1", "1;31", ""}, screen


MESSAGE = b'{"jsonrpc":"2.0","id":7,"method":"tools/list"}\n'
NOTIFICATION = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b'{"jsonrpc":"2.0",\n"id":7,\n"result":{"a":"b\\nc","n":1.50}}', "result"),
        (b'{"jsonrpc":"2.0","id":7,"result":{}}\n{"jsonrpc":"2.0","id":8,"result":{}}', "does not answer as an MCP"),
        (b'{"jsonrpc":"2.0","id":8,"result":{}}', "does not answer as an MCP"),
        (b'{"jsonrpc":"2.0","id":7}', "does not answer as an MCP"),
        (b'{"jsonrpc":"2.0","id":7,"result":{},"error":{"code":1,"message":"x"}}', "does not answer as an MCP"),
        (b'{"jsonrpc":"2.0","method":"sampling/createMessage","id":7}', "does not answer as an MCP"),
        (b'[{"jsonrpc":"2.0","id":7,"result":{}}]', "does not answer as an MCP"),
        (b"<html>\n<body>Hello</body>\n</html>", "does not answer as an MCP"),
        (b"", "does not answer as an MCP"),
        (b'{"jsonrpc":"2.0","id":7,"result":' + b"[" * 5_000, "does not answer as an MCP"),
        (b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"No\\nJSON"}}', "No\\nJSON"),
    ],
)
def test_an_agent_gets_one_message_for_each(server: HostileRegistry, body: bytes, says: str) -> None:
    server.write = sending(body)
    done = subprocess.run(
        [COMMAND, "mcp", "--server", server.url],
        input=MESSAGE + NOTIFICATION,
        capture_output=True,
        env={**os.environ, **WORDS_ONLY},
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout.count(b"\n")) == (0, 1), done.stderr
    answer = json.loads(done.stdout)
    assert (answer["jsonrpc"], answer["id"]) == ("2.0", 7)
    assert says in done.stdout.decode()


def test_an_agent_does_not_wait_for_ever(server: HostileRegistry, tmp_path: Path) -> None:
    server.write = server.drip
    done = Done(
        tmp_path,
        "mcp",
        "--server",
        server.url,
        stdin=MESSAGE.decode(),
        SKILL_REGISTRY_CLIENT_ANSWER_SECONDS="0.01",
    )
    assert "in time" in done.json["error"]["message"]
