"""A skill with `metadata.internal: true` is for the work on its repository: only who names it exactly gets it."""

from collections.abc import Iterator
from typing import Any

import pytest

from support.servers import RunningServer, write_skill


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A service with a source that has a skill for users and one for its own authors."""
    folder = tmp_path_factory.mktemp("internal")
    write_skill(folder / "tree", "soup", "Cooks parsnip soup.")
    write_skill(folder / "tree", "release-train", "Publishes the parsnips.", "# Parsnips\n", internal="true")
    with RunningServer(folder) as server:
        body = {"name": "ours", "type": "local", "path": str(folder / "tree")}
        assert server.api("POST", "/registry/sources", json=body).json()["data"]["skills"] == 1
        yield server


def tool(server: RunningServer, name: str, **arguments: Any) -> dict[str, Any]:
    call = {"name": name, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    result: dict[str, Any] = server.http.post("/mcp", json=message).json()["result"]
    return result


LISTS = [
    "/skills?source=ours",
    "/skills?installed=false&facets=true",
    "/registry/skills",
    "/registry/sources/ours/skills",
    "/search?q=parsnip&facets=true",
    "/search?q=parsnip&mode=keyword&source=ours",
]


@pytest.mark.parametrize("path", LISTS)
def test_no_list_has_it(server: RunningServer, path: str) -> None:
    listed = server.api("GET", path)
    assert listed.status_code == 200
    assert "soup" in listed.text
    assert "release-train" not in listed.text


@pytest.mark.parametrize("query", ["parsnip", "release train", "publishes the parsnips"])
def test_no_search_finds_it(server: RunningServer, query: str) -> None:
    assert "ours/release-train" not in server.found(query)
    assert "release-train" not in str(tool(server, "search_skills", query=query))
    assert "release-train" not in server.api("POST", "/resolve", json={"prompt": query}).text


def test_no_other_id_leads_to_it(server: RunningServer) -> None:
    assert server.api("GET", "/skills/ours/release").status_code == 404
    missing = tool(server, "get_skill", id="ours/release")
    assert missing["isError"]
    assert "release-train" not in str(missing)
    assert server.api("POST", "/skills", json={"origin": {"type": "source", "skill": "release"}}).status_code == 404


def test_its_exact_id_is_read_and_installed(server: RunningServer) -> None:
    assert server.api("GET", "/skills/ours/release-train").json()["data"]["name"] == "release-train"
    assert "# Parsnips" in tool(server, "get_skill", id="ours/release-train")["content"][0]["text"]
    for skill_id in ("release-train", "ours/release-train"):
        assert server.api("POST", "/skills", json={"origin": {"type": "source", "skill": skill_id}}).status_code == 201
        assert "release-train" in server.found("parsnip"), "an installed skill is no longer hidden"
        assert server.api("DELETE", "/skills/release-train").status_code == 200
        assert server.found("parsnip") == ["ours/soup"]
