"""The coding agents, without an account and without a model: what their commands do with a registry."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from clients.running import Box, files_below, installed
from clients.services import NAME, Service, service, skill_files

CLAUDE = "@anthropic-ai/claude-code@2.1.330"
CODEX = "@openai/codex@0.169.0"
COPILOT = "@github/copilot@1.0.102"
GEMINI = "@google/gemini-cli@0.61.0"
OPENCODE = "opencode-ai@1.18.33"


def headers(service: Service, flag: str) -> list[str]:
    """Return the arguments that add what a caller sends."""
    return [part for name, value in service.headers.items() for part in (flag, f"{name}: {value}")]


def configure(box: Box, path: str, content: object) -> None:
    """Write a settings file below the home of an agent."""
    file = box.home / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content))


def test_claude_code_connects_by_mcp(any_service: Service, box: Callable[[str], Box]) -> None:
    client = box(CLAUDE)
    url = f"{any_service.url}/mcp"
    client.run("mcp", "add", "--transport", "http", "reg", url, *headers(any_service, "--header"))
    assert f"reg: {url} (HTTP) - ✔ Connected" in client.run("mcp", "list")


def test_opencode_connects_by_mcp(any_service: Service, box: Callable[[str], Box]) -> None:
    client = box(OPENCODE)
    server = {"type": "remote", "url": f"{any_service.url}/mcp", "headers": any_service.headers}
    configure(client, "project/opencode.json", {"mcp": {"reg": server}})
    listed = client.run("mcp", "list")
    assert "✓ reg" in listed
    assert "connected" in listed


def test_opencode_loads_a_skill_by_its_address(open_service: Service, box: Callable[[str], Box]) -> None:
    client = box(OPENCODE)
    url = f"{open_service.url}/s/{open_service.id_of(NAME)}/.well-known/skills/"
    configure(client, "project/opencode.json", {"skills": {"urls": [url]}})
    loaded = {skill["name"]: skill for skill in json.loads(client.run("debug", "skill"))}
    assert "The state 1.0.0, in two lines." in loaded[NAME]["content"]
    (folder,) = installed(client.home, NAME)
    loaded_files = files_below(folder)
    assert loaded_files.pop(".opencode-version") == b"1.0.0"
    assert loaded_files == open_service.files[NAME]


def test_gemini_cli_connects_by_mcp(any_service: Service, box: Callable[[str], Box]) -> None:
    client = box(GEMINI)
    configure(client, ".gemini/settings.json", {"security": {"folderTrust": {"enabled": False}}})
    url = f"{any_service.url}/mcp"
    client.run("mcp", "add", "--transport", "http", "reg", url, *headers(any_service, "-H"))
    client.run("mcp", "list")
    assert f"reg: {url} (http) - Connected" in client.printed


@pytest.mark.parametrize("name", [CODEX, COPILOT])
def test_codex_and_copilot_take_the_address_of_mcp(any_service: Service, box: Callable[[str], Box], name: str) -> None:
    """Their `mcp list` shows what is configured, and connects to nothing."""
    client, url = box(name), f"{any_service.url}/mcp"
    options = ["--bearer-token-env-var", "REGISTRY_TOKEN"] if any_service.headers else []
    if name == CODEX:
        client.run("mcp", "add", "reg", "--url", url, *options)
    else:
        client.run("mcp", "add", "--transport", "http", "reg", url, *headers(any_service, "--header"))
    (listed,) = (line for line in client.run("mcp", "list").splitlines() if "reg" in line.split())
    assert name == COPILOT or url in listed


class Plugins(NamedTuple):
    """The commands of an agent for plugins, and the folder below its home where it keeps what it has installed."""

    marketplaces: tuple[str, ...]
    refresh: tuple[str, ...]
    install: tuple[str, ...]
    update: tuple[str, ...]
    folder: str


_MARKETPLACES = ("plugin", "marketplace", "add")
_REFRESH = ("plugin", "marketplace", "update", "skill-registry")
_INSTALL = ("plugin", "install")
_UPDATE = ("plugin", "update")

PLUGINS = {
    CLAUDE: Plugins(_MARKETPLACES, _REFRESH, _INSTALL, _UPDATE, ".claude/plugins/cache"),
    CODEX: Plugins(
        _MARKETPLACES,
        ("plugin", "marketplace", "upgrade"),
        ("plugin", "add"),
        ("plugin", "add"),
        ".codex/plugins/cache",
    ),
    COPILOT: Plugins(_MARKETPLACES, _REFRESH, _INSTALL, _UPDATE, ".copilot/installed-plugins"),
}


def newest(home: Path, name: str) -> dict[str, bytes]:
    """Return the files of the newest installation of a skill below a folder: Claude Code keeps the former ones."""
    *_, folder = sorted(installed(home, name), key=lambda folder: folder.stat().st_mtime)
    return files_below(folder)


@pytest.mark.parametrize("agent", PLUGINS)
def test_the_marketplace_is_added_and_plugins_are_installed_and_updated(
    any_service: Service, box: Callable[[str], Box], agent: str
) -> None:
    client, plugins = box(agent), PLUGINS[agent]
    if any_service.headers:
        client.store_for_git(any_service.url, any_service.token)
    kept = client.home / plugins.folder
    client.run(*plugins.marketplaces, f"{any_service.url}/git/marketplace.git")
    client.run(*plugins.install, f"{NAME}@skill-registry")
    assert NAME in client.run("plugin", "list")
    assert newest(kept, NAME) == any_service.files[NAME]
    name = f"plugin-of-{client.client.package.rpartition('/')[2]}"
    any_service.publish(name)
    client.run(*plugins.refresh)
    client.run(*plugins.install, f"{name}@skill-registry")
    assert newest(kept, name) == any_service.files[name]
    any_service.publish(name, "1.1.0")
    client.run(*plugins.refresh)
    client.run(*plugins.update, f"{name}@skill-registry")
    assert newest(kept, name) == any_service.files[name] == skill_files(name, "1.1.0")


def test_claude_code_installs_what_a_plugin_needs(tmp_path: Path, box: Callable[[str], Box]) -> None:
    client = box(CLAUDE)
    with service(tmp_path / "service", "open registry") as registry:
        registry.publish("needed-part")
        registry.publish("needing-pack", needs="acme/needed-part@^1")
        client.run(*_MARKETPLACES, f"{registry.url}/git/marketplace.git")
        client.run(*_INSTALL, "needing-pack@skill-registry")
        for name in ("needing-pack", "needed-part"):
            assert newest(client.home / PLUGINS[CLAUDE].folder, name) == registry.files[name]


def test_gemini_cli_installs_a_skill_by_git(any_service: Service, box: Callable[[str], Box]) -> None:
    """It switches off credential helpers, and reads `.netrc`."""
    client, name = box(GEMINI), "skill-of-gemini"
    if any_service.headers:
        (client.home / ".netrc").write_text(f"machine 127.0.0.1 login git password {any_service.token}\n")
    for version in ("1.0.0", "1.1.0"):
        any_service.publish(name, version)
        client.run("skills", "install", f"{any_service.url}/git/{any_service.id_of(name)}.git", "--consent")
        (folder,) = installed(client.home / ".gemini", name)
        files = {path: data for path, data in files_below(folder).items() if not path.startswith(".git/")}
        assert files == any_service.files[name] == skill_files(name, version)
    client.run("skills", "list")
    assert f"{name} [Enabled]" in client.printed


def test_a_private_marketplace_is_refused_without_a_token(tmp_path: Path, box: Callable[[str], Box]) -> None:
    client = box(CODEX)
    with service(tmp_path / "service", "private registry") as private:
        client.run(*_MARKETPLACES, f"{private.url}/git/marketplace.git", code=1)
        assert NAME not in client.run("plugin", "list")
