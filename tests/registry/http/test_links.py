"""`Link` headers of the lists that are paged by offset: versions, keys, users, the audit log and choices."""

from collections.abc import Iterator
from typing import Any

import pytest

from support.publishing import Registry
from support.servers import bearer, new_skill


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Registry, dict[str, str]]]:
    with Registry(tmp_path_factory.mktemp("links")) as running:
        admin = bearer(running.token("admin"))
        assert running.api("POST", "/skills", json=new_skill("forms"), headers=admin).status_code == 201
        for number in range(1, 5):
            version = {"version": f"1.{number}.0"}
            added = running.http.post("/api/code/v1/skills/forms/versions", json=version, headers=admin)
            assert added.status_code == 201, added.text
            key = running.api("POST", "/auth/keys", json={"name": f"key {number}"}, headers=admin)
            user = {"name": f"user{number}", "password": "a long password", "role": "user"}
            assert key.status_code == running.api("POST", "/auth/users", json=user, headers=admin).status_code == 201
        yield running, admin


def walked(registry: Registry, path: str, headers: dict[str, str]) -> tuple[list[Any], int]:
    """Follow the links of a list from its first page; return all items, and the total of the last page."""
    items, total, url = [], 0, path
    while url:
        answer = registry.http.get(url, headers=headers)
        assert answer.status_code == 200, answer.text
        items += answer.json()["data"]
        total = answer.json()["pagination"]["total"]
        url = answer.links.get("next", {}).get("url", "")
        assert len(items) <= total
    return items, total


@pytest.mark.parametrize(
    "path",
    [
        "/api/code/v1/skills/forms/versions",
        "/api/v1/skills/forms/versions",
        "/api/v1/auth/keys",
        "/api/v1/auth/users",
        "/api/v1/audit",
        "/api/code/v1/skills",
    ],
)
def test_the_links_lead_through_the_whole_list(registry: tuple[Registry, dict[str, str]], path: str) -> None:
    server, admin = registry
    whole = server.http.get(f"{path}?limit=100", headers=admin)
    assert "Link" not in whole.headers
    items, total = walked(server, f"{path}?limit=2", admin)
    assert items == whole.json()["data"]
    assert len(items) == total >= 1


def test_a_page_behind_the_end_has_no_link(registry: tuple[Registry, dict[str, str]]) -> None:
    server, admin = registry
    answer = server.api("GET", "/auth/keys?offset=1000", headers=admin)
    assert answer.json()["data"] == []
    assert "Link" not in answer.headers


def test_a_link_keeps_the_other_parameters(registry: tuple[Registry, dict[str, str]]) -> None:
    server, admin = registry
    link = server.api("GET", "/auth/keys?limit=1&offset=1&x=%22%3E", headers=admin).headers["Link"]
    assert link == f'<{server.url}/api/v1/auth/keys?limit=1&x=%22%3E&offset=2>; rel="next"'
