"""`hf-discover`, the client of Agentic Resource Discovery: search and navigate."""

import json
from collections.abc import Callable
from typing import Any

from clients.running import Box
from clients.services import NAME, RIVALS, Service
from support.waiting import wait_until


def ask(box: Box, *arguments: str) -> dict[str, Any]:
    """Return what the client prints as JSON."""
    answer: dict[str, Any] = json.loads(box.run(*arguments, "--json"))
    return answer


def test_search_and_navigate_find_the_exact_name_first(any_service: Service, box: Callable[[str], Box]) -> None:
    client = box("hf-discover@1.3.7")
    token = ["--token", any_service.token] if any_service.headers else []
    searched = ask(client, "search", NAME, "--registry-url", f"{any_service.url}/ard", "--kind", "skill", *token)
    navigated = ask(client, "navigate", any_service.url, NAME, "--kind", "skill", *token)
    for found in (searched, navigated):
        assert found["results"][0]["displayName"] == NAME
        assert {one["displayName"] for one in found["results"]} == {NAME, *RIVALS}
    read = any_service.server.http.get(searched["results"][0]["url"], headers=any_service.headers)
    assert read.content == any_service.files[NAME]["SKILL.md"]


def test_what_is_published_is_found(any_service: Service, box: Callable[[str], Box]) -> None:
    client = box("hf-discover@1.3.7")
    any_service.publish("found-by-discovery", about="Whets adzes.")
    token = ["--token", any_service.token] if any_service.headers else []
    search = ["search", "whets adzes", "--registry-url", f"{any_service.url}/ard/search", *token]
    wait_until(lambda: [one["displayName"] for one in ask(client, *search)["results"]][:1] == ["found-by-discovery"])
