"""Well-known discovery in both profiles: the requests of `npx skills` and OpenCode as they were recorded."""

import hashlib
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpx
import pytest

from registry.packages.zip_records import STREAMED
from support.code_v1 import error
from support.publishing import Registry, skill_package
from support.routes import REGISTRY_MODE
from support.servers import RunningServer, new_skill, write_skill

SCRIPT = b"#!/bin/sh\necho spoons\n"
SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
FOLDERS = (".well-known/agent-skills", ".well-known/skills")


class Site:
    """A service with the skill `whittle`, in a scope if it has scopes, which anybody may read."""

    def __init__(self, server: RunningServer, skill_id: str, skill_file: bytes) -> None:
        self.server = server
        self.skill_id = skill_id
        self.skill_file = skill_file

    def get(self, path: str, **headers: str) -> httpx.Response:
        return self.server.http.get(path, headers=headers)

    def index(self, skill_id: str, folder: str = FOLDERS[0]) -> Any:
        answer = self.get(f"/s/{skill_id}/{folder}/index.json")
        assert answer.status_code == 200, answer.text
        return answer.json()


@pytest.fixture(scope="module", params=["local", REGISTRY_MODE])
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder: Path = tmp_path_factory.mktemp("site")
    if request.param == "local":
        skill = write_skill(folder / "skills", "whittle", "Carves zebrawood spoons with great care.")
        (skill / "scripts").mkdir()
        (skill / "scripts/run.sh").write_bytes(SCRIPT)
        write_skill(folder / "skills", "Odd_Name", "Has a name that agentskills.io does not know.")
        write_skill(folder / "skills", "renamed", "Says another name.")
        (folder / "skills/renamed/SKILL.md").write_text("---\nname: other\ndescription: Says another name.\n---\n")
        with RunningServer(folder, "--root-skill", "whittle", "--root-skill", "absent") as server:
            yield Site(server, "whittle", (skill / "SKILL.md").read_bytes())
    else:
        body = "# Carves zebrawood spoons\n"
        package = skill_package("whittle", body=body, files={"scripts/run.sh": SCRIPT})
        with Registry(folder, "--auth-anonymous-read", "--root-skill", "acme/whittle") as registry:
            assert registry.finished(registry.publish(package))["status"] == "accepted"
            with zipfile.ZipFile(io.BytesIO(package)) as archive:
                yield Site(registry, "acme/whittle", archive.read("SKILL.md"))


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_skills_command_finds_verifies_and_unpacks_a_skill(site: Site, folder: str) -> None:
    """skills 1.5.18 and 1.7.4: the index, then what `url` names, whose bytes have `digest`."""
    index_url = f"/s/{site.skill_id}/{folder}/index.json"
    index = site.get(index_url)
    assert index.json()["$schema"] == SCHEMA
    (entry,) = index.json()["skills"]
    assert (entry["name"], entry["type"]) == ("whittle", "archive")
    archive = site.get(urljoin(index_url, entry["url"]))
    assert f"sha256:{hashlib.sha256(archive.content).hexdigest()}" == entry["digest"]
    assert (archive.headers["Content-Type"], "Content-Encoding" in archive.headers) == ("application/zip", False)
    with zipfile.ZipFile(io.BytesIO(archive.content)) as unpacked:
        assert {name: unpacked.read(name) for name in unpacked.namelist()} == {
            "SKILL.md": site.skill_file,
            "scripts/run.sh": SCRIPT,
        }
        # The client refuses entries whose local header differs from the central one.
        assert not any(info.flag_bits & STREAMED for info in unpacked.infolist())


@pytest.mark.parametrize("folder", FOLDERS)
def test_opencode_fetches_each_file(site: Site, folder: str) -> None:
    """opencode 1.18: `index.json` below its URL, then `{name}/{file}` for each of `files`."""
    base = f"/s/{site.skill_id}/{folder}"
    (entry,) = site.get(f"{base}/index.json").json()["skills"]
    assert (entry["version"], entry["files"]) == ("1.0.0", ["SKILL.md", "scripts/run.sh"])
    files = [site.get(f"{base}/{entry['name']}/{file}") for file in entry["files"]]
    assert [file.content for file in files] == [site.skill_file, SCRIPT]
    assert files[0].headers["Content-Type"].startswith("text/markdown")


def test_documents_have_entity_tags_and_are_kept_for_a_minute(site: Site) -> None:
    for path in ("index.json", "whittle.zip", "whittle/SKILL.md"):
        url = f"/s/{site.skill_id}/{FOLDERS[0]}/{path}"
        answer = site.get(url)
        assert "max-age=60" in answer.headers["Cache-Control"]
        assert site.get(url, **{"If-None-Match": answer.headers["ETag"]}).status_code == 304


def test_the_root_lists_the_skills_that_the_settings_name(site: Site) -> None:
    for folder in FOLDERS:
        index = site.get(f"/{folder}/index.json").json()
        assert [entry["name"] for entry in index["skills"]] == ["whittle"]
        assert site.get(f"/{folder}/whittle/SKILL.md").content == site.skill_file
        digest = hashlib.sha256(site.get(f"/{folder}/whittle.zip").content).hexdigest()
        assert index["skills"][0]["digest"] == f"sha256:{digest}"


def test_an_index_is_a_source_of_another_service(site: Site, tmp_path: Path) -> None:
    places = {"one": f"/s/{site.skill_id}", "whole": f"/{FOLDERS[0]}", "older": f"/{FOLDERS[1]}/index.json"}
    with RunningServer(tmp_path, "--outbound-allowed-host", "127.0.0.1") as other:
        for name, place in places.items():
            added = other.api("POST", "/registry/sources", json={"name": name, "url": f"{site.server.url}{place}"})
            data = added.json()["data"]
            assert (added.status_code, data["type"], data["skills"], data["error"]) == (201, "http", 1, None), data
        installed = other.api("POST", "/skills", json={"origin": "one/whittle"})
        assert installed.status_code == 201, installed.text
        assert (tmp_path / "skills/whittle/scripts/run.sh").read_bytes() == SCRIPT


def test_without_that_setting_there_is_no_root_index(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "whittle", "Carves spoons with great care.")
    with RunningServer(tmp_path) as server:
        for folder in FOLDERS:
            assert error(server.http.get(f"/{folder}/index.json")) == (404, "NOT_FOUND")


def test_find_names_what_the_skills_command_can_add(site: Site) -> None:
    """skills 1.5.18: `SKILLS_API_URL=…/find npx skills find` asks `/api/search?q=&limit=20` below that URL."""
    found = site.get("/find/api/search?q=zebrawood&limit=20").json()
    source = f"{site.server.url}/s/{site.skill_id}"
    assert found == {"skills": [{"id": site.skill_id, "name": "whittle", "source": source, "installs": 0}]}
    assert site.get("/find/api/search?q=whittle").json()["skills"][0]["id"] == site.skill_id
    assert site.get("/find/api/search?q=%20").json() == {"skills": []}
    assert site.get("/find/api/search").json() == {"skills": []}
    assert site.get(f"/find/api/search?q={'x' * 3000}").json() == {"skills": []}


def test_the_registry_has_a_skill_about_itself(site: Site) -> None:
    (entry,) = site.index("skill-registry")["skills"]
    text = site.get(f"/s/skill-registry/{FOLDERS[0]}/skill-registry/SKILL.md").text
    assert text.startswith("---\nname: skill-registry\n")
    assert f"{site.server.url}/find/api/search" in text
    assert entry["description"] in text


@pytest.mark.parametrize(
    "path",
    [
        "/s/absent/{folder}/index.json",
        "/s/{id}/{folder}/other.zip",
        "/s/{id}/{folder}/whittle/absent",
        "/s/{id}/{folder}/whittle/../whittle.zip/x",
        "/s/{id}/{folder}/whittle/%2e%2e/%2e%2e/etc/passwd",
        "/s/{id}/{folder}/%00",
        "/s/%2e%2e/{folder}/index.json",
        "/{folder}/whittle/%2e%2e%2fSKILL.md",
    ],
)
def test_what_is_not_there_is_404(site: Site, path: str) -> None:
    for folder in FOLDERS:
        assert site.get(path.format(id=site.skill_id, folder=folder)).status_code == 404


def test_names_that_agentskills_does_not_know_are_left_out(site: Site) -> None:
    if site.skill_id != "whittle":
        pytest.skip("packages have such names only")
    for skill_id in ("odd_name", "renamed"):
        assert error(site.get(f"/s/{skill_id}/{FOLDERS[0]}/index.json")) == (404, "NOT_FOUND")
    assert "odd_name" in site.server.found("agentskills.io")
    names = [one["name"] for one in site.get("/find/api/search?q=agentskills.io").json()["skills"]]
    assert "odd_name" not in names


def test_without_a_credential_a_private_registry_answers_401(tmp_path: Path) -> None:
    with Registry(tmp_path) as registry:
        registry.http.post("/v1/skills", json=new_skill("record"), headers=registry.caller())
        paths = ("/s/record/.well-known/skills/index.json", "/.well-known/skills/index.json", "/find/api/search?q=x")
        for path in paths:
            refused = registry.http.get(path)
            assert (refused.status_code, refused.headers["WWW-Authenticate"]) == (401, "Bearer")
        reader = registry.caller("reader", "user")
        assert error(registry.get(paths[0], reader)) == (404, "NOT_FOUND")
        assert registry.get(paths[2], reader).json() == {"skills": []}
