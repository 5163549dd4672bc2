"""The tree of files: what it lists and serves in both profiles, and the agentskills client against it."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from support.code_v1 import error
from support.publishing import Registry, skill_package
from support.routes import REGISTRY_MODE
from support.servers import RunningServer, new_skill, write_skill

FILES = {"references/notes.md": b"# Notes\n", "scripts/run.sh": b"#!/bin/sh\n", "assets/a/b.svg": b"<svg></svg>\n"}


class Tree:
    """A service with the skill `whittle` in a scope, if it has scopes, and what a reader gets."""

    def __init__(self, server: RunningServer, skill_id: str, headers: dict[str, str]) -> None:
        self.server = server
        self.skill_id = skill_id
        self.headers = headers

    def get(self, path: str, **headers: str) -> httpx.Response:
        return self.server.http.get(f"/tree/{path}", headers={**self.headers, **headers})


@pytest.fixture(scope="module", params=["local", REGISTRY_MODE])
def tree(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tree]:
    folder: Path = tmp_path_factory.mktemp("tree")
    if request.param == "local":
        skill = write_skill(folder / "skills", "whittle", "Carves spoons with great care.")
        for path, data in FILES.items():
            (skill / path).parent.mkdir(parents=True, exist_ok=True)
            (skill / path).write_bytes(data)
        (skill / "index.json").write_text("{}")
        with RunningServer(folder) as server:
            yield Tree(server, "whittle", {})
    else:
        with Registry(folder) as registry:
            package = skill_package("whittle", files={**FILES, "index.json": b"{}"})
            assert registry.finished(registry.publish(package))["status"] == "accepted"
            yield Tree(registry, "acme/whittle", registry.caller("reader", "user"))


def test_the_root_lists_the_skills_that_have_files(tree: Tree) -> None:
    answer = tree.get("index.json")
    assert answer.json() == {"skills": [tree.skill_id]}
    assert tree.get("index.json", **{"If-None-Match": answer.headers["ETag"]}).status_code == 304


def test_a_skill_lists_its_files_by_kind(tree: Tree) -> None:
    index = tree.get(f"{tree.skill_id}/index.json").json()
    assert index == {
        "files": ["SKILL.md", "assets/a/b.svg", "references/notes.md", "scripts/run.sh"],
        "references": ["notes.md"],
        "scripts": ["run.sh"],
        "assets": ["a/b.svg"],
    }


def test_files_are_served_byte_for_byte_with_an_entity_tag(tree: Tree) -> None:
    for path, data in FILES.items():
        answer = tree.get(f"{tree.skill_id}/{path}")
        assert answer.content == data
        assert answer.headers["ETag"] == f'"{hashlib.sha256(data).hexdigest()}"'
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "html" not in answer.headers["Content-Type"]
        known = tree.get(f"{tree.skill_id}/{path}", **{"If-None-Match": answer.headers["ETag"]})
        assert (known.status_code, known.content) == (304, b"")


@pytest.mark.parametrize(
    "path",
    ["../SKILL.md", "%2e%2e/SKILL.md", "..%2f..%2fetc/passwd", "%2Fetc/passwd", "a\\b", "absent", "%00"],
)
def test_what_is_not_there_is_404(tree: Tree, path: str) -> None:
    assert tree.get(f"{tree.skill_id}/{path}").status_code == 404
    assert tree.get(path).status_code == 404


def test_a_disabled_skill_is_neither_listed_nor_served(tree: Tree) -> None:
    admin = {"Authorization": f"Bearer {tree.server.token()}"} if tree.headers else {}
    for enabled in (False, True):
        body = {"enabled": enabled}
        changed = tree.server.api("PUT", f"/skills/{tree.skill_id}", json=body, headers=admin)
        assert changed.status_code == 200, changed.text
        assert tree.get("index.json").json()["skills"] == ([tree.skill_id] if enabled else [])
        assert tree.get(f"{tree.skill_id}/SKILL.md").status_code == (200 if enabled else 404)


def test_a_scope_lists_its_skills_and_records_are_not_listed(tmp_path: Path) -> None:
    with Registry(tmp_path) as registry:
        registry.finished(registry.publish(skill_package("planes")))
        registry.http.post("/v1/skills", json=new_skill("record"), headers=registry.caller())
        tree = Tree(registry, "acme/planes", registry.caller("reader", "user"))
        assert tree.get("index.json").json() == {"skills": ["acme/planes"]}
        assert tree.get("acme/index.json").json() == {"skills": ["planes"]}
        assert error(tree.get("record/index.json")) == (404, "NOT_FOUND")
        refused = registry.http.get("/tree/index.json")
        assert (refused.status_code, refused.headers["WWW-Authenticate"]) == (401, "Bearer")


def test_a_protocol_can_be_switched_off(tmp_path: Path) -> None:
    with RunningServer(tmp_path, "--protocol", "well_known") as server:
        assert error(server.http.get("/tree/index.json")) == (404, "NOT_FOUND")
        assert server.http.get("/find/api/search?q=x").status_code == 200
