"""The searches of all protocols: an exact name is first, and what is published is found, in both profiles."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from clients.services import NAME, RIVALS, Service, service
from support.waiting import wait_until

Search = Callable[[Service, str], list[str]]


@pytest.fixture(scope="module", params=["local", "private registry"])
def host(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with service(tmp_path_factory.mktemp("searches"), request.param) as running:
        yield running


def answer_of(host: Service, method: str, path: str, **options: Any) -> Any:
    answer = host.server.http.request(method, path, headers=host.headers, **options)
    assert answer.status_code == 200, answer.text
    return answer.json()


def by_clawhub(host: Service, query: str) -> list[str]:
    found = answer_of(host, "GET", "/clawhub/api/v1/search", params={"q": query, "limit": 25})["results"]
    return [one["slug"] for one in found]


def by_skills(host: Service, query: str) -> list[str]:
    found = answer_of(host, "GET", "/find/api/search", params={"q": query, "limit": 20})["skills"]
    return [one["name"] for one in found]


def by_discovery(host: Service, query: str) -> list[str]:
    found = answer_of(host, "POST", "/ard/search", json={"query": {"text": query}})["results"]
    return [one["displayName"] for one in found]


def by_mcp(host: Service, query: str) -> list[str]:
    async def ask() -> Any:
        async with httpx2.AsyncClient(headers=host.headers, trust_env=False) as http:
            transport = streamable_http_client(f"{host.url}/mcp", http_client=http)
            async with Client(transport) as client:
                return (await client.call_tool("search_skills", {"query": query})).structured_content

    hits = asyncio.run(ask())["skills"]
    ids = [each for hit in hits for each in (hit["id"], *hit.get("grouped", {}).get("ids", ()))]
    return [each.rpartition("/")[2] for each in ids]


@pytest.mark.parametrize("search", [by_clawhub, by_skills, by_discovery, by_mcp])
def test_an_exact_name_is_first_and_what_is_published_is_found(host: Service, search: Search) -> None:
    found = search(host, NAME)
    assert found[0] == NAME
    assert set(RIVALS) <= set(found)
    name = f"found-{search.__name__.replace('_', '-')}"
    host.publish(name, about=f"Whets {name} drawknives.")
    wait_until(lambda: search(host, name)[:1] == [name])
    wait_until(lambda: search(host, f"whets {name} drawknives")[:1] == [name])
