"""What a skill needs to run, over HTTP: in the card, the detail, filters, facets, MCP and resolve."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from support.servers import RunningServer

SKILLS = {
    "notes-mac": "compatibility: Designed for Claude Code and the Xylophone suite.\n"
    'metadata: {"openclaw":{"requires":{"bins":["memo"],"env":["NOTES_KEY"]},"os":["darwin"]}}\n',
    "notes-linux": "requires: {bins: [jq], anyBins: [vi, nano]}\nos: [linux]\nallowed-tools: Read\n",
    "notes-any": "",
    "notes-person": "disable-model-invocation: true\n",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder: Path = tmp_path_factory.mktemp("needs")
    for name, lines in SKILLS.items():
        (folder / "skills" / name).mkdir(parents=True)
        text = f"---\nname: {name}\ndescription: Keeps notes in order.\n{lines}---\n# Notes\n"
        (folder / "skills" / name / "SKILL.md").write_text(text)
    with RunningServer(folder, "--embedding-provider", "none") as running:
        yield running


def ids(found: dict[str, Any]) -> set[str]:
    return {hit["skill"]["id"] for hit in found["skills"]}


def test_cards_and_details_say_what_a_skill_needs(server: RunningServer) -> None:
    card = next(hit["skill"] for hit in server.search("notes")["skills"] if hit["skill"]["id"] == "notes-mac")
    detail = httpx.get(f"{server.url}/api/v1/skills/notes-mac").json()["data"]
    for shown in (card, detail):
        assert shown["requires"] == {"bins": ["memo"], "any_bins": [], "env": ["NOTES_KEY"], "os": ["macos"]}
        assert shown["agents"] == ["claude-code", "openclaw"]
        assert shown["compatibility"].startswith("Designed for")
        assert (shown["installable"], shown["not_installable"]) == (True, None)
    assert httpx.get(f"{server.url}/api/v1/skills/notes-linux").json()["data"]["allowed_tools"] == ["Read"]


def test_words_of_compatibility_are_found(server: RunningServer) -> None:
    assert ids(server.search("xylophone")) == {"notes-mac"}


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"os": "linux"}, {"notes-linux", "notes-any", "notes-person"}),
        ({"os": "darwin"}, {"notes-mac", "notes-any", "notes-person"}),
        ({"agent": "Claude Code"}, {"notes-mac", "notes-linux", "notes-any", "notes-person"}),
        ({"agent": "codex"}, {"notes-linux", "notes-any", "notes-person"}),
        ({"model_invocation": True}, {"notes-mac", "notes-linux", "notes-any"}),
        ({"model_invocation": False}, {"notes-person"}),
    ],
)
def test_filters(server: RunningServer, filters: dict[str, Any], expected: set[str]) -> None:
    assert ids(server.search("notes", filters=filters)) == expected
    query = {name: str(value).lower() if isinstance(value, bool) else value for name, value in filters.items()}
    by_query = httpx.get(f"{server.url}/api/v1/search", params={"q": "notes", **query}).json()["data"]
    assert ids(by_query) == expected


def test_facets_count_systems_and_agents(server: RunningServer) -> None:
    facets = server.search("notes", facets=True)["facets"]
    assert facets["systems"] == [["linux", 1], ["macos", 1]]
    assert facets["agents"] == [["claude-code", 1], ["openclaw", 1]]


def test_agents_are_not_offered_what_only_persons_choose(server: RunningServer) -> None:
    resolved = httpx.post(f"{server.url}/api/v1/resolve", json={"prompt": "notes"}).json()["data"]["results"]
    assert "notes-person" not in {skill["skill_id"] for skill in resolved}
    call = {"name": "search_skills", "arguments": {"query": "notes"}}
    answer = httpx.post(f"{server.url}/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
    result = answer.json()["result"]
    text = result["content"][0]["text"]
    hits = {hit.pop("id"): hit for hit in result["structuredContent"]["skills"]}
    assert hits["notes-mac"]["requires"] == {"bins": ["memo"], "env": ["NOTES_KEY"], "os": ["macos"]}
    assert hits["notes-mac"]["compatibility"].startswith("Designed for")
    assert not {"requires", "compatibility", "installable"} & set(hits["notes-any"])
    assert "notes-person" not in text
    assert "Needs memo, NOTES_KEY, on macos" in text
    assert httpx.get(f"{server.url}/api/v1/skills/notes-person").json()["data"]["model_invocation"] is False
