"""The coding agents, without an account and without a model: what their commands do with a registry."""

import json
from collections.abc import Callable

import pytest

from clients.running import Box, files_below, installed
from clients.services import NAME, Service

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


def test_claude_code_installs_from_the_marketplace(any_service: Service, box: Callable[[str], Box]) -> None:
    client = box(CLAUDE)
    if any_service.headers:
        client.store_for_git(any_service.url, any_service.token)
    client.run("plugin", "marketplace", "add", f"{any_service.url}/git/marketplace.git")
    client.run("plugin", "install", f"{NAME}@skill-registry")
    assert NAME in client.run("plugin", "list")
    client.run("plugin", "marketplace", "update", "skill-registry")
    folders = installed(client.home / ".claude" / "plugins" / "cache", NAME)
    assert [files_below(folder) for folder in folders] == [any_service.files[NAME]]
