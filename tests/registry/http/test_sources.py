"""Sources over HTTP, against real repositories and a real document server."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from support import slow_answers
from support.git_server import GitServer, Repository
from support.servers import RunningServer, write_skill
from support.web_server import WebServer, reply


def skill_md(name: str, description: str) -> str:
    return f"---\nname: {name}\ndescription: {description}\n---\n# {name}\n"


DOCUMENT = {
    "version": "1.0",
    "skills": [
        {"id": "pdf", "name": "PDF of the web", "description": "Splits pdf documents.", "download_url": "pdf.zip"},
        {"id": "../evil", "description": "Leaves its folder."},
    ],
}


class World(NamedTuple):
    """A server with the sources `hub` (git), `web` (http) and `gone` (fails), and a skill of its own."""

    server: RunningServer
    hub: GitServer
    skills: Repository
    web: WebServer

    def get(self, path: str) -> Any:
        answer = self.server.api("GET", path)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    def source(self, name: str) -> dict[str, Any]:
        return next(one for one in self.get("/registry/sources") if one["name"] == name)

    def refresh(self) -> dict[str, Any]:
        answer = self.server.api("POST", "/registry/refresh")
        assert answer.status_code == 200, answer.text
        data: dict[str, Any] = answer.json()["data"]
        return data


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder: Path = tmp_path_factory.mktemp("sources")
    with GitServer(folder / "hub") as hub, WebServer() as web:
        skills = hub.repository("skills")
        skills.commit({"pdf/SKILL.md": skill_md("pdf", "Fills in pdf forms."), "csv/SKILL.md": skill_md("csv", "Csv.")})
        web.answers["/marketplace.json"] = reply(json.dumps(DOCUMENT).encode())
        tables = [
            ("gone", "http", f"{web.url}/gone.json", 5),
            ("web", "http", web.url, 50),
            ("hub", "git", hub.url("skills", "ada:canary@"), 10),
        ]
        config = folder / "registry.toml"
        config.write_text(
            "".join(
                f'[[sources]]\nname = "{name}"\ntype = "{kind}"\nurl = "{url}"\npriority = {priority}\n'
                for name, kind, url, priority in tables
            )
        )
        allowed = ("--outbound-allowed-host", hub.host, "--outbound-allowed-host", web.host)
        server = RunningServer(folder, *allowed, "--config", str(config))
        write_skill(server.skills_dir, "pdf", "A local skill about pdf files.")
        with server:
            server.wait_for(lambda: len(server.api("GET", "/registry/skills").json()["data"]["errors"]) == 1)
            world = World(server, hub, skills, web)
            world.refresh()
            yield world
            assert "canary" not in server.log.read_text()


def test_sources_are_listed_by_priority_and_without_credentials(world: World) -> None:
    sources = world.get("/registry/sources")
    assert [one["name"] for one in sources] == ["local", "gone", "hub", "web"]
    assert [one["skills"] for one in sources] == [1, 0, 2, 1]
    assert "canary" not in json.dumps(sources)
    assert all(one["last_refreshed"] for one in sources if one["name"] in ("hub", "web"))


def test_the_list_of_sources_is_sent_again_only_when_it_has_changed(world: World) -> None:
    tag = world.server.api("GET", "/registry/sources").headers["ETag"]
    again = world.server.api("GET", "/registry/sources", headers={"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")


def test_one_that_fails_is_told_and_hides_no_other(world: World) -> None:
    everything = world.get("/registry/skills")
    assert (everything["total_skills"], everything["total_sources"]) == (4, 4)
    assert [fault["source_name"] for fault in everything["errors"]] == ["gone"]
    assert "404" in everything["errors"][0]["message"]
    assert "../evil" in world.source("web")["warnings"][0]


def test_one_id_in_several_places_is_several_skills(world: World) -> None:
    found = world.server.found("pdf")
    assert set(found) >= {"pdf", "hub/pdf", "web/pdf"}
    cards = {card["id"]: card for card in world.get("/registry/sources/hub/skills")["skills"]}
    assert set(cards) == {"hub/pdf", "hub/csv"}
    assert (cards["hub/pdf"]["installed"], cards["hub/pdf"]["source"]) == (False, "hub")


def test_a_list_by_source_has_the_services_own_skills_first(world: World) -> None:
    cards = world.get("/skills?sort=source&limit=100")
    places = [(card["source"] != "local", card["source"], card["name"].casefold()) for card in cards]
    assert places == sorted(places)
    assert {source for _, source, _ in places} == {"local", "hub", "web"}


def test_search_can_be_kept_to_a_source_or_to_what_is_installed(world: World) -> None:
    assert world.server.found("pdf", filters={"source": "hub"}) == ["hub/pdf"]
    assert world.server.found("pdf", filters={"installed": True}) == ["pdf"]
    assert set(world.server.found("pdf", filters={"installed": False})) == {"hub/pdf", "web/pdf"}


def test_only_installed_skills_are_listed_and_counted(world: World) -> None:
    listed = world.server.api("GET", "/skills").json()
    assert ([card["id"] for card in listed["data"]], listed["pagination"]["total"]) == (["pdf"], 1)
    status = world.server.status()
    assert (status["skills"], status["indexed"]) == (1, 4)


def test_what_is_not_installed_can_be_read_and_not_changed(world: World) -> None:
    skill = world.get("/skills/hub%2Fpdf")
    assert (skill["installed"], skill["source"], skill["source_type"]) == (False, "hub", "git")
    for method, body in (("PUT", {"description": "Something else."}), ("DELETE", None)):
        assert world.server.api(method, "/skills/hub/pdf", json=body).status_code == 409
    assert world.get("/skills/hub/pdf/content")["content"] == "# pdf\n"
    assert world.get("/skills/hub/pdf/files") == []
    for path in ("SKILL.md", "../../../data/skill-registry.db"):
        assert world.server.api("GET", f"/skills/hub/pdf/files/{path}").status_code == 404


def test_agents_are_told_where_a_skill_can_be_had(world: World) -> None:
    answer = world.server.api("POST", "/resolve", json={"prompt": "pdf"}).json()["data"]["results"]
    found = {one["skill_id"]: one for one in answer}
    assert found["pdf"]["skill_md_path"].endswith("/skills/pdf/SKILL.md")
    assert found["hub/pdf"]["origin"] == {"type": "git", "url": world.hub.url("skills"), "subdir": "pdf"}
    assert found["web/pdf"]["download_url"] == f"{world.web.url}/pdf.zip"
    assert not {"skill_md_path"} & (found["hub/pdf"].keys() | found["web/pdf"].keys())


def test_a_source_is_a_marketplace_document_in_two_forms(world: World) -> None:
    flat = world.get("/registry/sources/web/marketplace")
    assert flat["version"] == "1.0"
    assert [(skill["id"], skill["download_url"]) for skill in flat["skills"]] == [("pdf", f"{world.web.url}/pdf.zip")]
    plugins = world.server.api("GET", "/registry/sources/hub/marketplace?format=claude").json()
    assert (plugins["name"], [one["name"] for one in plugins["plugins"]]) == ("hub", ["csv", "pdf"])
    assert plugins["plugins"][1]["source"] == {"source": "git-subdir", "url": world.hub.url("skills"), "path": "pdf"}


def test_a_marketplace_route_is_a_source_for_another_registry(world: World, tmp_path: Path) -> None:
    with RunningServer(tmp_path, "--outbound-allowed-host", "127.0.0.1") as other:
        for form in ("", "?format=claude"):
            name = f"copy{form[8:]}"
            url = f"{world.server.url}/api/v1/registry/sources/hub/marketplace{form}"
            added = other.api("POST", "/registry/sources", json={"name": name, "type": "http", "url": url})
            assert (added.status_code, added.json()["data"]["skills"]) == (201, 2)
        assert set(other.found("pdf")) == {"copy/pdf", "copyclaude/pdf"}


def test_a_refresh_takes_over_what_has_changed(world: World) -> None:
    world.skills.commit({"xlsx/SKILL.md": skill_md("xlsx", "Spreadsheets with formulas.")})
    assert world.refresh()["total_skills"] == 5
    assert world.server.found("spreadsheets") == ["hub/xlsx"]
    world.skills.git("rm", "-r", "--quiet", "xlsx")
    world.skills.commit()
    assert world.refresh()["total_skills"] == 4
    assert world.server.found("spreadsheets") == []


def test_a_source_that_goes_down_keeps_what_it_listed(world: World) -> None:
    def fail(request: BaseHTTPRequestHandler) -> bool:
        request.send_error(503)
        return True

    world.hub.before = fail
    errors = {fault["source_name"]: fault["message"] for fault in world.refresh()["errors"]}
    assert "503" in errors["hub"]
    assert "canary" not in json.dumps(errors)
    assert world.server.found("pdf", filters={"source": "hub"}) == ["hub/pdf"]
    world.hub.before = lambda request: False
    assert "hub" not in {fault["source_name"] for fault in world.refresh()["errors"]}


def test_sources_are_added_and_removed(world: World, tmp_path: Path) -> None:
    write_skill(tmp_path, "folder-skill", "Only in a folder elsewhere.")
    body = {"name": "folder", "type": "local", "path": str(tmp_path)}
    added = world.server.api("POST", "/registry/sources", json=body)
    assert (added.status_code, added.json()["data"]["skills"]) == (201, 1)
    listed = world.server.http.get(added.headers["Location"]).json()["data"]["skills"]
    assert [skill["name"] for skill in listed] == ["folder-skill"]
    assert world.server.found("folder skill", limit=1) == ["folder/folder-skill"]
    assert world.server.api("POST", "/registry/sources", json=body).status_code == 409
    assert world.server.api("DELETE", "/registry/sources/folder").status_code == 200
    assert world.server.found("folder skill", filters={"source": "folder"}) == []
    assert world.server.api("DELETE", "/registry/sources/folder").status_code == 404


@pytest.mark.parametrize("name", ["local", "hub"])
def test_sources_of_the_configuration_stay(world: World, name: str) -> None:
    assert world.server.api("DELETE", f"/registry/sources/{name}").status_code == 409
    body = {"name": name, "type": "git", "url": "https://example.org/skills"}
    assert world.server.api("POST", "/registry/sources", json=body).status_code in (400, 409)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"name": "x", "type": "tar", "url": "https://example.org/a.tar"},
        {"name": "../x", "type": "git", "url": "https://example.org/a"},
        {"name": "x", "type": "git", "url": "file:///etc/passwd"},
        {"name": "x", "type": "git", "url": "--upload-pack=touch canary"},
        {"name": "x", "type": "git", "url": "ext::sh -c touch% canary"},
        {"name": "x", "type": "http", "url": "http://2130706433/"},
        {"name": "x", "type": "git", "url": "https://example.org/a", "branch": "--upload-pack=touch canary"},
        {"name": "x", "type": "git", "url": "https://example.org/a", "branch": "a..b"},
        {"name": "x", "type": "git", "url": "https://example.org/a", "path": "/etc"},
        {"name": "x", "type": "git", "path": "/etc"},
        {"name": "x", "type": "http", "url": "https://example.org/a", "branch": "main"},
        {"name": "x", "type": "git", "url": "https://example.org/a", "priority": "1"},
    ],
)
def test_what_is_no_source_is_refused(world: World, body: dict[str, Any]) -> None:
    answer = world.server.api("POST", "/registry/sources", json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "VALIDATION_ERROR")
    assert [one["name"] for one in world.get("/registry/sources")] == ["local", "gone", "hub", "web"]


@pytest.mark.parametrize("url", ["https://u:canary@h/x", "https://u:can/ary@h/x", "ftp://u:canary@h", "u:canary@h:x"])
def test_the_password_of_a_url_is_in_no_answer(world: World, url: str) -> None:
    for path, body in (
        ("/skills", {"origin": url}),
        ("/skills", {"origin": {"type": "git", "url": url}}),
        ("/skills", {"origin": {"type": url}}),
        ("/skills", {url: url}),
        ("/skills", {"skill_id": url}),
        ("/skills", {"skill_id": "pdf", "source_name": url}),
        ("/skills/upgrade", {"skill_id": url}),
        ("/registry/sources", {"name": url, "type": "http", "url": url}),
        ("/registry/sources", {"name": "x", "type": url, "url": url, "branch": url, "path": url}),
        ("/search", {"query": "x", "filters": {"source": url}, "mode": url}),
    ):
        answer = world.server.api("POST", path, json=body)
        assert answer.status_code in (400, 404), answer.text
        assert "ary" not in answer.text.replace("library", ""), answer.text


@pytest.mark.parametrize("kind", ["git", "http"])
def test_a_source_that_is_not_public_is_told_and_not_spoken_to(world: World, kind: str) -> None:
    with WebServer({"/": slow_answers.silence}) as inner:
        body = {"name": "inner", "type": kind, "url": f"{inner.url}/skills"}
        added = world.server.api("POST", "/registry/sources", json=body).json()["data"]
        assert "not on the public network" in added["error"]
        assert world.server.api("DELETE", "/registry/sources/inner").status_code == 200
        assert inner.connections == 0


@pytest.mark.parametrize(
    "name", ["absent", "..%2F..%2Fetc", "%2e%2e", "a%00b", "x" * 7000, "LOCAL", "hub%2Fpdf", "%ff"]
)
def test_an_unknown_source_is_not_found(world: World, name: str) -> None:
    for rest in ("/skills", "/marketplace"):
        answer = world.server.http.get(f"/api/v1/registry/sources/{name}{rest}")
        assert answer.status_code in (400, 404)
        assert len(answer.content) < 500


def test_a_source_that_hangs_is_told_while_the_others_answer(tmp_path: Path, world: World) -> None:
    with WebServer({"/hangs.json": slow_answers.silence}) as slow:
        urls = {"hangs": f"{slow.url}/hangs.json", "web": f"{world.web.url}/marketplace.json"}
        tables = [f'[[sources]]\nname = "{name}"\ntype = "http"\nurl = "{url}"\n' for name, url in urls.items()]
        (tmp_path / "registry.toml").write_text("".join(tables) + "[limits]\nsource_wait_seconds = 1\n")
        options = ("--outbound-allowed-host", "127.0.0.1", "--config", str(tmp_path / "registry.toml"))
        with RunningServer(tmp_path, *options) as server:
            data = server.api("POST", "/registry/refresh").json()["data"]
            assert [one["count"] for one in data["sources"]] == [0, 0, 1]
            assert [fault["source_name"] for fault in data["errors"]] == ["hangs"]
            assert "has not responded" in data["errors"][0]["message"]


def test_what_sources_list_outlives_a_restart_and_goes_with_the_source(tmp_path: Path, world: World) -> None:
    config = tmp_path / "registry.toml"
    config.write_text(f'[[sources]]\nname = "web"\ntype = "http"\nurl = "{world.web.url}"\n')
    options = ("--outbound-allowed-host", world.web.host, "--config", str(config))
    with RunningServer(tmp_path, *options) as server:
        server.wait_for(lambda: server.found("pdf") == ["web/pdf"])
        asked = len(world.web.requests)
    with RunningServer(tmp_path, *options) as server:
        assert server.found("pdf") == ["web/pdf"]
        assert len(world.web.requests) == asked
    config.write_text("")
    with RunningServer(tmp_path, *options) as server:
        server.wait_for(lambda: server.found("pdf") == [])
