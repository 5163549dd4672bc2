"""Skills over HTTP: create, read, change, delete, list; the wire rules of the contract."""

import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from support.servers import RunningServer, new_skill

TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def create(server: RunningServer, skill_id: str, **fields: Any) -> dict[str, Any]:
    answer = server.api("POST", "/skills", json=new_skill(skill_id, **fields))
    assert answer.status_code == 201, answer.text
    data: dict[str, Any] = answer.json()["data"]
    return data


def faults(answer: Any) -> set[str]:
    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    assert error["code"] == "VALIDATION_ERROR"
    return {fault["field"] for fault in error.get("details", [])}


def test_a_skill_is_created_as_a_folder_agents_can_use(server: RunningServer) -> None:
    data = create(server, "made-here", tags=["pdf", "forms"], author="Ada", content="# How\n\nDo it.\n")
    text = (server.skills_dir / "made-here" / "SKILL.md").read_text()
    assert text.startswith("---\nname: made-here\n")
    assert text.endswith("# How\n\nDo it.\n")
    assert (data["tags"], data["author"], data["installed"], data["version"]) == (
        ["pdf", "forms"],
        "Ada",
        True,
        "1.0.0",
    )
    assert TIMESTAMP.fullmatch(data["created_at"])
    assert data["created_at"] == data["updated_at"]


def test_a_created_skill_can_be_read_where_the_answer_says(server: RunningServer) -> None:
    answer = server.api("POST", "/skills", json=new_skill("located"))
    assert answer.headers["Location"] == "/api/v1/skills/located"
    read = server.http.get(answer.headers["Location"])
    assert read.json()["data"] == answer.json()["data"]
    assert read.headers["ETag"] == answer.headers["ETag"] == read.json()["data"]["etag"]


@pytest.mark.parametrize("description", ["too short", " " * 20, "\n" * 20, "x" * 501])
def test_a_description_says_something(server: RunningServer, description: str) -> None:
    assert faults(server.api("POST", "/skills", json=new_skill("vague", description=description))) == {"description"}


def test_server_side_fields_in_a_body_are_ignored(server: RunningServer) -> None:
    data = create(server, "honest", created_at="1999-01-01T00:00:00.000Z", installed=False, role="admin", success=False)
    assert data["created_at"] > "2020"
    assert data["installed"] is True
    assert "role" not in data


@pytest.mark.parametrize(
    "skill_id",
    [
        "ab",
        "a" * 51,
        "-abc",
        "abc-",
        "_abc",
        "abc_",
        "abc\n",
        "ABC",
        "a b c",
        "abⅧ",
        "аbc",
        "ab٢",
        "",
        "a/b/c",
        "search",
    ],
)
def test_ids_outside_the_rule_are_refused(server: RunningServer, skill_id: str) -> None:
    assert "id" in faults(server.api("POST", "/skills", json=new_skill(skill_id)))


@pytest.mark.parametrize("skill_id", ["abc", "a" * 50, "0a0", "a-b_c", "a--b"])
def test_ids_within_the_rule_are_accepted(server: RunningServer, skill_id: str) -> None:
    assert create(server, skill_id)["id"] == skill_id


@pytest.mark.parametrize(
    "version", ["1.0", "01.0.0", "1.0.0\n", "1.٢.3", " 1.0.0", "1.0.0.0", "1.0." + "9" * 30, "v1.0.0", "1.0.0-rc1", ""]
)
def test_versions_outside_the_rule_are_refused(server: RunningServer, version: str) -> None:
    assert faults(server.api("POST", "/skills", json=new_skill("versioned", version=version))) == {"version"}


@pytest.mark.parametrize(
    ("field", "below", "at", "above"),
    [
        ("name", "", "n" * 100, "n" * 101),
        ("description", "d" * 9, "d" * 500, "d" * 501),
        ("execution_timeout", 0, 300, 301),
        ("memory_limit_mb", 31, 2048, 2049),
        ("tags", ["t"], ["t" * 30], ["t" * 31]),
        ("capabilities", ["cc"], ["c" * 50], ["c" * 51]),
        ("tags", ["bad tag"], [f"tag-{number}" for number in range(20)], [f"tag-{number}" for number in range(21)]),
    ],
)
def test_limits_hold_exactly(server: RunningServer, field: str, below: Any, at: Any, above: Any) -> None:
    name = f"limit-{field.replace('_', '-')}-{len(str(at))}"
    for refused in (below, above):
        found = faults(server.api("POST", "/skills", json=new_skill(name, **{field: refused})))
        assert {one.partition("[")[0] for one in found} == {field}
    assert create(server, name, **{field: at})[field] == at


def test_every_fault_of_a_body_is_told_at_once(server: RunningServer) -> None:
    body = {"id": "X", "name": "", "description": "short", "version": "1", "enabled": "yes", "author": 5}
    assert faults(server.api("POST", "/skills", json=body)) == {
        "id",
        "name",
        "description",
        "version",
        "enabled",
        "author",
    }


@pytest.mark.parametrize("field", ["name", "description", "author", "content"])
@pytest.mark.parametrize("text", ["nul \x00 inside", "escape \x1b[2J", "bell \x07 rings"])
def test_control_characters_are_refused(server: RunningServer, field: str, text: str) -> None:
    assert faults(server.api("POST", "/skills", json=new_skill("controlled", **{field: text}))) == {field}


@pytest.mark.parametrize(
    "text",
    [
        "emoji 🎉👩‍👩‍👧 and flags 🇫🇷",
        "表单填写与读取工具说明",
        "نص من اليمين إلى اليسار",
        "quotes \" ' and: colons # hashes",
        "- dash first, then & and * and !",
        "yes",
        "1.10 looks like a number",
        "trailing: colon:",
        "{braces} [brackets] | pipe > fold",
        "back\\slash and %percent @at `tick`",
    ],
)
def test_text_comes_back_as_it_was_sent(server: RunningServer, text: str) -> None:
    name = f"text-{abs(hash(text)) % 10**9}"
    description = f"{text} padding it out"
    data = create(server, name, name=text[:100], description=description, author=text[:50])
    read = server.api("GET", f"/skills/{name}").json()["data"]
    for one in (data, read):
        assert (one["name"], one["description"], one["author"]) == (text[:100], description, text[:50])


def test_tags_may_be_one_string(server: RunningServer) -> None:
    assert create(server, "stringly", tags=" pdf, forms ,,pdf ")["tags"] == ["pdf", "forms"]
    assert faults(server.api("POST", "/skills", json=new_skill("stringly-2", tags="ok, no good"))) == {"tags[1]"}


def test_an_existing_id_is_a_conflict(server: RunningServer) -> None:
    create(server, "twice")
    answer = server.api("POST", "/skills", json=new_skill("twice"))
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "CONFLICT")


def test_of_fifty_creates_at_once_one_wins(server: RunningServer) -> None:
    with ThreadPoolExecutor(50) as pool:
        codes = list(pool.map(lambda _: server.api("POST", "/skills", json=new_skill("raced")).status_code, range(50)))
    assert sorted(codes) == [201] + [409] * 49


def test_an_update_changes_what_is_sent_and_nothing_else(server: RunningServer) -> None:
    before = create(server, "updated", tags=["old"], content="# Kept\n")
    answer = server.api("PUT", "/skills/updated", json={"tags": ["new"], "version": "1.1.0"})
    data = answer.json()["data"]
    assert set(data) == {"id", "tags", "version", "updated_at"}
    after = server.api("GET", "/skills/updated").json()["data"]
    changed = {key for key in after if after[key] != before[key]}
    assert changed <= {"tags", "version", "latest_version", "updated_at", "etag", "digest", "metadata"}
    assert (server.skills_dir / "updated" / "SKILL.md").read_text().endswith("# Kept\n")


def test_an_update_leaves_the_authors_comments_and_other_keys(server: RunningServer) -> None:
    folder = server.skills_dir / "by-hand"
    folder.mkdir()
    text = "---\nname: by-hand\n# why\ndescription: Written by hand, with care.\nlicense: MIT # ok\n---\nBody\n"
    (folder / "SKILL.md").write_text(text)
    server.wait_for(lambda: server.api("GET", "/skills/by-hand").status_code == 200)
    assert server.api("PUT", "/skills/by-hand", json={"description": "Another description."}).status_code == 200
    after = (folder / "SKILL.md").read_text()
    assert after == text.replace("Written by hand, with care.", "Another description.")


def test_the_id_in_a_body_must_be_the_one_in_the_path(server: RunningServer) -> None:
    create(server, "fixed-id")
    assert faults(server.api("PUT", "/skills/fixed-id", json={"id": "other", "name": "x"})) == {"id"}
    assert server.api("PUT", "/skills/fixed-id", json={"id": "fixed-id", "name": "x"}).status_code == 200
    assert server.api("PUT", "/skills/fixed-id", json={}).status_code == 400


def test_enabled_is_switched_and_told_in_time(server: RunningServer) -> None:
    before = create(server, "switched", description="A zyzzyva to be switched off.")
    answer = server.api("PUT", "/skills/switched", json={"enabled": False})
    assert answer.json()["data"]["enabled"] is False
    assert answer.json()["data"]["updated_at"] >= before["updated_at"]
    assert server.found("zyzzyva") == []
    assert server.found("zyzzyva", filters={"enabled": False}) == ["switched"]
    assert server.api("GET", "/skills/switched").json()["data"]["enabled"] is False
    server.api("PUT", "/skills/switched", json={"enabled": True})
    assert server.found("zyzzyva") == ["switched"]


def test_a_deleted_skill_is_gone_with_its_folder(server: RunningServer) -> None:
    create(server, "doomed", description="A quokka that will go away.")
    answer = server.api("DELETE", "/skills/doomed")
    assert (answer.status_code, answer.json()["data"]["id"]) == (200, "doomed")
    assert not (server.skills_dir / "doomed").exists()
    assert server.found("quokka") == []
    for method in ("GET", "DELETE"):
        missing = server.api(method, "/skills/doomed")
        assert (missing.status_code, missing.json()["error"]["code"]) == (404, "SKILL_NOT_FOUND")
        assert "doomed" in missing.json()["error"]["message"]


@pytest.mark.parametrize("body", [{}, {"id": "another"}, {"tags": "a"}, {"name": "New name"}], ids=str)
def test_the_rules_of_a_body_come_before_whether_the_skill_exists(server: RunningServer, body: dict[str, Any]) -> None:
    answer = server.api("PUT", "/skills/never-there", json=body)
    assert answer.status_code == (404 if "name" in body else 400)


def test_a_write_on_a_stale_record_is_refused(server: RunningServer) -> None:
    etag = create(server, "matched")["etag"]
    first = server.api("PUT", "/skills/matched", json={"name": "one"}, headers={"If-Match": etag})
    second = server.api("PUT", "/skills/matched", json={"name": "two"}, headers={"If-Match": etag})
    assert (first.status_code, second.status_code) == (200, 412)
    assert server.api("GET", "/skills/matched").json()["data"]["name"] == "one"
    assert server.api("DELETE", "/skills/matched", headers={"If-Match": etag}).status_code == 412


@pytest.mark.parametrize(
    ("value", "status"), [("*", 200), ('W/"1"', 412), ("nonsense", 412), ('"a", {}', 200), ("", 412), ('"x', 412)]
)
def test_if_match_in_every_form(server: RunningServer, value: str, status: int) -> None:
    create(server, "forms") if server.api("GET", "/skills/forms").status_code == 404 else None
    etag = server.api("GET", "/skills/forms").headers["ETag"]
    answer = server.api("PUT", "/skills/forms", json={"author": "x"}, headers={"If-Match": value.format(etag)})
    assert answer.status_code == status


def test_reads_say_when_nothing_has_changed(server: RunningServer) -> None:
    create(server, "cached")
    for path in ("/skills/cached", "/skills"):
        etag = server.api("GET", path).headers["ETag"]
        for known in (etag, f"W/{etag}", f'"other", {etag}', "*"):
            again = server.api("GET", path, headers={"If-None-Match": known})
            assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", etag)
        assert server.api("GET", path, headers={"If-None-Match": '"other"'}).status_code == 200


def test_lists_are_paged_and_clamped(server: RunningServer) -> None:
    for number in range(3):
        create(server, f"listed-{number}")
    answer = server.api("GET", "/skills?limit=2&offset=1").json()
    assert len(answer["data"]) == 2
    assert (answer["pagination"]["limit"], answer["pagination"]["offset"]) == (2, 1)
    assert server.api("GET", "/skills?limit=5000").json()["pagination"]["limit"] == 100
    far = server.api("GET", "/skills?offset=1000000000").json()
    assert (far["data"], far["pagination"]["total"]) == ([], answer["pagination"]["total"])


def test_the_link_of_each_page_leads_through_the_list(server: RunningServer) -> None:
    for number in range(5):
        create(server, f"linked-{number}", content="")
    whole = server.api("GET", "/skills?limit=100").json()["data"]
    answer = server.api("GET", "/skills?limit=2&enabled=true")
    found: list[dict[str, Any]] = []
    while True:
        page = answer.json()
        assert (page["pagination"]["offset"], page["pagination"]["total"]) == (len(found), len(whole))
        found += page["data"]
        if "next" not in answer.links:
            break
        assert answer.links["next"]["url"].startswith(f"{server.url}/api/v1/skills?limit=2&enabled=true&cursor=")
        answer = server.http.get(answer.links["next"]["url"])
    assert found == whole
    assert "Link" not in server.api("GET", "/skills?limit=100").headers


@pytest.mark.parametrize("cursor", ["!", "MTIz", "MS4yLjM", "LTEuMg", "x" * 65, "2aHZoi4x", "\N{SNOWMAN}", "%00"])
def test_a_cursor_that_no_page_gave_is_refused(server: RunningServer, cursor: str) -> None:
    assert faults(server.api("GET", "/skills", params={"cursor": cursor})) == {"cursor"}


def test_a_cursor_excludes_an_offset(server: RunningServer) -> None:
    assert faults(server.api("GET", "/skills", params={"cursor": "MS4x", "offset": 1})) == {"offset"}
    assert server.api("GET", "/skills", params={"cursor": "OTk5OTk5OTk5OTk5OTk5OS45", "offset": 0}).json()["data"] == []


@pytest.mark.parametrize("key", ["limit", "offset"])
@pytest.mark.parametrize(
    "value", ["-1", "1e3", "1_000", "٣", '"5"', "1.0", "true", "+5", "", " 5", "9" * 5000, str(2**63)]
)
def test_page_bounds_are_plain_numbers(server: RunningServer, key: str, value: str) -> None:
    assert key in faults(server.api("GET", "/skills", params={key: value}))


def test_a_limit_of_none_is_refused(server: RunningServer) -> None:
    assert faults(server.api("GET", "/skills?limit=0")) == {"limit"}


def test_cards_have_the_contracts_keys(server: RunningServer) -> None:
    create(server, "carded")
    (card, *_) = server.api("GET", "/skills").json()["data"]
    eight = {"id", "name", "description", "version", "author", "enabled", "created_at", "updated_at"}
    needs = {"compatibility", "allowed_tools", "requires", "agents", "model_invocation", "triggers"}
    needs |= {"installable", "not_installable"}
    assert set(card) == eight | needs | {"tags", "capabilities", "installed", "source", "license", "findings"}
    detail = server.api("GET", "/skills/carded").json()["data"]
    table = {"skill_file", "source_url", "source_type", "source_branch", "editable", "execution_environment"}
    more = {"dependencies", "timeout", "scope", "digest", "execution_timeout", "memory_limit_mb", "metadata"}
    assert eight | table | more | {"tags", "capabilities", "latest_version", "etag"} <= set(detail)


def test_the_files_of_a_skill_are_listed_with_their_sizes(server: RunningServer) -> None:
    create(server, "with-files", content="# Text\n")
    (server.skills_dir / "with-files" / "notes.txt").write_text("four")
    files = server.api("GET", "/skills/with-files/files").json()["data"]
    assert files[1] == {"path": "notes.txt", "size": 4}
    assert [one["path"] for one in files] == ["SKILL.md", "notes.txt"]
