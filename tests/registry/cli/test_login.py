"""Signing in once: the token is kept for one server, sent by the commands, and nobody else gets it."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from registry.cli.backend import CommandFailed
from registry.cli.credentials import Login, Logins, find_credential, server_name
from registry.config.groups import ClientSettings
from registry.config.settings import load_settings
from support.commands import Done, add_user
from support.publishing import Registry
from support.servers import write_skill


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with Registry(tmp_path_factory.mktemp("registry"), "--auth-issuer", "closed") as running:
        add_user(running.data_dir)
        yield running


def run(folder: Path, *args: str, stdin: str = "", **env: str) -> Done:
    return Done(folder, *args, stdin=stdin, **({"XDG_CONFIG_HOME": str(folder / "config")} | env))


def sign_in(folder: Path, registry: Registry) -> Done:
    flags = ("--server", registry.url, "--username", "acme/ann", "--password-stdin")
    return run(folder, "login", *flags, stdin="correct horse\n")


def logins(folder: Path) -> Path:
    return folder / "config" / "skill-registry" / "logins.json"


def stored(file: Path) -> Logins:
    return Logins(file, ClientSettings())


def test_one_login_opens_the_registry_to_the_commands_until_logout(registry: Registry, tmp_path: Path) -> None:
    skill = write_skill(tmp_path, "signed-in", "Is published by a user who has signed in.")
    server = ("--server", registry.url)
    run(tmp_path, "publish", str(skill), *server).complains(1, f"login --server {registry.url}")
    done = sign_in(tmp_path, registry)
    assert (done.code, "manager" in done.out) == (0, True)
    assert run(tmp_path, "publish", str(skill), *server).code == 0
    assert "acme/signed-in" in run(tmp_path, "search", "signed in", *server).out
    token = json.loads(logins(tmp_path).read_bytes())[registry.url]["token"]
    assert run(tmp_path, "logout", *server).code == 0
    assert registry.get("/api/skills", {"Authorization": f"Bearer {token}"}).status_code == 401
    run(tmp_path, "search", "signed in", *server).complains(1, "login --server")


def test_what_is_kept_is_the_token_alone_for_its_owner_alone(registry: Registry, tmp_path: Path) -> None:
    sign_in(tmp_path, registry)
    assert logins(tmp_path).stat().st_mode & 0o777 == 0o600
    assert "horse" not in logins(tmp_path).read_text()
    logins(tmp_path).chmod(0o644)
    run(tmp_path, "search", "anything", "--server", registry.url).complains(1, "chmod 600")


def test_a_home_that_takes_no_file_is_said_with_what_to_do(registry: Registry, tmp_path: Path) -> None:
    (tmp_path / "config").write_text("")
    sign_in(tmp_path, registry).complains(1, "so the token cannot be stored", "SKILL_REGISTRY_CLIENT_API_KEY")


def test_an_api_key_is_exchanged(registry: Registry, tmp_path: Path) -> None:
    made = Done(tmp_path, "keys", "create", "--scope", "acme", "--data-dir", str(registry.data_dir), "--json").json
    done = run(tmp_path, "login", "--server", registry.url, "--api-key", stdin=f"{made['key']}\n")
    assert (done.code, made["key"] in logins(tmp_path).read_text()) == (0, False)
    assert run(tmp_path, "search", "anything at all", "--server", registry.url).code in {0, 3}


def test_without_a_terminal_it_says_how_to_give_a_password(registry: Registry, tmp_path: Path) -> None:
    for flags in ((), ("--username", "acme/ann")):
        done = Done(tmp_path, "login", "--server", registry.url, *flags)
        done.complains(1, "no terminal", "--password-stdin", "--api-key")
        assert "--web" not in done.error  # there is no issuer


def test_a_wrong_password_keeps_nothing(registry: Registry, tmp_path: Path) -> None:
    flags = ("--server", registry.url, "--username", "acme/ann", "--password-stdin")
    run(tmp_path, "login", *flags, stdin="wrong\n").complains(1, "wrong")
    assert not logins(tmp_path).exists()


def test_an_expired_login_says_to_log_in_again(tmp_path: Path) -> None:
    url = "http://127.0.0.1:1"
    stored(logins(tmp_path)).store(url, Login(token="t", expires_at="2020-01-01T00:00:00.000Z"))
    run(tmp_path, "search", "anything", "--server", url).complains(1, "has expired", f"login --server {url}")


@contextmanager
def listening(answer: str = "") -> Iterator[tuple[str, list[str | None]]]:
    """Serve on loopback; yield the URL and the credentials that are sent. `answer` is where requests are led to."""
    seen: list[str | None] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            seen.append(self.headers["Authorization"])
            self.send_response(302 if answer else 200)
            self.send_header("Location", answer)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_POST  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Keep quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_no_other_server_gets_the_token(tmp_path: Path) -> None:
    with listening() as (other, seen_by_other), listening(f"{other}/api/v1/search") as (ours, seen):
        stored(logins(tmp_path)).store(ours, Login(token="canary", expires_at="2999-01-01T00:00:00.000Z"))
        run(tmp_path, "search", "anything", "--server", other).complains(1, "does not answer")
        run(tmp_path, "search", "anything", "--server", ours).complains(1, f"redirects to {other}")
        assert (seen, seen_by_other) == (["Bearer canary"], [None])


@pytest.mark.parametrize(
    "url",
    ["https://a.example", "http://a.example:8080", "http://a.example/sub", "http://b.example", "http://a.example.b"],
)
def test_each_server_has_a_login_of_its_own(tmp_path: Path, url: str) -> None:
    kept = stored(tmp_path / "logins.json")
    kept.store("HTTP://A.example:80/", Login(token="t", expires_at="2999"))
    assert kept.find("http://a.example") is not None
    assert kept.find(url) is None
    assert server_name(url) == url


def test_a_credential_of_the_settings_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    stored(tmp_path / "skill-registry" / "logins.json").store("http://a", Login(token="t", expires_at="2020"))
    settings = load_settings({}, {"SKILL_REGISTRY_CLIENT_API_KEY": "sk_a_b"})
    assert find_credential(settings, "http://a") == "sk_a_b"
    with pytest.raises(CommandFailed, match="has expired"):
        find_credential(load_settings({}, {}), "http://a")
