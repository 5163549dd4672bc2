"""When to use a skill, as authors put it beside the description: searched by words and by meaning, and shown."""

from pathlib import Path

import httpx

from support.commands import Done
from support.publishing import Registry, skill_package
from support.servers import RunningServer, write_skill


def first(server: RunningServer, query: str, mode: str) -> str:
    return str(server.search(query, mode=mode)["skills"][0]["skill"]["id"])


def test_they_are_found_by_words_and_by_meaning_and_are_on_cards(tmp_path: Path) -> None:
    for name in ("notes-a", "notes-c"):
        write_skill(tmp_path / "skills", name, "Keeps notes in order.")
    when = "[Looking up breeds of cats, Zebrafish]"
    write_skill(tmp_path / "skills", "notes-b", "Keeps notes in order.", read_when=when)
    with RunningServer(tmp_path, "--embedding-provider", "local") as server:
        server.wait_for(lambda: server.is_embedded(3))
        assert [hit["skill"]["id"] for hit in server.search("zebrafish", mode="keyword")["skills"]] == ["notes-b"]
        assert first(server, "which kitten should I adopt", "semantic") == "notes-b"
        detail = httpx.get(f"{server.url}/api/v1/skills/notes-b").json()["data"]
        call = {"name": "search_skills", "arguments": {"query": "zebrafish notes"}}
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        by_tool = httpx.post(f"{server.url}/mcp", json=asked).json()["result"]
        cards = {card["id"]: card["triggers"] for card in httpx.get(f"{server.url}/api/v1/skills").json()["data"]}
        search_id = server.search("zebrafish")["search_id"]
        server.api("POST", "/search/feedback", json={"search_id": search_id, "skill_id": "notes-b"})
        server.wait_for(lambda: server.is_embedded(3))
        assert first(server, "which kitten should I adopt", "semantic") == "notes-b"
    assert detail["triggers"] == ["Looking up breeds of cats", "Zebrafish"]
    told = "Keeps notes in order. Used for: Looking up breeds of cats, Zebrafish."
    assert told in by_tool["content"][0]["text"]
    assert by_tool["structuredContent"]["skills"][0]["description"] == told
    assert cards == {"notes-a": [], "notes-b": detail["triggers"], "notes-c": []}
    data, skills = ("--data-dir", str(server.data_dir)), ("--skills-dir", str(server.skills_dir))
    assert Done(tmp_path, "fsck", "--json", *data, *skills).json["drift"] == []


def test_they_go_through_a_registry_to_those_who_follow_it(tmp_path: Path) -> None:
    package = skill_package("coffee", version="1.0.0\nwhen_to_use: When a guest yawns")
    words = {"SKILL_REGISTRY_EMBEDDING_PROVIDER": "none", "SKILL_REGISTRY_OUTBOUND_ALLOWED_HOSTS": "127.0.0.1"}
    with Registry(tmp_path / "registry", "--embedding-provider", "none", "--auth-anonymous-read") as registry:
        registry.finished(registry.publish(package))
        detail = registry.get("/api/v1/skills/acme/coffee").json()["data"]
        cards = [hit["skill"] for hit in registry.sign_in().search("yawns")["skills"]]
        (tmp_path / "laptop").mkdir()
        added = Done(tmp_path / "laptop", "sources", "add", "one", registry.url, **words)
        assert added.code == 0, added.error
        listed = Done(tmp_path / "laptop", "search", "yawns", "--json", **words).json["skills"]
    assert detail["triggers"] == ["When a guest yawns"]
    assert [(card["id"], card["triggers"]) for card in cards] == [("acme/coffee", detail["triggers"])]
    assert [hit["skill"]["triggers"] for hit in listed] == [detail["triggers"]]
