"""Publishing and signing in without a credential, on a registry of this machine that needs none."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from registry.cli.credentials import Login, Logins
from registry.config.groups import ClientSettings
from support.commands import Done
from support.publishing import Registry
from support.servers import RunningServer, write_skill
from support.web_server import WebServer, reply


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with Registry(tmp_path_factory.mktemp("registry")) as running:
        yield running


def logins(folder: Path) -> Logins:
    return Logins(folder / "config" / "skill-registry" / "logins.json", ClientSettings())


@pytest.mark.parametrize(
    ("username", "scope"), [((), "dev-user"), (("--username", "acme/ann"), "acme"), (("--username", "bob"), "bob")]
)
def test_publish_takes_a_token_and_says_so(
    registry: Registry, tmp_path: Path, username: tuple[str, ...], scope: str
) -> None:
    skill = write_skill(tmp_path, "easy", "Is published without any further step.")
    done = Done(tmp_path, "publish", str(skill), "--server", registry.url, *username)
    assert (done.code, f"{scope}/easy 1.0.0  sha256:" in done.out) == (0, True)
    assert f"{registry.url} issues tokens to everyone on this machine: this one is for {scope}" in done.error
    assert ("--username SCOPE/NAME" in done.error) == (not username)
    assert not logins(tmp_path).servers()


def test_nothing_is_said_where_json_is_printed(registry: Registry, tmp_path: Path) -> None:
    skill = write_skill(tmp_path, "quiet", "Is published by a program.")
    done = Done(tmp_path, "publish", str(skill), "--server", registry.url, "--json")
    assert (done.code, done.error, done.json["skill_id"]) == (0, "", "dev-user/quiet")


def test_yank_acts_for_the_scope_that_it_names(registry: Registry, tmp_path: Path) -> None:
    skill = write_skill(tmp_path, "withdrawn", "Is withdrawn by its scope.")
    server = ("--server", registry.url)
    assert Done(tmp_path, "publish", str(skill), *server, "--username", "team/alice").code == 0
    done = Done(tmp_path, "yank", "team/withdrawn@1.0.0", *server)
    assert (done.code, "this one is for team\n" in done.error) == (0, True)
    assert Done(tmp_path, "unyank", "team/withdrawn@1.0.0", *server).code == 0


def test_login_asks_nothing(registry: Registry, tmp_path: Path) -> None:
    done = Done(tmp_path, "login", "--server", registry.url)
    assert (done.code, "manager" in done.out) == (0, True)
    assert done.error.count("\n") == 1
    assert logins(tmp_path).servers() == [registry.url]
    skill = write_skill(tmp_path, "after-login", "Is published with the stored token.")
    assert "issues tokens" not in Done(tmp_path, "publish", str(skill)).error
    assert "dev-user/after-login" in Done(tmp_path, "search", "after login").out


def test_a_user_on_the_command_line_comes_before_the_login(registry: Registry, tmp_path: Path) -> None:
    assert Done(tmp_path, "login", "--server", registry.url).code == 0
    skill = write_skill(tmp_path, "for-acme", "Is published for another scope.")
    assert "acme/for-acme" in Done(tmp_path, "publish", str(skill), "--username", "acme/ann").out


def test_a_login_that_has_expired_is_replaced_by_a_token(registry: Registry, tmp_path: Path) -> None:
    logins(tmp_path).store(registry.url, Login(token="old", expires_at="2020-01-01T00:00:00.000Z"))
    skill = write_skill(tmp_path, "another-day", "Is published when the login has expired.")
    assert Done(tmp_path, "publish", str(skill)).code == 0


def test_a_password_is_still_checked(registry: Registry, tmp_path: Path) -> None:
    done = Done(tmp_path, "login", "--server", registry.url, "--username", "ann", "--password-stdin", stdin="no\n")
    done.complains(1, "wrong")


def test_an_invalid_user_is_told(registry: Registry, tmp_path: Path) -> None:
    Done(tmp_path, "login", "--server", registry.url, "--username", "Ann Lee").complains(1, "username")


def test_a_closed_registry_gives_no_token(tmp_path: Path) -> None:
    skill = write_skill(tmp_path, "refused", "Is published by nobody.")
    with Registry(tmp_path / "closed", "--auth-issuer", "closed") as closed:
        server = ("--server", closed.url)
        Done(tmp_path, "publish", str(skill), *server).complains(1, f"login --server {closed.url}")
        (tmp_path / "skills" / "none").mkdir(parents=True)
        for what in (("--all", "skills"), ("skills/none",)):  # which have no skills
            Done(tmp_path, "publish", *what, *server).complains(1, f"login --server {closed.url}")
        Done(tmp_path, "publish", str(skill), *server, "--username", "ann").complains(1, "--username", "login")
        logins(tmp_path).store(closed.url, Login(token="old", expires_at="2020-01-01T00:00:00.000Z"))
        Done(tmp_path, "publish", str(skill), *server).complains(1, "has expired")


def test_the_local_profile_says_that_it_publishes_nothing(tmp_path: Path) -> None:
    skill = write_skill(tmp_path, "nowhere", "Is published nowhere.")
    with RunningServer(tmp_path) as server:
        for args in (("publish", str(skill)), ("login",)):
            Done(tmp_path, *args, "--server", server.url).complains(1, "local profile", "make registry")


@pytest.mark.parametrize("url", ["http://registry.example", "http://127.0.0.1.example", "http://10.0.0.1"])
def test_no_other_machine_is_asked_for_a_token(tmp_path: Path, url: str) -> None:
    skill = write_skill(tmp_path, "careful", "Is published by careful people.")
    with WebServer() as proxy:
        status = json.dumps({"data": {"issuer": "open"}}).encode()
        proxy.answers |= {
            f"{url}/api/v1/status": reply(status),
            f"{url}/auth/token": reply(b'{"data": {"token": "t"}}'),
        }
        done = Done(tmp_path, "publish", str(skill), "--server", url, http_proxy=proxy.url, no_proxy="")
        assert (done.code, proxy.requests, len(proxy.posted)) == (1, [], 0)
        Done(tmp_path, "login", "--server", url, http_proxy=proxy.url, no_proxy="")
        read = [f"{url}/healthz", f"{url}/api/v1/status"]
        assert ([request[0] for request in proxy.requests], len(proxy.posted)) == (read, 0)
