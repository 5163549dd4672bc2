"""The code v1 API and its twin at `/v1/skills`: the specification's tables, field by field."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from support.code_v1 import PREFIXES, Code, error
from support.servers import RunningServer, new_skill

EIGHT = {"id", "name", "description", "version", "author", "enabled", "created_at", "updated_at"}
CREATED = EIGHT - {"author"}
SDK_FIELDS = {"object", "type", "display_name", "default_version", "latest_version", "latest_version_id", "source"}
DETAIL = EIGHT | {
    "tags", "capabilities", "skill_file", "source_url", "source_type", "source_branch", "editable",
    "execution_environment", "dependencies", "timeout",
}  # fmt: skip


@pytest.mark.parametrize("prefix", PREFIXES)
def test_create_answers_seven_fields_and_lists_have_eight_and_those_of_sdks(code: Code, prefix: str) -> None:
    skill_id = f"shaped-{prefix.count('/')}"
    created = code.ask("POST", "/skills", prefix, json=new_skill(skill_id, author="Ada"))
    assert (created.status_code, set(created.json()["data"])) == (201, CREATED)
    assert created.headers["Location"] == f"{prefix}/skills/{skill_id}"
    listed = code.ask("GET", "/skills", prefix, params={"limit": 100}).json()
    expected = EIGHT | (SDK_FIELDS if prefix == "/v1" else set())
    assert {frozenset(item) for item in listed["data"]} == {frozenset(expected)}
    assert set(listed["pagination"]) == {"total", "limit", "offset"}


@pytest.mark.parametrize("prefix", PREFIXES)
def test_the_detail_has_the_whole_table_as_it_was_sent(code: Code, prefix: str) -> None:
    sent = new_skill(
        f"detailed-{prefix.count('/')}",
        author="Ada", tags=["pdf", "forms"], capabilities=["fill forms"], enabled=False,
        source_url="https://git.example/a.git", source_type="git", source_branch="main", editable=True,
        execution_timeout=300, memory_limit_mb=64,
    )  # fmt: skip
    code.ask("POST", "/skills", json=sent)
    detail = code.ask("GET", f"/skills/{sent['id']}", prefix).json()["data"]
    assert set(detail) >= DETAIL
    assert {name: detail[name] for name in sent} == sent
    assert (detail["timeout"], detail["dependencies"], detail["execution_environment"]) == (300, [], None)


def test_what_only_the_server_knows_cannot_be_sent(code: Code) -> None:
    code.create("honest-record", created_at="1999-01-01T00:00:00.000Z", role="admin", installed=True, digest="x")
    detail = code.get("/skills/honest-record")
    assert detail["created_at"] > "2020"
    assert (detail["installed"], detail["digest"], detail["source"]) == (False, None, "registry")


def test_update_answers_the_id_the_changed_fields_and_when(code: Code) -> None:
    before = code.create("updated-one")
    answer = code.ask("PUT", "/skills/updated-one", json={"description": "Another description.", "enabled": False})
    assert set(answer.json()["data"]) == {"id", "description", "enabled", "updated_at"}
    assert answer.json()["data"]["updated_at"] >= before["updated_at"]
    detail = code.get("/skills/updated-one")
    assert (detail["name"], detail["enabled"]) == (before["name"], False)
    assert code.ask("PUT", "/skills/updated-one", "/v1", json={"enabled": True}).status_code == 405


def test_an_update_of_the_text_is_what_is_found_and_may_be_nothing(code: Code) -> None:
    code.create("worded-one", content="All about theremins.")
    for content in ("All about harpsichords.", ""):
        assert code.ask("PUT", "/skills/worded-one", json={"content": content}).status_code == 200
        read = code.server.api("GET", "/skills/worded-one/content", headers=code.headers).json()["data"]
        assert read["content"] == content


def test_the_flag_is_turned_off_and_on_and_filters_the_list(code: Code) -> None:
    code.create("flagged-one")
    for enabled in (False, True):
        code.ask("PUT", "/skills/flagged-one", json={"enabled": enabled})
        shown = {item["id"] for item in code.get(f"/skills?enabled={str(enabled).lower()}&limit=100")}
        hidden = {item["id"] for item in code.get(f"/skills?enabled={str(not enabled).lower()}&limit=100")}
        assert "flagged-one" in shown - hidden


@pytest.mark.parametrize("body", [{}, {"id": "another-one"}, {"name": ""}, {"version": "1"}, {"tags": ["x"]}, []])
def test_an_update_that_breaks_a_rule_changes_nothing(code: Code, body: Any) -> None:
    code.create("unchanged-one")
    before = code.get("/skills/unchanged-one")
    assert error(code.ask("PUT", "/skills/unchanged-one", json=body)) == (400, "VALIDATION_ERROR")
    assert code.get("/skills/unchanged-one") == before
    code.ask("DELETE", "/skills/unchanged-one")


@pytest.mark.parametrize("prefix", PREFIXES)
def test_delete_says_what_is_gone(code: Code, prefix: str) -> None:
    code.create("gone-soon")
    answer = code.ask("DELETE", "/skills/gone-soon", prefix)
    assert (answer.status_code, set(answer.json()["data"])) == (200, {"id", "message"})
    for method in ("GET", "DELETE"):
        missing = code.ask(method, "/skills/gone-soon", prefix)
        assert error(missing) == (404, "SKILL_NOT_FOUND")
        assert "gone-soon" in missing.json()["error"]["message"]


def test_a_record_is_found_and_is_no_longer_when_it_is_gone(code: Code) -> None:
    def found() -> list[str]:
        answer = code.server.http.post("/api/search", json={"query": "zeppelin"}, headers=code.headers)
        return [hit["skill"]["id"] for hit in answer.json()["data"]["skills"]]

    code.create("airship", description="Steer a zeppelin through fog.")
    assert found() == ["airship"]
    code.ask("DELETE", "/skills/airship")
    assert found() == []


def test_the_pages_of_the_list_are_bounded(code: Code) -> None:
    for number in range(3):
        code.create(f"paged-{number}")
    page = code.ask("GET", "/skills?limit=2&offset=1").json()
    assert (len(page["data"]), page["pagination"]["limit"], page["pagination"]["offset"]) == (2, 2, 1)
    assert code.ask("GET", "/skills?limit=5000").json()["pagination"]["limit"] == 100
    for query in ("limit=0", "limit=-1", "offset=-1", "limit=1e3", "limit=٣", "enabled=yes", "limit=1&limit=2"):
        assert error(code.ask("GET", f"/skills?{query}")) == (400, "VALIDATION_ERROR")


def test_fifty_creates_at_once_make_one_skill(code: Code) -> None:
    with ThreadPoolExecutor(16) as pool:
        body = new_skill("wanted-by-all")
        answers = list(pool.map(lambda _: code.ask("POST", "/skills", json=body).status_code, range(50)))
    assert sorted(answers) == [201] + [409] * 49


def test_two_updates_of_what_was_read_once_are_one_too_many(code: Code) -> None:
    code.create("contended-one")
    tag = code.ask("GET", "/skills/contended-one").headers["ETag"]
    with ThreadPoolExecutor(2) as pool:
        update: dict[str, Any] = {"json": {"author": "Ada"}, "headers": {"If-Match": tag}}
        answers = pool.map(lambda _: code.ask("PUT", "/skills/contended-one", **update).status_code, range(2))
    assert sorted(answers) == [200, 412]
    assert error(code.ask("DELETE", "/skills/contended-one", headers={"If-Match": tag})) == (412, "PRECONDITION_FAILED")


def test_what_has_not_changed_is_not_sent_again(code: Code) -> None:
    code.create("cached-one")
    for path in ("/skills/cached-one", "/skills"):
        tag = code.ask("GET", path).headers["ETag"]
        assert code.ask("GET", path, headers={"If-None-Match": tag}).status_code == 304
        assert code.ask("GET", path, headers={"If-None-Match": '"other"'}).status_code == 200


def test_a_restart_keeps_skills_and_versions(tmp_path: Path) -> None:
    with RunningServer(tmp_path, "--profile", "registry") as server:
        code = Code(server)
        code.create("kept-one", tags=["kept"])
        code.add("kept-one", "1.1.0")
        before = code.get("/skills/kept-one"), code.get("/skills/kept-one/versions")
    with RunningServer(tmp_path, "--profile", "registry") as server:
        assert (Code(server).get("/skills/kept-one"), Code(server).get("/skills/kept-one/versions")) == before
