"""Skills installed over HTTP from every kind of origin, against real repositories and a real web server."""

import json
import os
import shutil
import stat
import time
import tomllib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from registry.project.lock_file import read_lock
from support.commands import Done
from support.crafted_pack import crafted_repository
from support.install_world import World, skill_md
from support.servers import NEW_SKILL, write_skill
from support.web_server import WebServer, redirect, reply
from support.zips import Item, plain_zip, raw_zip

KEY = "-----BEGIN OPENSSH " + "PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gt\n"


def details(answer: httpx.Response, status: int = 400) -> str:
    assert answer.status_code == status, answer.text
    return str(answer.json()["error"])


def test_from_a_source_by_id_and_name_of_the_source(world: World) -> None:
    world.publish("sourced")
    answer = world.install(skill_id="sourced", source_name="hub")
    assert (answer.status_code, answer.headers["Location"]) == (201, "/api/v1/skills/sourced")
    skill = answer.json()["data"]
    assert (skill["id"], skill["installed"], skill["source"], skill["source_type"]) == ("sourced", True, "hub", "git")
    assert (skill["source_url"], answer.headers["ETag"]) == (
        world.hub.url("skills"),
        world.get("/skills/sourced")["etag"],
    )
    assert (world.server.skills_dir / "sourced/SKILL.md").read_text() == skill_md("sourced")
    assert world.install(skill_id="sourced", source_name="hub").status_code == 409


def test_a_repository_that_takes_too_much_memory_is_refused(world: World) -> None:
    world.web.answers |= crafted_repository("/bomb", skill_md("bomb").encode(), 2 << 30)
    before = world.get("/skills")
    answer = world.install(origin={"type": "git", "url": f"{world.web.url}/bomb"})
    assert "needs more memory than git may use, 1,073,741,824 bytes (limits.git_memory_bytes)" in details(answer)
    assert world.get("/skills") == before


def test_what_is_installed_takes_the_place_of_what_is_advertised(world: World) -> None:
    world.publish("shadow")
    assert world.server.found("shadow", limit=1) == ["hub/shadow"]
    world.installed(origin="hub/shadow")
    found = world.server.found("shadow")
    assert found[0] == "shadow"
    assert "hub/shadow" not in found
    cards = {card["id"]: card for card in world.get("/registry/sources/hub/skills")["skills"]}
    assert (cards["shadow"]["installed"], "hub/shadow" in cards) == (True, False)
    assert "shadow" not in {card["id"] for card in world.get("/registry/sources/local/skills")["skills"]}
    world.publish("shadow", "1.1.0")
    assert "hub/shadow" not in world.server.found("shadow")
    assert world.server.api("DELETE", "/skills/shadow").status_code == 200
    assert world.server.found("shadow", limit=1) == ["hub/shadow"]


def test_what_is_installed_as_it_is_asked_for_has_its_place_in_the_conflict(world: World) -> None:
    world.publish("placed")
    git = world.subdir("placed", branch="main")
    assert world.install(origin="hub/placed").status_code == 201
    requests = len(world.hub.paths)
    for origin in ("hub/placed", "hub/placed@1.0.0", {"type": "source", "source": "hub", "skill": "placed"}):
        answer = world.install(origin=origin)
        assert (answer.status_code, answer.headers["Location"]) == (409, "/api/v1/skills/placed")
        assert answer.json()["error"].keys() == {"code", "message"}
    assert len(world.hub.paths) == requests
    for other in ({"origin": "hub/placed@2.0.0"}, {"origin": git}, {"origin": "hub/placed", "sha256": "0" * 64}):
        answer = world.install(**other)
        assert (answer.status_code, "Location" in answer.headers) == (409, False)


def test_a_package_at_a_url_must_have_the_version_that_is_asked_for(world: World) -> None:
    world.publish("versioned", "1.4.0")
    git = world.subdir("versioned", branch="main")
    assert "2.0.0" in details(world.install(origin=git, version="2.0.0"), 404)
    assert world.installed(origin=git, version="^1.2")["version"] == "1.4.0"


def test_a_bare_id_of_two_sources_is_ambiguous(world: World) -> None:
    error = details(world.install(origin="twin"), 409)
    assert "'twin' is ambiguous: use one of 'hub/twin', 'other/twin'" in error
    assert world.installed(origin="other/twin")["source"] == "other"
    assert "already installed" in details(world.install(origin="hub/twin"), 409)
    assert world.installed(origin="alone")["source"] == "other"


def test_from_a_folder_of_a_repository(world: World) -> None:
    commit = world.publish("gitted")
    skill = world.installed(origin=world.subdir("gitted", branch="main"))
    assert (skill["source"], skill["source_type"], skill["source_branch"]) == ("local", "git", "main")
    lock = {entry.id: entry for entry in read_lock(world.folder / "skills.lock")}
    assert (lock["gitted"].commit, f"sha256:{lock['gitted'].sha256}") == (commit, skill["digest"])


def test_from_a_zip_and_from_a_folder_in_a_zip(world: World) -> None:
    files = {f"pack-main/{name}/SKILL.md": skill_md(name).encode() for name in ("zipped", "boxed")}
    world.web.answers["/one.zip"] = reply(plain_zip({"SKILL.md": skill_md("single").encode()}))
    world.web.answers["/many.zip"] = reply(plain_zip(files))
    assert world.installed(origin=f"{world.web.url}/one.zip")["source_type"] == "zip"
    error = details(world.install(origin=f"{world.web.url}/many.zip"))
    assert "no-skill-file" in error
    boxed = {"type": "zip", "url": f"{world.web.url}/many.zip", "subdir": "pack-main/boxed"}
    assert world.installed(origin=boxed)["id"] == "boxed"


def test_modes_and_times_of_an_archive_do_not_count(world: World) -> None:
    items = [Item(b"SKILL.md", skill_md("moded").encode(), mode=0o100666), Item(b"run.sh", b"#!", mode=0o100777)]
    world.web.answers["/moded.zip"] = reply(raw_zip(*items))
    started = time.time() - 2
    world.installed(origin=f"{world.web.url}/moded.zip")
    folder = world.server.skills_dir / "moded"
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.iterdir())}
    assert modes == {"moded": 0o755, "SKILL.md": 0o644, "run.sh": 0o755}
    assert all(path.stat().st_mtime >= started and path.stat().st_uid == os.getuid() for path in folder.iterdir())


def test_a_hostile_zip_is_a_source_that_lists_nothing(world: World) -> None:
    world.web.answers["/bad.zip"] = reply(raw_zip(Item(b"a/SKILL.md", b"x"), Item(b"../evil/SKILL.md", b"x")))
    body = {"name": "bad", "type": "zip", "url": f"{world.web.url}/bad.zip"}
    added = world.server.api("POST", "/registry/sources", json=body).json()["data"]
    assert (added["skills"], "the zip is refused" in added["error"]) == (0, True)
    assert world.server.api("DELETE", "/registry/sources/bad").status_code == 200


def test_the_skills_directory_is_not_installed_into_itself(world: World) -> None:
    inside = write_skill(world.server.skills_dir, "inner", "Lies in the skills directory.")
    for path in (inside, world.server.skills_dir, world.folder):
        assert "skills directory" in details(world.install(origin=str(path)))
    shutil.rmtree(inside)


def test_from_a_marketplace_document(world: World) -> None:
    entries = [{"id": "market", "download_url": "market.zip"}, {"id": "nowhere"}]
    document = {"version": "1.0", "skills": [one | {"description": "Of a document."} for one in entries]}
    world.web.answers["/m/marketplace.json"] = reply(json.dumps(document).encode())
    world.web.answers["/m/market.zip"] = reply(plain_zip({"market/SKILL.md": skill_md("market").encode()}))
    body = {"name": "web", "type": "http", "url": f"{world.web.url}/m/marketplace.json"}
    assert world.server.api("POST", "/registry/sources", json=body).json()["data"]["skills"] == 2
    assert world.installed(origin="web/market")["source_url"] == f"{world.web.url}/m/market.zip"
    assert "without an origin" in details(world.install(origin="web/nowhere"), 409)


def test_a_zip_is_a_source(world: World) -> None:
    files = {f"pack-main/{name}/SKILL.md": skill_md(name).encode() for name in ("packed", "wrapped")}
    world.web.answers["/source.zip"] = reply(plain_zip(files), ETag='"1"')
    body = {"name": "pack", "type": "zip", "url": f"{world.web.url}/source.zip"}
    added = world.server.api("POST", "/registry/sources", json=body)
    assert (added.status_code, added.json()["data"]["skills"]) == (201, 2)
    assert world.installed(skill_id="pack/wrapped", source_name="pack")["source"] == "pack"
    assert world.upgraded("wrapped")["outcome"] == "up_to_date"


def test_from_a_folder_copied_or_used_in_place(world: World) -> None:
    copied = write_skill(world.folder / "elsewhere", "copied", "Copied here.")
    linked = write_skill(world.folder / "elsewhere", "linked", "Used in place.")
    assert world.installed(source_url=str(copied), source_type="local")["editable"] is False
    assert world.installed(origin={"type": "local", "path": str(linked), "editable": True})["editable"] is True
    assert (world.server.skills_dir / "linked").is_symlink()
    assert not (world.server.skills_dir / "copied").is_symlink()
    assert world.upgraded("linked")["outcome"] == "immutable"
    assert world.server.api("DELETE", "/skills/linked").status_code == 200
    assert (linked.is_dir(), (world.server.skills_dir / "linked").exists()) == (True, False)


def test_the_manifest_and_the_lock_follow(world: World) -> None:
    world.publish("tracked")
    world.publish("silent")
    world.installed(skill_id="tracked", source_name="hub")
    world.installed(skill_id="silent", source_name="hub", save=False)
    text = world.server.manifest.read_text()
    assert text.startswith("# ours\n")
    origin = tomllib.loads(text)["dependencies"]["tracked"]["origin"]
    assert origin == {"type": "source", "source": "hub", "skill": "tracked"}
    assert "silent" not in text
    lock = {entry.id: entry for entry in read_lock(world.folder / "skills.lock")}
    assert {"tracked", "silent"} <= lock.keys()
    assert world.server.api("DELETE", "/skills/tracked").status_code == 200
    assert "tracked" not in world.server.manifest.read_text() + (world.folder / "skills.lock").read_text()
    verified = Done(world.folder, "verify", "--skills-dir", "skills", "--json")
    assert (verified.code, verified.json["differences"]) == (0, [])


HOSTILE: dict[str, Callable[[], bytes]] = {
    "a link": lambda: raw_zip(Item(b"SKILL.md", skill_md("evil").encode()), Item(b"x", b"/etc/passwd", mode=0o120777)),
    "a path out": lambda: raw_zip(Item(b"SKILL.md", skill_md("evil").encode()), Item(b"../evil", b"x")),
    "a private key": lambda: plain_zip({"SKILL.md": skill_md("evil").encode(), "k.pem": KEY.encode()}),
    "no skill": lambda: plain_zip({"README.md": b"x"}),
    "no zip": lambda: b"<html>",
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_package_changes_nothing(world: World, kind: str) -> None:
    world.web.answers["/evil.zip"] = reply(HOSTILE[kind]())
    paths = (world.server.manifest, world.folder / "skills.lock")
    before = [path.read_bytes() if path.exists() else None for path in paths]
    names, number = sorted(world.server.skills_dir.iterdir()), world.server.status()["skills"]
    error = details(world.install(origin=f"{world.web.url}/evil.zip"))
    assert "structure_error" in error or "security_issue" in error
    assert [path.read_bytes() if path.exists() else None for path in paths] == before
    assert (sorted(world.server.skills_dir.iterdir()), world.server.status()["skills"]) == (names, number)


INNER = (
    "127.0.0.1", "169.254.169.254", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "127.1", "0x7f.1", "0177.0.0.1",
    "①②⑦.0.0.1", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "100.64.0.1",
)  # fmt: skip


@pytest.mark.parametrize("host", INNER)
@pytest.mark.parametrize("kind", ["git", "http", "zip"])
def test_inner_addresses_are_not_spoken_to(world: World, host: str, kind: str) -> None:
    with WebServer() as inner:
        url = f"http://{host}:{inner.port}/a.zip"
        assert "VALIDATION_ERROR" in details(world.install(source_url=url, source_type=kind))
        assert "VALIDATION_ERROR" in details(world.install(origin={"type": kind, "url": url}))
        assert inner.connections == 0


@pytest.mark.parametrize("kind", ["git", "http", "zip"])
def test_a_redirect_inwards_is_not_followed(world: World, kind: str) -> None:
    with WebServer() as inner:
        for path in ("/moved.zip", "/moved.zip/info/refs?service=git-upload-pack"):
            world.web.answers[path] = redirect(f"{inner.url}/a.zip")
        details(world.install(origin={"type": kind, "url": f"{world.web.url}/moved.zip"}))
        assert inner.connections == 0


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"origin": {"type": "ftp", "url": "x"}}, "origin"),
        ({"origin": "ext::sh -c x"}, "origin"),
        ({"origin": {"type": "git", "url": "https://example.org/a", "subdir": "../x"}}, "origin.subdir"),
        ({"origin": {"type": "git", "url": "https://example.org/a", "ref": {}}}, "origin.ref"),
        ({"skill_id": "pdf"}, "source_name"),
        ({"source_name": "hub"}, "skill_id"),
        ({"skill_id": "../x", "source_name": "hub"}, "skill_id"),
        ({"origin": "/does/not/exist"}, "origin.path"),
        ({"origin": "https://example.org/a.zip", "commit": "main"}, "commit"),
    ],
)
def test_a_body_that_breaks_a_rule_names_the_field(world: World, body: dict[str, Any], field: str) -> None:
    answer = world.server.api("POST", "/skills", json=body)
    assert answer.status_code == 400, answer.text
    assert any(fault["field"].startswith(field) for fault in answer.json()["error"]["details"]), answer.text


def test_creating_tells_every_fault_as_before(world: World) -> None:
    answer = world.server.api("POST", "/skills", json={"id": "x", "version": "1"})
    assert {fault["field"] for fault in answer.json()["error"]["details"]} == {"id", "name", "description", "version"}
    assert world.server.api("POST", "/skills").json()["error"]["details"][0]["field"] == "body"
    assert world.install(**NEW_SKILL, skill_file=None).status_code == 201


def test_unknown_skills_sources_and_versions_are_not_found(world: World) -> None:
    assert "SKILL_NOT_FOUND" in details(world.install(skill_id="absent", source_name="hub"), 404)
    assert "'NOT_FOUND'" in details(world.install(skill_id="twin", source_name="absent"), 404)
    assert "9.9.9" in details(world.install(skill_id="twin", source_name="hub", version="9.9.9"), 404)


def test_of_installs_of_one_skill_at_once_one_succeeds(world: World) -> None:
    world.publish("raced")
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: world.install(origin=world.subdir("raced")).status_code, range(6)))
    assert sorted(answers) == [201, 409, 409, 409, 409, 409]
    assert world.upgraded("raced")["outcome"] == "up_to_date"


def test_a_name_that_is_a_route_below_a_skill_hides_none(world: World) -> None:
    world.publish("files")
    assert world.get("/skills/hub/files-skill")["name"] == "files"
    assert world.installed(skill_id="files", source_name="hub")["id"] == "files-skill"
