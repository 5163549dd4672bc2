"""Versions of a skill: numbers that sort as numbers, a current one that moves up and back."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from support.code_v1 import PREFIXES, Code, error, fields


@pytest.mark.parametrize("prefix", PREFIXES)
def test_a_version_has_the_fields_of_its_table(code: Code, prefix: str) -> None:
    skill_id = f"versioned-{prefix.count('/')}"
    code.create(skill_id)
    body = {"version": "1.1.0", "description": "Second one", "changes": ["faster", "smaller"]}
    made = code.ask("POST", f"/skills/{skill_id}/versions", prefix, json=body)
    path = f"/skills/{skill_id}/versions/1.1.0"
    assert (made.status_code, made.headers["Location"]) == (201, prefix + path)
    data = made.json()["data"]
    assert set(data) == {"skill_id", "version", "description", "changes", "created_at"}
    assert (
        data
        == code.ask("GET", path, prefix).json()["data"]
        == body | {"skill_id": skill_id, "created_at": data["created_at"]}
    )


def test_versions_are_listed_newest_first_without_their_changes(code: Code) -> None:
    code.create("many-versions", version="1.9.0")
    code.add("many-versions", "1.10.0", "1.2.0", "10.0.0", "1.9.10")
    listed = code.ask("GET", "/skills/many-versions/versions").json()
    assert [item["version"] for item in listed["data"]] == ["10.0.0", "1.10.0", "1.9.10", "1.9.0", "1.2.0"]
    assert {frozenset(item) for item in listed["data"]} == {
        frozenset(("skill_id", "version", "description", "created_at"))
    }
    assert listed["pagination"] == {"total": 5, "limit": 20, "offset": 0}
    page = code.ask("GET", "/skills/many-versions/versions?limit=1&offset=1").json()
    assert [item["version"] for item in page["data"]] == ["1.10.0"]


def test_a_version_that_was_deleted_and_added_again_has_another_tag(code: Code) -> None:
    code.create("again-one", version="2.0.0")
    path = "/skills/again-one/versions"
    tags = []
    for words in ("A first one", "A second one"):
        code.ask("POST", path, json={"version": "1.0.0", "description": words})
        tags.append(code.ask("GET", f"{path}/1.0.0").headers["ETag"])
        if len(tags) == 1:
            assert code.ask("DELETE", f"{path}/1.0.0", headers={"If-Match": tags[0]}).status_code == 200
    assert code.ask("GET", f"{path}/1.0.0", headers={"If-None-Match": tags[0]}).status_code == 200
    stale = code.ask("DELETE", f"{path}/1.0.0", headers={"If-Match": tags[0]})
    assert error(stale) == (412, "PRECONDITION_FAILED")
    absent = code.ask("DELETE", f"{path}/3.0.0", headers={"If-Match": tags[0]})
    assert error(absent) == (404, "SKILL_NOT_FOUND")
    assert code.ask("DELETE", f"{path}/1.0.0", headers={"If-Match": tags[1]}).status_code == 200


def test_a_list_of_versions_is_sent_again_only_when_it_has_changed(code: Code) -> None:
    code.create("listed-one", version="2.0.0")
    path = "/skills/listed-one/versions"
    before = code.ask("GET", path)
    known = {"If-None-Match": before.headers["ETag"]}
    same = code.ask("GET", path, headers=known)
    assert (same.status_code, same.content) == (304, b"")
    code.add("listed-one", "1.0.0")
    after = code.ask("GET", path, headers=known)
    assert [item["version"] for item in after.json()["data"]] == ["2.0.0", "1.0.0"]
    assert after.headers["ETag"] != before.headers["ETag"]


def test_a_version_without_a_description_has_the_skill_s(code: Code) -> None:
    skill = code.create("described-one")
    code.add("described-one", "1.0.1")
    version = code.get("/skills/described-one/versions/1.0.1")
    assert (version["description"], version["changes"]) == (skill["description"], [])


def test_the_current_version_goes_up_and_back(code: Code) -> None:
    def current() -> tuple[str, str]:
        skill = code.get("/skills/moving-one")
        return skill["version"], skill["latest_version"]

    code.create("moving-one")
    code.add("moving-one", "1.10.0")
    assert current() == ("1.10.0", "1.10.0")
    code.add("moving-one", "1.9.0")
    assert current() == ("1.10.0", "1.10.0")
    assert code.ask("DELETE", "/skills/moving-one/versions/1.10.0").status_code == 200
    assert current() == ("1.9.0", "1.9.0")
    assert code.ask("DELETE", "/skills/moving-one/versions/1.0.0").status_code == 200
    assert current() == ("1.9.0", "1.9.0")


def test_an_update_of_the_version_is_a_version(code: Code) -> None:
    code.create("bumped-one")
    code.ask("PUT", "/skills/bumped-one", json={"version": "2.0.0"})
    assert code.versions("bumped-one") == ["2.0.0", "1.0.0"]
    code.ask("PUT", "/skills/bumped-one", json={"version": "1.0.0"})
    assert (code.get("/skills/bumped-one")["version"], code.get("/skills/bumped-one")["latest_version"]) == (
        "1.0.0",
        "2.0.0",
    )
    assert code.ask("DELETE", "/skills/bumped-one/versions/2.0.0").status_code == 200
    assert code.get("/skills/bumped-one")["latest_version"] == "1.0.0"


def test_deleting_a_version_says_which_and_the_last_one_stays(code: Code) -> None:
    code.create("pruned-one")
    code.add("pruned-one", "1.1.0")
    deleted = code.ask("DELETE", "/skills/pruned-one/versions/1.0.0")
    assert (deleted.status_code, set(deleted.json()["data"])) == (200, {"skill_id", "version", "message"})
    assert error(code.ask("DELETE", "/skills/pruned-one/versions/1.1.0")) == (409, "CONFLICT")
    assert code.versions("pruned-one") == ["1.1.0"]


def test_a_version_is_deleted_only_in_the_state_that_the_caller_knows(code: Code) -> None:
    code.create("known-one")
    code.add("known-one", "1.1.0")
    path = "/skills/known-one/versions/1.0.0"
    tag = code.ask("GET", path).headers["ETag"]
    assert tag == code.ask("GET", "/skills/known-one").headers["ETag"]
    assert code.ask("GET", path, headers={"If-None-Match": tag}).status_code == 304
    code.ask("PUT", "/skills/known-one", json={"author": "Ada"})
    assert error(code.ask("DELETE", path, headers={"If-Match": tag})) == (412, "PRECONDITION_FAILED")
    assert code.versions("known-one") == ["1.1.0", "1.0.0"]
    now = code.ask("GET", path, headers={"If-None-Match": tag}).headers["ETag"]
    assert code.ask("DELETE", path, headers={"If-Match": now}).status_code == 200
    assert code.versions("known-one") == ["1.1.0"]


@pytest.mark.parametrize("version", ["9.9.9", "1.0.0 ", "01.0.0", "1.0", "latest", "1.0.0%0A", "1.٢.3", "-1.0.0"])
def test_a_version_that_is_not_there_is_named(code: Code, version: str) -> None:
    if not code.ask("GET", "/skills/sparse-one").is_success:
        code.create("sparse-one")
    for method in ("GET", "DELETE"):
        answer = code.ask(method, f"/skills/sparse-one/versions/{version}")
        assert error(answer) in {(404, "SKILL_NOT_FOUND"), (400, "VALIDATION_ERROR")}
        assert "sparse-one" in answer.json()["error"]["message"]
    assert code.versions("sparse-one") == ["1.0.0"]


def test_versions_of_a_skill_that_is_not_there_are_none(code: Code) -> None:
    for method, path in (("GET", ""), ("POST", ""), ("GET", "/1.0.0"), ("DELETE", "/1.0.0")):
        answer = code.ask(
            method, f"/skills/nowhere/versions{path}", json={"version": "1.0.0"} if method == "POST" else None
        )
        assert error(answer) == (404, "SKILL_NOT_FOUND")
        assert "nowhere" in answer.json()["error"]["message"]


def test_a_version_is_added_once_however_many_try(code: Code) -> None:
    code.create("raced-one")
    with ThreadPoolExecutor(8) as pool:
        body = {"version": "2.0.0"}
        answers = list(
            pool.map(lambda _: code.ask("POST", "/skills/raced-one/versions", json=body).status_code, range(20))
        )
    assert sorted(answers) == [201] + [409] * 19
    assert code.versions("raced-one") == ["2.0.0", "1.0.0"]


@pytest.mark.parametrize(
    "body",
    [{}, {"version": "1"}, {"version": None}, {"version": "2.0.0", "changes": "x"},
     {"version": "2.0.0", "changes": [""]}, {"version": "2.0.0", "changes": ["x"] * 101},
     {"version": "2.0.0", "description": ""}, {"version": "2.0.0", "description": "x" * 501}],
)  # fmt: skip
def test_a_version_that_breaks_a_rule_is_refused(code: Code, body: dict[str, Any]) -> None:
    assert fields(code.ask("POST", "/skills/ruled-one/versions", json=body))


def test_a_skill_that_comes_back_has_none_of_its_old_versions(code: Code) -> None:
    code.create("phoenix")
    code.add("phoenix", "3.0.0")
    code.ask("DELETE", "/skills/phoenix")
    code.create("phoenix", version="1.5.0")
    assert code.versions("phoenix") == ["1.5.0"]


def test_a_folder_with_a_scope_is_read_and_changed_by_both_spellings(code: Code) -> None:
    for owner in ("alice", "bob"):
        folder = code.server.skills_dir / owner / "whisper"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(f"---\nname: whisper\ndescription: Whisper as {owner} does.\n---\nText\n")
    code.server.wait_for(lambda: code.ask("GET", "/skills/bob/whisper").is_success)
    for spelling, version in (("bob/whisper", "1.1.0"), ("bob%2Fwhisper", "1.2.0")):
        code.add(spelling, version)
        assert code.get(f"/skills/{spelling}")["version"] == version
        assert code.get(f"/skills/{spelling}/versions/{version}")["skill_id"] == "bob/whisper"
        assert code.ask("DELETE", f"/skills/{spelling}/versions/{version}").status_code == 200
