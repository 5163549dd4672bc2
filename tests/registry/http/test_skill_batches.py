"""Batches of skills over HTTP: each line is accepted or refused as a single request is, and alone."""

import json
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from registry.errors import RegistryError
from registry.services.skill_batches import lines_of
from support.code_v1 import Code
from support.publishing import Registry, skill_package
from support.raw_http import Connection
from support.servers import RunningServer, bearer, new_skill

NDJSON = {"Content-Type": "application/x-ndjson"}


def send(server: RunningServer, *lines: Any, **headers: str) -> httpx.Response:
    """Send a batch; a line that is no text is written as JSON."""
    body = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    return server.api("POST", "/skills:batch", content=body.encode(), headers=NDJSON | headers)


def sent(server: RunningServer, *lines: Any, **headers: str) -> dict[str, Any]:
    answer = send(server, *lines, **headers)
    assert answer.status_code == 200, answer.text
    data: dict[str, Any] = answer.json()["data"]
    return data


@pytest.fixture(scope="module")
def publishing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with Registry(tmp_path_factory.mktemp("publishing")) as running:
        yield running


def test_every_skill_of_a_batch_can_be_read_and_found_at_once(server: RunningServer) -> None:
    words = [f"word{number}x" for number in range(250)]
    data = sent(server, *(new_skill(f"many-{word}", content=f"# About {word}\n", tags=[word]) for word in words))
    assert (data["created"], data["failed"]) == (250, 0)
    assert [one["line"] for one in data["results"]] == list(range(1, 251))
    for number in (0, 99, 100, 249):
        skill = server.api("GET", f"/skills/many-{words[number]}")
        made = data["results"][number]["data"]
        assert made == {"id": f"many-{words[number]}", "version": "1.0.0", "etag": skill.headers["etag"]}
        assert (skill.json()["data"]["tags"], server.found(words[number])[0]) == ([words[number]], made["id"])
        assert (server.skills_dir / made["id"] / "SKILL.md").read_text().endswith(f"# About {words[number]}\n")


def test_a_line_that_is_refused_changes_nothing_and_stops_no_other(server: RunningServer) -> None:
    (server.skills_dir / "taken-folder").mkdir()
    lines = [
        new_skill("bad-first", version="one"),
        new_skill("kept-one"),
        "",
        "no json",
        new_skill("kept-one", description="The second of this name is refused."),
        {"origin": "https://example.org/skill.zip"},
        new_skill("taken-folder"),
        new_skill("bad-file", skill_file="pdf/SKILL.md"),
        new_skill("upgrade"),
        new_skill("kept-two"),
    ]
    data = sent(server, *lines)
    codes = {one["line"]: one.get("error", {}).get("code") for one in data["results"]}
    refused = dict.fromkeys((1, 4, 6, 8, 9), "VALIDATION_ERROR") | dict.fromkeys((5, 7), "CONFLICT")
    assert codes == refused | {2: None, 10: None}
    assert (data["created"], data["failed"]) == (2, 7)
    assert server.api("GET", "/skills/kept-one").json()["data"]["description"] == new_skill("x")["description"]
    for absent in ("bad-first", "taken-folder", "bad-file"):
        assert server.api("GET", f"/skills/{absent}").status_code == 404
    assert not list(server.skills_dir.glob(".skill-registry-*"))
    assert list((server.skills_dir / "taken-folder").iterdir()) == []


def test_a_line_is_refused_with_the_words_of_the_single_request(server: RunningServer) -> None:
    broken = new_skill("no", description="short", surprise=1, tags=["x"])
    (result,) = sent(server, broken)["results"]
    assert result["error"] == server.api("POST", "/skills", json=broken).json()["error"]


@pytest.mark.parametrize("body", ["", "\n \n", "\n".join(["{}"] * 1001)])
def test_a_batch_has_some_lines_but_not_too_many(server: RunningServer, body: str) -> None:
    answer = send(server, body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "VALIDATION_ERROR")


def test_lines_beyond_the_limit_take_no_memory() -> None:
    """A list of these lines would take 400 MB, and its making would keep all other requests waiting for seconds."""
    body = b"x\n" * 4_000_000
    tracemalloc.start()
    try:
        with pytest.raises(RegistryError, match="lines"):
            lines_of(body)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_blank_lines_count_for_the_number_of_a_line_only() -> None:
    assert [line.number for line in lines_of(b"\n \t\r\n{}\n\n{}\n")] == [3, 5]


def test_another_content_type_is_refused(server: RunningServer) -> None:
    answer = server.api("POST", "/skills:batch", json=new_skill("some-one"))
    assert answer.status_code == 415
    assert server.api("GET", "/skills/some-one").status_code == 404


def test_the_sizes_of_a_batch_and_its_lines_are_limited(tmp_path: Path) -> None:
    limits = ("--limits-batch-body-bytes", "20000", "--limits-json-body-bytes", "5000")
    with RunningServer(tmp_path, *limits) as server:
        data = sent(server, new_skill("too-long", content="a" * 6000), new_skill("short-one"))
        assert [one.get("error", {}).get("code") for one in data["results"]] == ["PAYLOAD_TOO_LARGE", None]
        assert "line is larger than 5,000 bytes" in data["results"][0]["error"]["message"]
        assert send(server, *(new_skill(f"long-{n}", content="a" * 4000) for n in range(6))).status_code == 413
        assert server.api("GET", "/skills").json()["pagination"]["total"] == 1


def test_one_caller_has_few_batches_in_progress(registry: RunningServer) -> None:
    """Their bodies are in memory, however slowly they come."""
    ann, bob = (bearer(registry.token("manager", name)) for name in ("acme/slow", "acme/swift"))
    headers = "".join(f"{name}: {value}\r\n" for name, value in (NDJSON | ann).items())
    head = f"POST /api/v1/skills:batch HTTP/1.1\r\nHost: localhost\r\n{headers}Content-Length: 1000\r\n\r\n"
    with ExitStack() as open_bodies:
        for _ in range(4):
            connection = open_bodies.enter_context(Connection(registry.http.base_url.port or 0))
            connection.send(head.encode() + b"{")
        time.sleep(0.5)  # a request of its own would take the place of one of them
        refused = send(registry, "{}", **ann)
        assert (refused.json()["error"]["code"], refused.headers["retry-after"]) == ("RATE_LIMITED", "2")
        assert send(registry, "{}", **bob).status_code == 200
    registry.wait_for(lambda: send(registry, "{}", **ann).status_code == 200)


def test_records_are_created_for_the_scope_of_the_caller(registry: RunningServer) -> None:
    headers = bearer(registry.token("manager", "acme/ann"))
    data = sent(registry, new_skill("batched-one"), new_skill("batched-two"), **headers)
    assert data["created"] == 2
    assert registry.api("GET", "/skills/batched-two", headers=headers).json()["data"]["scope"] == "acme"
    other = bearer(registry.token("manager", "other/bob"))
    assert registry.api("DELETE", "/skills/batched-two", headers=other).status_code == 403


def test_a_batch_needs_the_role_of_a_manager(registry: RunningServer) -> None:
    assert send(registry, new_skill("role-less")).status_code == 401
    assert send(registry, new_skill("role-less"), **bearer(registry.token("user"))).status_code == 403


def test_each_skill_of_a_batch_has_its_entry_in_the_audit_log(code: Code) -> None:
    admin = bearer(code.server.token("admin"))
    before = code.server.api("GET", "/audit", headers=admin).json()["pagination"]["total"]
    ids = [f"logged-{number}" for number in range(130)]
    assert sent(code.server, *map(new_skill, ids), new_skill("no"), **code.headers)["created"] == 130
    entries = code.server.api("GET", "/audit", params={"limit": 100}, headers=admin).json()
    assert entries["pagination"]["total"] == before + 130
    assert [one["detail"] for one in entries["data"]] == ids[:-101:-1]
    assert {one["action"] for one in entries["data"]} == {"POST /api/v1/skills:batch"}


def test_a_name_that_looks_published_is_refused(publishing: Registry) -> None:
    publishing.finished(publishing.publish(skill_package("pdf-tools")))
    headers = publishing.caller("other/bob")
    data = sent(publishing, new_skill("pdf-too1s"), new_skill("unlike-it"), **headers)
    assert [one.get("error", {}).get("code") for one in data["results"]] == ["CONFLICT", None]


def test_a_read_only_service_refuses_a_batch(tmp_path: Path) -> None:
    with RunningServer(tmp_path):
        pass
    with RunningServer(tmp_path, "--read-only") as server:
        assert send(server, new_skill("some-one")).status_code == 403
