"""The manifest over HTTP: the project's skills listed, added, changed, removed; the project; the rule file."""

import subprocess
import threading
import tomllib
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from support.commands import Done
from support.servers import COMMAND, RunningServer, write_skill
from support.waiting import PATIENCE_SECONDS

GIT = {"type": "git", "url": "https://example.org/tea.git", "ref": {"tag": "v1"}, "subdir": "skills/tea"}


def add(server: RunningServer, skill_id: str, **fields: Any) -> httpx.Response:
    return server.api("POST", "/manifest/skills", json={"skill_id": skill_id, **fields})


def entries(server: RunningServer) -> dict[str, Any]:
    return {entry["id"]: entry for entry in server.api("GET", "/manifest/skills").json()["data"]}


def dependencies(server: RunningServer) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads(server.manifest.read_text())["dependencies"]
    return found


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def fields(answer: httpx.Response) -> set[str]:
    assert code(answer) == (400, "VALIDATION_ERROR"), answer.text
    return {fault["field"] for fault in answer.json()["error"]["details"]}


def test_an_added_skill_stands_in_the_file_and_in_the_list(server: RunningServer) -> None:
    answer = add(server, "added", version="1.2.0", origin=GIT, groups=["dev"])
    assert (answer.status_code, answer.headers["Location"]) == (201, "/api/v1/manifest/skills/added")
    expected = {"id": "added", "version": "1.2.0", "groups": ["dev"], "editable": False, "source_type": "git"}
    assert answer.json()["data"] == entries(server)["added"] == expected
    assert dependencies(server)["added"] == {"version": "1.2.0", "origin": GIT, "groups": ["dev"]}


def test_a_version_alone_is_written_as_one(server: RunningServer) -> None:
    assert add(server, "plain", version="1.2.0").status_code == 201
    assert dependencies(server)["plain"] == "1.2.0"
    assert entries(server)["plain"]["source_type"] == "source"


def test_a_source_is_an_origin(server: RunningServer) -> None:
    assert add(server, "acme/sourced", source_name="team").status_code == 201
    assert dependencies(server)["acme/sourced"] == {
        "origin": {"type": "source", "source": "team", "skill": "acme/sourced"}
    }


def test_a_skill_is_added_once(server: RunningServer) -> None:
    assert add(server, "once").status_code == 201
    assert code(add(server, "once", version="9.9.9")) == (409, "CONFLICT")
    assert entries(server)["once"]["version"] is None


def test_a_change_is_saved_and_changes_only_what_is_sent(server: RunningServer) -> None:
    add(server, "changing", version="1.0.0", origin=GIT, groups=["dev"])
    answer = server.api("PUT", "/manifest/skills/changing", json={"version": "2.0.0", "created_at": "ignored"})
    assert answer.json()["data"] == entries(server)["changing"]
    assert dependencies(server)["changing"] == {"version": "2.0.0", "origin": GIT, "groups": ["dev"]}
    server.api("PUT", "/manifest/skills/changing", json={"version": None, "groups": [], "source_name": "team"})
    assert dependencies(server)["changing"] == {"origin": {"type": "source", "source": "team", "skill": "changing"}}


def test_a_change_that_is_none_is_refused(server: RunningServer) -> None:
    add(server, "unchanged")
    for body in ({}, {"unknown": 1}):
        assert code(server.api("PUT", "/manifest/skills/unchanged", json=body)) == (400, "VALIDATION_ERROR")
    assert code(server.api("PUT", "/manifest/skills/unchanged")) == (400, "VALIDATION_ERROR")
    assert fields(server.api("PUT", "/manifest/skills/unchanged", json={"skill_id": "other"})) == {"skill_id"}


def test_a_removed_skill_is_gone(server: RunningServer) -> None:
    add(server, "removed")
    answer = server.api("DELETE", "/manifest/skills/removed")
    assert (answer.status_code, answer.json()["data"]["id"]) == (200, "removed")
    assert "removed" not in entries(server)
    for method in ("PUT", "DELETE"):
        answer = server.api(method, "/manifest/skills/removed", json={"version": "1.0.0"})
        assert code(answer) == (404, "NOT_FOUND")
        assert "removed" in answer.json()["error"]["message"]


@pytest.mark.parametrize("slash", ["/", "%2F", "%2f"])
def test_an_id_may_have_a_scope(server: RunningServer, slash: str) -> None:
    path = f"/manifest/skills/acme{slash}scoped"
    assert add(server, "acme/scoped").headers["Location"] == "/api/v1/manifest/skills/acme/scoped"
    assert server.api("PUT", path, json={"editable": True}).json()["data"]["editable"] is True
    assert server.api("DELETE", path).json()["data"]["id"] == "acme/scoped"


def test_every_fault_of_a_body_is_told_at_once(server: RunningServer) -> None:
    wrong: dict[str, Any] = {"version": "1.0", "groups": ["a b"], "editable": "yes", "source_name": "/"}
    assert fields(add(server, "A B", **wrong, origin={"type": "git"})) == {
        *("skill_id", "version", "groups[0]", "editable", "source_name", "origin.url")
    }
    assert fields(add(server, "a", origin=GIT, source_name="team")) == {"source_name"}
    said = {"type": "source", "source": "team", "skill": "a", "version": "1.0.0"}
    assert fields(add(server, "a", origin=said, version="2.0.0")) == {"version"}


def test_an_origin_may_be_one_string(server: RunningServer) -> None:
    assert add(server, "from-git", origin="https://example.org/a.git").status_code == 201
    assert entries(server)["from-git"]["source_type"] == "git"


@pytest.mark.parametrize(
    "origin",
    [
        {"type": "ftp", "url": "https://example.org/"},
        {"type": "zip", "url": "file:///etc/passwd"},
        {"type": "git", "url": "https://user:secret@example.org/a.git"},
        {"type": "git", "url": "https://example.org/a.git", "ref": {"branch": "--upload-pack=x"}},
        {"type": "local", "path": "a\n[dependencies]"},
        {"type": "git", "url": "https://example.org/a.git", "ref": {"branch": "main", "tag": "v1"}},
        {"type": "git", "url": "https://example.org/a.git", "ref": {}},
        {"type": "local", "path": ""},
        {"url": "https://example.org/"},
        "ftp://example.org/tea",
    ],
)
def test_an_origin_outside_the_rules_is_refused(server: RunningServer, origin: Any) -> None:
    assert all(field.startswith("origin") for field in fields(add(server, "refused", origin=origin)))
    assert "refused" not in entries(server)


@pytest.mark.parametrize(
    "skill_id", ["", "A", "a b", "a/b/c", "/a", "a/", "аbc", "٢", "abc\n", 'a"', "a]]", "..", "a" * 200]
)
def test_ids_outside_the_rule_are_refused(server: RunningServer, skill_id: str) -> None:
    assert fields(add(server, skill_id)) == {"skill_id"}


def test_requests_at_the_same_time_lose_nothing(server: RunningServer) -> None:
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda n: add(server, f"parallel-{n}"), range(40)))
        again = list(threads.map(lambda n: add(server, "just-one"), range(8)))
    assert {answer.status_code for answer in answers} == {201}
    assert sorted(answer.status_code for answer in again) == [201, *[409] * 7]
    assert {f"parallel-{n}" for n in range(40)} <= set(entries(server))


def test_workers_share_the_file(tmp_path: Path) -> None:
    with RunningServer(tmp_path, "--workers", "2") as server, ThreadPoolExecutor(4) as threads:

        def post(number: int) -> int:
            with httpx.Client(
                base_url=server.url, trust_env=False, timeout=PATIENCE_SECONDS
            ) as http:  # a new one: either worker
                return http.post("/api/v1/manifest/skills", json={"skill_id": f"shared-{number}"}).status_code

        assert set(threads.map(post, range(24))) == {201}
        assert len(entries(server)) == 24


def test_kill_9_loses_no_acknowledged_entry(tmp_path: Path) -> None:
    acknowledged: list[str] = []

    def add_until_killed(url: str, run: int) -> None:
        with httpx.Client(base_url=url, trust_env=False, timeout=PATIENCE_SECONDS) as http:
            try:
                for number in range(10_000):
                    name = f"run-{run}-{number}"
                    if http.post("/api/v1/manifest/skills", json={"skill_id": name}).status_code == 201:
                        acknowledged.append(name)
            except httpx.TransportError:
                return

    server = RunningServer(tmp_path)
    for run in range(4):
        server.start()
        writer = threading.Thread(target=add_until_killed, args=(server.url, run))
        writer.start()
        enough = len(acknowledged) + 2 + 3 * run
        server.wait_for(partial(lambda enough: len(acknowledged) >= enough, enough))
        server.kill()
        writer.join()
    with server:
        assert len(acknowledged) > 4
        assert set(acknowledged) <= set(entries(server))


def test_a_broken_file_is_told_and_left_alone(tmp_path: Path) -> None:
    with RunningServer(tmp_path) as server:
        server.manifest.write_text("a = 1\n[broken")
        for method, path in (
            ("GET", "/manifest/skills"), ("POST", "/manifest/skills"), ("PUT", "/manifest/skills/tea"),
            ("DELETE", "/manifest/skills/tea"), ("GET", "/project"),
        ):  # fmt: skip
            answer = server.api(method, path, json={"skill_id": "tea", "version": "1.0.0"})
            assert code(answer) == (400, "VALIDATION_ERROR")
            assert "skill-project.toml" in answer.json()["error"]["message"]
            assert "line 2" in answer.json()["error"]["message"]
            assert str(tmp_path) not in answer.text
        assert server.manifest.read_text() == "a = 1\n[broken"


def test_a_deleted_skill_leaves_the_manifest_too(tmp_path: Path) -> None:
    for name in ("pdf-forms", "sql-review"):
        write_skill(tmp_path / "skills", name, "A skill like any other.")
    with RunningServer(tmp_path) as server:
        server.manifest.write_text('[dependencies]\npdf-forms = "1.0.0"\ntea = "1.0.0"\n')
        assert server.api("DELETE", "/skills/pdf-forms").status_code == 200
        assert dependencies(server) == {"tea": "1.0.0"}
        server.manifest.write_text("[broken")
        assert server.api("DELETE", "/skills/sql-review").status_code == 200
        assert server.manifest.read_text() == "[broken"


def test_the_project_tells_what_is_installed(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "pdf-forms", "Fill in pdf forms.", version="1.3.0")
    with RunningServer(tmp_path) as server:
        empty = server.api("GET", "/project").json()["data"]
        assert empty == {"metadata": None, "skills_directory": None, "skills": []}
        assert server.api("GET", "/manifest/skills").json()["data"] == []
        server.manifest.write_text(
            '[metadata]\nid = "shop"\nname = "Shop"\n[tool.skill-registry]\nskills_directory = "skills"\n'
            '[dependencies]\npdf-forms = "1.2.0"\ntea = {origin = {type = "local", path = "../tea", editable = true}}\n'
        )
        data = server.api("GET", "/project").json()["data"]
    assert (data["metadata"]["id"], data["metadata"]["author"], data["skills_directory"]) == ("shop", None, "skills")
    pdf, tea = data["skills"]
    assert (pdf["type"], pdf["location"], pdf["installed"], pdf["installed_version"]) == ("source", None, True, "1.3.0")
    assert (tea["type"], tea["location"], tea["editable"], tea["installed"]) == ("local", "../tea", True, False)


def test_the_rule_file_is_written_below_the_project(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "pdf-forms", "Fill in pdf forms.", tags="documents")
    write_skill(tmp_path / "skills", "hidden", "Not for now.")
    write_skill(tmp_path / "skills", "deploy", "Only a person starts it.", **{"disable-model-invocation": "true"})
    with RunningServer(tmp_path) as server:
        server.api("PUT", "/skills/hidden", json={"enabled": False})
        shown = server.api("POST", "/manifest/generate-mdc", json={"write": False}).json()["data"]
        assert (shown["path"], shown["skills_count"]) == (".cursor/rules/skills.mdc", 1)
        assert not (tmp_path / ".cursor").exists()
        written = server.api("POST", "/manifest/generate-mdc").json()["data"]
    assert written == shown
    assert (tmp_path / ".cursor/rules/skills.mdc").read_text() == written["content"]
    assert "## documents\n\n- **pdf-forms** (`pdf-forms` 1.0.0, `skills/pdf-forms/SKILL.md`)" in written["content"]


def test_the_command_writes_the_rule_file_with_and_without_a_server(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "pdf-forms", "Fill in pdf forms.")
    (tmp_path / "registry.toml").write_text('data_dir = "data"\nembedding.provider = "none"\n')
    path = tmp_path / ".cursor/rules/skills.mdc"
    with RunningServer(tmp_path):
        subprocess.run([COMMAND, "generate-mdc"], cwd=tmp_path, check=True)
        first = path.read_text()
    path.unlink()
    done = subprocess.run([COMMAND, "generate-mdc"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert path.read_text() == first
    assert done.stdout == "1 skill in .cursor/rules/skills.mdc\n"


BEGIN = b"<!-- skill-registry: begin -->\n"


@pytest.mark.parametrize(("kind", "name"), [("agents", "AGENTS.md"), ("claude", "CLAUDE.md")])
def test_the_skills_are_a_block_of_a_file_whose_other_text_stays(tmp_path: Path, kind: str, name: str) -> None:
    write_skill(tmp_path / "skills", "pdf-forms", "Fill in pdf <!-- skill-registry: end --> forms.")
    (tmp_path / "registry.toml").write_text('data_dir = "data"\nembedding.provider = "none"\n')
    path = tmp_path / name
    path.write_bytes(b"# Ours\r\n\r\nRun the tests.")
    assert Done(tmp_path, "scan").code == 0
    assert Done(tmp_path, "generate", kind).out == f"1 skill in {name}\n"
    first = path.read_bytes()
    assert first.startswith(b"# Ours\r\n\r\nRun the tests.\n\n<!-- skill-registry: begin")
    assert first.count(b"<!-- skill-registry: end -->") == 1
    assert b"\n## Skills of this project\n" in first
    path.write_bytes(first + b"\n## Below\n")
    write_skill(tmp_path / "skills", "tea", "Brew tea.")
    assert Done(tmp_path, "generate", kind).code == 0
    second = path.read_bytes()
    assert (second.startswith(b"# Ours\r\n"), second.endswith(b"\n## Below\n")) == (True, True)
    assert (second.count(b"skill-registry: begin"), second.count(b"- **tea**")) == (1, 1)
    with RunningServer(tmp_path) as server:
        shown = server.api("POST", "/manifest/generate-mdc", json={"file": kind, "write": False}).json()["data"]
    assert shown == {"path": name, "skills_count": 2, "content": second.decode()}


@pytest.mark.parametrize(
    "content",
    [
        b"<!-- skill-registry: begin -->\nhalf",
        b"\xff\xfe",
        b"<!-- skill-registry: begin --><!-- skill-registry: end -->" * 2,
    ],
)
def test_a_file_that_cannot_get_a_block_stays_as_it_is(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "AGENTS.md").write_bytes(content)
    (tmp_path / "elsewhere").write_text("mine")
    (tmp_path / "project").mkdir()
    (tmp_path / "project/CLAUDE.md").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "project/hook").write_text("#!/bin/sh\n")
    (tmp_path / "project/AGENTS.md").symlink_to("hook")
    with RunningServer(tmp_path) as server:
        assert code(server.api("POST", "/manifest/generate-mdc", json={"file": "agents"})) == (409, "CONFLICT")
    with RunningServer(tmp_path / "project") as server:
        for kind in ("agents", "claude"):
            assert code(server.api("POST", "/manifest/generate-mdc", json={"file": kind})) == (409, "CONFLICT")
    assert (tmp_path / "project/hook").read_text() == "#!/bin/sh\n"
    assert (tmp_path / "AGENTS.md").read_bytes() == content
    assert (tmp_path / "elsewhere").read_text() == "mine"


def test_a_link_within_the_project_is_followed(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "tea", "Brew tea.")
    (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")
    with RunningServer(tmp_path) as server:
        assert server.api("POST", "/manifest/generate-mdc", json={"file": "claude"}).status_code == 200
    assert (tmp_path / "CLAUDE.md").is_symlink()
    assert "- **tea**" in (tmp_path / "AGENTS.md").read_text()


def test_the_rule_file_is_not_written_out_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "project/.cursor").symlink_to(tmp_path / "elsewhere")
    with RunningServer(tmp_path / "project") as server:
        assert code(server.api("POST", "/manifest/generate-mdc")) == (409, "CONFLICT")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_link_in_place_of_the_rule_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / ".cursor/rules").mkdir(parents=True)
    (tmp_path / "precious").write_text("mine")
    (tmp_path / ".cursor/rules/skills.mdc").symlink_to(tmp_path / "precious")
    with RunningServer(tmp_path) as server:
        assert server.api("POST", "/manifest/generate-mdc").status_code == 200
    assert (tmp_path / "precious").read_text() == "mine"


def test_read_only_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "skill-project.toml").write_text('[dependencies]\ntea = "1.0.0"\n')
    with RunningServer(tmp_path, "--read-only") as server:
        for method, path in (
            ("POST", "/manifest/skills"), ("PUT", "/manifest/skills/tea"), ("PUT", "/manifest/skills/acme/tea"),
            ("DELETE", "/manifest/skills/tea"), ("POST", "/manifest/generate-mdc"),
        ):  # fmt: skip
            assert code(server.api(method, path, json={"skill_id": "new", "version": "2.0.0"})) == (403, "FORBIDDEN")
        assert entries(server)["tea"]["version"] == "1.0.0"
        assert server.api("GET", "/project").status_code == 200
    assert {path.name for path in tmp_path.iterdir()} == {"data", "skills", "server.log", "skill-project.toml"}
