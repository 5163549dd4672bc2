"""Clients of the Model Context Protocol besides the SDK: inspector, mcporter, LangChain, and the conformance suite."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clients.running import Box
from clients.services import NAME, Service
from support.servers import COMMAND
from support.waiting import wait_until

INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"
READ_TOOLS = ["search_skills", "get_skill"]
GRAIN = "references/grain.md"


def tools_of(service: Service) -> list[str]:
    return [*READ_TOOLS, *(["install_skill"] if service.kind == "local" else [])]


def ids(found: dict[str, Any]) -> list[str]:
    return [skill["id"] for skill in found["skills"]]


@pytest.mark.parametrize("carrier", ["http", "stdio"])
def test_inspector_calls_the_tools_and_reads_the_resources(
    any_service: Service, box: Callable[[str], Box], carrier: str
) -> None:
    client = box(INSPECTOR)
    server: dict[str, Any] = {"type": "http", "url": f"{any_service.url}/mcp", "headers": any_service.headers}
    if carrier == "stdio":
        env = {"SKILL_REGISTRY_CLIENT_API_KEY": any_service.token} if any_service.headers else {}
        server = {"command": COMMAND, "args": ["mcp", "--server", any_service.url], "env": env}
    config = client.home / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"reg": server}}))

    def ask(method: str, *arguments: str) -> dict[str, Any]:
        start = ["--cli", "--config", str(config), "--server", "reg"]
        answer: dict[str, Any] = json.loads(client.run(*start, "--method", method, *arguments))
        return answer

    assert [tool["name"] for tool in ask("tools/list")["tools"]] == tools_of(any_service)
    found = ask("tools/call", "--tool-name", "search_skills", "--tool-arg", f"query={NAME}")
    assert ids(found["structuredContent"])[0] == any_service.id_of(NAME)
    uris = [one["uri"] for one in ask("resources/list")["resources"]]
    base = f"skill://{any_service.id_of(NAME)}"
    assert {uri for uri in uris if uri.startswith(f"{base}/")} == {f"{base}/{path}" for path in any_service.files[NAME]}
    (content,) = ask("resources/read", "--uri", f"{base}/{GRAIN}")["contents"]
    assert content["text"].encode() == any_service.files[NAME][GRAIN]
    name = f"found-by-inspector-{carrier}"
    any_service.publish(name, about=f"Whets {carrier} spokeshaves.")
    query = f"query=whets {carrier} spokeshaves"
    wait_until(
        lambda: (
            ids(ask("tools/call", "--tool-name", "search_skills", "--tool-arg", query)["structuredContent"])[:1]
            == [any_service.id_of(name)]
        )
    )


def test_mcporter_calls_the_tools_of_a_configured_server(any_service: Service, box: Callable[[str], Box]) -> None:
    client, name = box("mcporter@0.12.3"), "found-by-mcporter"
    servers = {"reg": {"baseUrl": f"{any_service.url}/mcp", "headers": any_service.headers}}
    (client.project / "config").mkdir()
    (client.project / "config" / "mcporter.json").write_text(json.dumps({"mcpServers": servers}))
    listed = json.loads(client.run("list", "reg", "--json"))
    assert [tool["name"] for tool in listed["tools"]] == tools_of(any_service)
    found = json.loads(client.run("call", "reg.search_skills", f"query={NAME}", "--output", "json"))
    assert ids(found)[0] == any_service.id_of(NAME)
    any_service.publish(name, about="Whets drawknives.")
    wait_until(
        lambda: (
            any_service.id_of(name)
            in ids(json.loads(client.run("call", "reg.search_skills", "query=whets drawknives", "--output", "json")))
        )
    )
    uri = f"skill://{any_service.id_of(NAME)}/{GRAIN}"
    assert "# Grain: längs" in client.run("resource", "reg", uri)


def test_langchain_gets_tools_and_resources(any_service: Service, box: Callable[[str], Box]) -> None:
    client, script = box("langchain-mcp-adapters@0.3.2"), Path(__file__).with_name("langchain_agent.py")

    def ask(query: str, name: str) -> dict[str, Any]:
        skill_id = any_service.id_of(name)
        arguments = (f"{any_service.url}/mcp", json.dumps(any_service.headers), query, skill_id)
        printed = client.run(str(script), *arguments, f"skill://{skill_id}/{GRAIN}")
        results: dict[str, Any] = json.loads(printed.splitlines()[-1])
        return results

    def is_first(name: str, results: dict[str, Any]) -> bool:
        return bool(re.search(rf"\b1\. \[[a-z ]+\] {any_service.id_of(name)} ", results["found"]))

    results = ask(NAME, NAME)
    assert results["tools"] == sorted(tools_of(any_service))
    assert is_first(NAME, results)
    assert "The state 1.0.0, in two lines." in results["read"]
    assert results["resource"].encode() == any_service.files[NAME][GRAIN]
    published = "found-by-langchain"
    any_service.publish(published, about="Whets froes.")
    wait_until(lambda: is_first(published, ask("whets froes", published)))


SCENARIOS = [
    "server-initialize",
    "ping",
    "tools-list",
    "resources-list",
    "dns-rebinding-protection",
    "http-header-validation",
    "caching",
    "sep-2164-resource-not-found",
    "sep-2640-skills-enumeration",
    "sep-2640-skills-manifest",
]


@pytest.mark.small
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_conformance(open_service: Service, box: Callable[[str], Box], scenario: str) -> None:
    """The suite exits with 1 if a check fails."""
    client = box("@modelcontextprotocol/conformance@0.2.0-alpha.12")
    printed = client.run("server", "--url", f"{open_service.url}/mcp", "--scenario", scenario)
    assert "Passed: " in printed
