"""The server of commands that are told none, and whose credential it gets."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from registry.cli.credentials import Login, Logins, configured_key, default_server, find_credential
from registry.config.groups import ClientSettings
from registry.config.settings import Settings, load_settings
from support.commands import Done, add_user
from support.publishing import SECRET, Registry
from support.servers import RunningServer, write_skill
from support.web_server import WebServer

LATER, EARLIER = "2999-01-01T00:00:00.000Z", "2020-01-01T00:00:00.000Z"
NEED_A_SERVER = (("yank", "a/b@1.0.0"), ("unyank", "a/b@1.0.0"), ("login", "--password-stdin"), ("logout",))


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with Registry(tmp_path_factory.mktemp("registry"), "--auth-issuer", "closed") as running:
        add_user(running.data_dir)
        yield running


@pytest.fixture
def web() -> Iterator[WebServer]:
    with WebServer() as running:
        yield running


@pytest.fixture
def logins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Logins:
    """The logins of the commands that run in `tmp_path`, and of this process."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return Logins(tmp_path / "config" / "skill-registry" / "logins.json", ClientSettings())


def log_in(logins: Logins, *urls: str, until: str = LATER) -> None:
    for url in urls:
        logins.store(url, Login(token=f"token-of-{url.rpartition(':')[2]}", expires_at=until))


def settings(**variables: str) -> Settings:
    return load_settings({}, {f"SKILL_REGISTRY_{name}": value for name, value in variables.items()})


def test_one_login_is_enough_for_everything(registry: Registry, tmp_path: Path) -> None:
    skill = write_skill(tmp_path, "named-once", "Is sent to the server that the login has named.")
    flags = ("--server", registry.url, "--username", "acme/ann", "--password-stdin")
    assert Done(tmp_path, "login", *flags, stdin="correct horse\n").code == 0
    published = Done(tmp_path, "publish", str(skill))
    assert (published.code, published.error) == (0, f"skill-registry: using {registry.url} (your login)\n")
    found = Done(tmp_path, "search", "named once")
    assert (found.error, "acme/named-once" in found.out) == (published.error, True)
    assert Done(tmp_path, "yank", "acme/named-once@1.0.0", "--json").error == ""
    assert Done(tmp_path, "unyank", "acme/named-once@1.0.0").code == 0
    assert Done(tmp_path, "status").error == published.error
    assert Done(tmp_path, "logout").code == 0
    assert "no catalog" in Done(tmp_path, "search", "named once").error


def test_the_setting_comes_before_logins_and_data_directories(
    registry: Registry, web: WebServer, tmp_path: Path, logins: Logins
) -> None:
    signed = Done(tmp_path, "token", "--data-dir", str(registry.data_dir), SKILL_REGISTRY_AUTH_SECRET=SECRET)
    token = signed.out.strip()
    named = {"SKILL_REGISTRY_SERVER": registry.url, "SKILL_REGISTRY_CLIENT_API_KEY": token}
    log_in(logins, web.url)
    (tmp_path / "skills").mkdir()
    assert Done(tmp_path, "scan").code == 0
    done = Done(tmp_path, "search", "no such thing", "--json", **named)
    assert (done.code, done.error, web.connections) == (3, "", 0)
    assert registry.url in Done(tmp_path, "status", **named).error
    assert Done(tmp_path, "status", "--data-dir", ".skill-registry", **named).error == ""
    assert "using .skill-registry" in Done(tmp_path, "status").error
    Done(tmp_path, "search", "anything", "--server", web.url, **named).complains(1, "404")
    assert [headers.get("Authorization") for headers, _ in web.posted] == [f"Bearer token-of-{web.port}"]


@pytest.mark.parametrize("args", NEED_A_SERVER)
def test_several_logins_are_listed(tmp_path: Path, logins: Logins, args: tuple[str, ...]) -> None:
    log_in(logins, "https://a.example", "https://b.example/sub")
    Done(tmp_path, *args, stdin="x\n").complains(1, "https://a.example, https://b.example/sub", "--server")


def test_several_logins_are_listed_where_there_is_no_catalog(tmp_path: Path, logins: Logins) -> None:
    log_in(logins, "https://a.example", "https://b.example")
    Done(tmp_path, "search", "anything").complains(1, "no catalog", "https://a.example, https://b.example")


def test_a_valid_login_comes_before_one_that_has_expired(tmp_path: Path, logins: Logins) -> None:
    log_in(logins, "https://old.example", until=EARLIER)
    assert default_server(settings()) == "https://old.example"
    assert "has expired" in Done(tmp_path, "search", "anything").error
    log_in(logins, "https://new.example")
    assert default_server(settings()) == "https://new.example"
    log_in(logins, "https://third.example")
    assert default_server(settings()) is None


def test_the_server_of_the_data_directory_is_used_while_it_runs(tmp_path: Path) -> None:
    data_dir = ("--data-dir", "data")
    with RunningServer(tmp_path) as server:
        done = Done(tmp_path, "logout", *data_dir)
        assert f"using {server.url} (it runs on the data directory)\n" in done.error
        assert f"no login at {server.url}" in done.error
    assert "http://localhost:8080 (the default)" in Done(tmp_path, "logout", *data_dir).error
    assert "http://localhost:8080 (the default)" in Done(tmp_path, "logout").error
    assert "http://localhost:9000 (the default)" in Done(tmp_path, "logout", SKILL_REGISTRY_SERVER_PORT="9000").error
    assert not (tmp_path / ".skill-registry").exists()


def test_the_versions_of_a_folder_are_shown_by_its_server_as_without_one(tmp_path: Path) -> None:
    folder = write_skill(tmp_path / "skills", "plane", "Planes zebrawood boards.")
    commands = (("versions", "plane"), ("show", "plane@1.0.0"), ("show", "--content", "plane@1.0.0"))
    with RunningServer(tmp_path) as server:
        at = ("--data-dir", str(server.data_dir))
        of_server = [Done(tmp_path, *command, *at) for command in commands]
        Done(tmp_path, "versions", "adze", *at).complains(1, "Skill 'adze' not found")
        (file,) = server.api("GET", "/skills/plane/versions/1.0.0/files").json()["data"]
        assert file["path"] == "SKILL.md"
        assert server.api("GET", "/skills/plane/versions/1.0.0/findings").json()["data"]["risk"] == "none"
        assert server.api("POST", "/skills/plane/versions", json={"version": "2.0.0"}).status_code == 405
    alone = [Done(tmp_path, *command, *at) for command in commands]
    assert [(done.code, done.out) for done in of_server] == [(done.code, done.out) for done in alone]
    assert of_server[0].out.startswith("Version")
    assert of_server[2].out == (folder / "SKILL.md").read_text()


def test_a_data_directory_on_the_command_line_comes_before_a_login(tmp_path: Path, logins: Logins) -> None:
    log_in(logins, "https://a.example")
    with RunningServer(tmp_path) as server:
        assert f"using {server.url}" in Done(tmp_path, "logout", "--data-dir", "data").error


def test_a_catalog_here_comes_before_a_login_and_says_so(tmp_path: Path, logins: Logins) -> None:
    write_skill(tmp_path / "skills", "here", "Is in the data directory of this folder.")
    assert Done(tmp_path, "scan").code == 0
    assert Done(tmp_path, "list").error == ""
    log_in(logins, "https://a.example")
    listed = Done(tmp_path, "list")
    assert listed.out.startswith("here\t")
    said = "using .skill-registry: for your login at https://a.example, use --server"
    assert listed.error == f"skill-registry: {said}\n"
    assert Done(tmp_path, "list", "--data-dir", ".skill-registry").error == ""


def test_a_key_without_a_server_is_sent_to_nobody(web: WebServer, tmp_path: Path, logins: Logins) -> None:
    log_in(logins, web.url)
    for args in NEED_A_SERVER:
        done = Done(tmp_path, *args, stdin="x\n", SKILL_REGISTRY_CLIENT_API_KEY="canary")
        done.complains(1, "client.api_key", "SKILL_REGISTRY_SERVER")
    assert "no catalog" in Done(tmp_path, "search", "anything", SKILL_REGISTRY_CLIENT_API_KEY="canary").error
    assert web.connections == 0


@pytest.mark.parametrize(
    "other",
    ["https://a.example", "http://a.example:8080", "http://a.example/sub", "http://b.example", "http://a.example.b"],
)
def test_a_key_is_for_its_server_alone(logins: Logins, other: str) -> None:
    ours = settings(SERVER="HTTP://A.example:80/", CLIENT_API_KEY="canary")
    log_in(logins, "http://a.example")
    assert find_credential(ours, "http://a.example") == "canary"
    assert (configured_key(ours, other), find_credential(ours, other)) == (None, None)


def test_login_sends_the_key_to_its_server_alone(web: WebServer, tmp_path: Path) -> None:
    variables = {"SKILL_REGISTRY_SERVER": "https://a.example", "SKILL_REGISTRY_CLIENT_API_KEY": "canary"}
    Done(tmp_path, "login", "--api-key", "--server", web.url, stdin="typed\n", **variables)
    assert [headers["Authorization"] for headers, _ in web.posted] == ["Bearer typed"]


def test_a_server_that_only_the_current_folder_names_gets_no_key(web: WebServer, tmp_path: Path) -> None:
    (tmp_path / "registry.toml").write_text(f'client.server = "{web.url}"\n')
    key = {"SKILL_REGISTRY_CLIENT_API_KEY": "canary"}
    Done(tmp_path, "search", "anything", **key).complains(2, "registry.toml", "client.api_key", "SKILL_REGISTRY_SERVER")
    assert web.connections == 0
    Done(tmp_path, "search", "anything", "--config", "registry.toml", "--json", **key)
    Done(tmp_path, "search", "anything", "--json", SKILL_REGISTRY_SERVER=web.url, **key)
    assert [headers["Authorization"] for headers, _ in web.posted] == ["Bearer canary"] * 2
