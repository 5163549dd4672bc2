"""Skills upgraded over HTTP, against real repositories."""

import hashlib
import json
import os
import threading
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor

import httpx

from registry.project.lock_file import read_lock
from registry.skill_folder import tree_digest
from support.commands import Done
from support.install_world import World, skill_md
from support.servers import write_skill
from support.web_server import reply


def test_an_upgrade_follows_the_source(world: World) -> None:
    world.publish("growing", "1.0.0")
    world.installed(skill_id="growing", source_name="hub")
    assert world.upgraded("growing")["outcome"] == "up_to_date"
    world.publish("growing", "1.1.0", **{"scripts/run.sh": "curl https://new.example.org/x\n"})
    checked = world.upgraded("growing", check=True)
    assert (checked["outcome"], checked["resolved_version"]) == ("would_update", "1.1.0")
    assert checked["changes"] == {"added": ["scripts/run.sh"], "removed": [], "changed": ["SKILL.md"]}
    assert world.get("/skills/growing")["version"] == "1.0.0"
    done = world.upgraded("growing")
    assert (done["outcome"], done["changes"]) == ("updated", None)
    skill = world.get("/skills/growing")
    assert (skill["version"], skill["source"]) == ("1.1.0", "hub")
    rules = {finding["rule"] for finding in skill["findings"]["findings"]}
    assert {"update-adds-script", "update-adds-url"} <= rules
    differing = Done(world.folder, "verify", "--skills-dir", "skills", "--json").json["differences"]
    assert "growing" not in {one["path"] for one in differing}


def test_of_upgrades_of_one_skill_at_once_one_is_done(world: World) -> None:
    world.publish("rushed", "1.0.0")
    world.installed(origin=world.subdir("rushed"))
    world.publish("rushed", "1.1.0")
    with ThreadPoolExecutor(5) as pool:
        results = list(pool.map(lambda _: world.upgraded("rushed"), range(5)))
    outcomes = [result["outcome"] for result in results]
    assert outcomes.count("updated") == 1, results
    assert set(outcomes) <= {"updated", "up_to_date", "immutable"}, results
    assert world.upgraded("rushed")["outcome"] == "up_to_date"


def test_a_version_that_was_asked_for_stays(world: World) -> None:
    world.publish("wanted", "1.0.0")
    world.installed(skill_id="wanted", source_name="hub", version="1.0.0")
    assert tomllib.loads(world.server.manifest.read_text())["dependencies"]["wanted"]["version"] == "1.0.0"
    world.publish("wanted", "2.0.0")
    assert world.upgraded("wanted")["outcome"] == "immutable"
    assert world.upgraded("wanted", version="2.0.0")["outcome"] == "updated"
    assert tomllib.loads(world.server.manifest.read_text())["dependencies"]["wanted"]["version"] == "2.0.0"


def test_a_skill_that_its_source_moves_is_followed_within_the_repository_only(world: World) -> None:
    world.publish("moving", "1.0.0")
    world.installed(skill_id="moving", source_name="hub")
    world.skills.git("mv", "skills/moving", "moving")
    world.skills.commit({"moving/SKILL.md": skill_md("moving", "1.1.0")})
    world.server.api("POST", "/registry/refresh")
    assert world.upgraded("moving")["outcome"] == "updated"
    lock = {entry.id: entry for entry in read_lock(world.folder / "skills.lock")}
    assert getattr(lock["moving"].origin, "subdir", None) == "moving"


def test_an_installed_skill_stays_the_one_that_it_is_when_its_id_passes_to_another(world: World) -> None:
    """A new folder with a shorter path, or a better name, gets the id that the source has listed the skill with."""
    mine = {"team/lathe": "Mine turns.", "saw-表单": "Mine saws."}
    theirs = {"lathe": "Theirs turns.", "saw": "Theirs saws."}
    world.skills.commit(
        {f"{path}/SKILL.md": skill_md(path.rpartition("/")[2], body=text) for path, text in mine.items()}
    )
    world.server.api("POST", "/registry/refresh")
    for name in ("lathe", "saw"):
        world.installed(skill_id=name, source_name="hub")
    world.skills.commit({f"{path}/SKILL.md": skill_md(path, "2.0.0", text) for path, text in theirs.items()})
    world.server.api("POST", "/registry/refresh")
    skills_dir = world.server.skills_dir
    for name in ("lathe", "saw"):
        assert world.upgraded(name)["outcome"] == "up_to_date"
        assert "Mine" in (skills_dir / name / "SKILL.md").read_text()
    cards = {card["id"]: card["installed"] for card in world.get("/skills?limit=100&source=hub")}
    ours = [skill_id for skill_id in cards if "lathe" in skill_id or "saw" in skill_id]
    listed = [skill_id for skill_id in ours if not cards[skill_id]]
    texts = [world.get(f"/skills/{skill_id}/content")["content"] for skill_id in sorted(listed)]
    assert ["Theirs" in text for text in texts] == [True, True]
    world.skills.commit({"team/lathe/SKILL.md": skill_md("lathe", "1.1.0", "Mine turns better.")})
    assert world.upgraded("lathe")["outcome"] == "updated"
    assert "Mine turns better." in (skills_dir / "lathe/SKILL.md").read_text()


def test_the_id_of_an_own_skill_is_never_that_of_one_that_a_source_renames(world: World) -> None:
    world.skills.commit({f"{path}/SKILL.md": skill_md("chisel", body=path) for path in ("x/chisel", "chisel")})
    world.server.api("POST", "/registry/refresh")
    write_skill(world.server.skills_dir, "chisel", "My own chisel.")
    world.server.api("POST", "/registry/scan")
    world.installed(skill_id="x.chisel", source_name="hub")
    world.skills.git("rm", "-r", "--quiet", "chisel")
    world.skills.commit({"x/chisel/SKILL.md": skill_md("chisel", "1.0.1")})
    world.server.api("POST", "/registry/refresh")
    assert world.upgraded("chisel")["outcome"] == "immutable"
    assert world.upgraded("x-chisel")["outcome"] == "updated"


def test_a_skill_that_has_left_its_folder_or_its_branch_is_named_with_its_new_place(world: World) -> None:
    files = {f"a/{name}/SKILL.md": skill_md(name) for name in ("adze", "awl", "axe")}
    world.skills.commit(files)
    world.skills.git("checkout", "--quiet", "-b", "work")
    world.skills.commit({"a/auger/SKILL.md": skill_md("auger")})
    url = world.hub.url("skills")
    branches = {"adze": {"branch": "main"}, "auger": {"branch": "work"}}
    for name in ("adze", "auger", "awl", "axe"):
        ref = {"ref": branches[name]} if name in branches else {}
        world.installed(origin={"type": "git", "url": url, "subdir": f"a/{name}"} | ref)
    world.skills.git("mv", "a", "b")
    world.skills.commit()
    world.skills.git("branch", "--quiet", "--delete", "--force", "main")
    world.skills.git("branch", "--quiet", "--move", "work", "trunk")
    world.skills.git("rm", "-r", "--quiet", "b/axe")
    world.skills.commit()
    world.skills.git("symbolic-ref", "HEAD", "refs/heads/trunk")
    reasons = {name: world.upgraded(name)["reason"].replace("***@", "") for name in ("adze", "auger", "awl", "axe")}
    for name, lost in (("adze", "branch main"), ("auger", "branch work"), ("awl", "folder a/awl, but b/awl")):
        ways = f"skill-registry uninstall {name}, then skill-registry install {url}/tree/HEAD/b/{name}"
        assert reasons[name] == f"{url} has no {lost}: {ways}"
    assert reasons["axe"] == (
        f"{url} has no folder a/axe, and no other folder of this name: it stays as it is, "
        "or 'skill-registry uninstall axe' removes it"
    )
    world.server.api("DELETE", "/skills/adze")
    assert world.installed(origin=f"{url}/tree/HEAD/b/adze")["id"] == "adze"
    assert world.upgraded("adze")["outcome"] == "up_to_date"


def test_what_an_index_names_is_compared_with_its_digest(world: World) -> None:
    place = "/.well-known/agent-skills"

    def listed(version: str) -> None:
        text = skill_md("indexed", version).encode()
        digest = f"sha256:{hashlib.sha256(text).hexdigest()}"
        skills = [{"name": "indexed", "type": "skill-md", "url": "indexed/SKILL.md", "digest": digest}]
        world.web.answers[f"{place}/index.json"] = reply(json.dumps({"skills": skills}).encode())
        world.web.answers[f"{place}/indexed/SKILL.md"] = reply(text)
        assert world.server.api("POST", "/registry/refresh").status_code == 200

    listed("1.0.0")
    world.server.api("POST", "/registry/sources", json={"name": "site", "url": world.web.url}).raise_for_status()
    world.installed(skill_id="indexed", source_name="site")
    (entry,) = (entry for entry in read_lock(world.folder / "skills.lock") if entry.id == "indexed")
    assert getattr(entry.origin, "sha256", None) == hashlib.sha256(skill_md("indexed").encode()).hexdigest()
    world.web.requests.clear()
    assert world.upgraded("indexed")["outcome"] == "up_to_date"
    assert [path for path, _ in world.web.requests if path.endswith("SKILL.md")] == []  # the digest is the same
    listed("1.1.0")
    intact = world.web.answers[f"{place}/indexed/SKILL.md"]
    world.web.answers[f"{place}/indexed/SKILL.md"] = reply(skill_md("indexed", "6.6.6").encode())
    row = world.upgraded("indexed")
    assert (row["outcome"], "has the SHA-256" in row["reason"]) == ("error", True), row
    world.web.answers[f"{place}/indexed/SKILL.md"] = intact
    assert world.upgraded("indexed")["resolved_version"] == "1.1.0"


def test_pins_and_changed_files_are_immutable(world: World) -> None:
    commit = world.publish("pinned")
    world.installed(origin=world.subdir("pinned", commit=commit))
    world.publish("edited")
    world.installed(origin=world.subdir("edited"))
    (world.server.skills_dir / "edited/SKILL.md").write_text(skill_md("edited", body="ours"))
    for name in ("pinned", "edited"):
        world.publish(name, "2.0.0")
        assert world.upgraded(name)["outcome"] == "immutable"
    assert "ours" in (world.server.skills_dir / "edited/SKILL.md").read_text()
    assert world.server.api("DELETE", "/skills/edited").status_code == 200


def test_local_changes_are_named_and_thrown_away_only_on_request(world: World) -> None:
    world.publish("edited", body="theirs", **{"old.txt": "1\n", "same.txt": "1\n"})
    world.installed(origin=world.subdir("edited"))
    folder = world.server.skills_dir / "edited"
    world.publish("edited", "2.0.0", body="newer", **{"old.txt": "1\n", "same.txt": "1\n"})
    (folder / "SKILL.md").write_text(skill_md("edited", "9.0.0", "ours"))
    (folder / "old.txt").unlink()
    (folder / "new.bin").write_bytes(b"\0\1")
    os.mkfifo(folder / "pipe")
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__/a.pyc").write_bytes(b"\0")
    row = world.upgraded("edited")
    assert (row["outcome"], row["changes"]) == ("immutable", None)
    assert "changed SKILL.md; added new.bin, pipe; removed old.txt" in row["reason"]
    changes = row["local_changes"]
    lines = changes.pop("diff").splitlines()
    named = {"added": ["new.bin", "pipe"], "removed": ["old.txt"], "changed": ["SKILL.md"]}
    assert changes == named | {"compared": True}
    assert {"-theirs", "+ours", "-1"} <= set(lines)
    assert any("no text" in line for line in lines)
    assert "ours" in (folder / "SKILL.md").read_text()

    checked = world.upgraded("edited", discard=True, check=True)
    assert (checked["outcome"], checked["changes"]["added"]) == ("would_update", ["old.txt"])
    assert "ours" in (folder / "SKILL.md").read_text()
    done = world.upgraded("edited", discard=True)
    assert (done["outcome"], done["resolved_version"], done["local_changes"]) == ("updated", "2.0.0", None)
    assert sorted(path.name for path in folder.iterdir()) == ["SKILL.md", "old.txt", "same.txt"]
    assert world.upgraded("edited", discard=True)["outcome"] == "up_to_date"


def test_a_discard_gives_pinned_skills_back_what_was_installed(world: World) -> None:
    commit = world.publish("fixed")
    world.publish("exact")
    world.installed(origin=world.subdir("fixed", commit=commit))
    world.installed(skill_id="exact", source_name="hub", version="1.0.0")
    for name in ("fixed", "exact"):
        digest = tree_digest(world.server.skills_dir / name)
        (world.server.skills_dir / name / "SKILL.md").write_text(skill_md(name, body="ours"))
        world.publish(name, "2.0.0")
        row = world.upgraded(name)
        assert (row["outcome"], row["local_changes"]) == ("immutable", None)
        row = world.upgraded(name, discard=True)
        assert (row["outcome"], row["resolved_version"]) == ("updated", "1.0.0"), row
        assert tree_digest(world.server.skills_dir / name) == digest
        assert world.upgraded(name, discard=True)["outcome"] == "immutable"


def test_without_the_installed_version_the_files_that_are_newer_are_named(world: World) -> None:
    near = world.folder / "near"
    (near / "scripts").mkdir(parents=True)
    (near / "SKILL.md").write_text(skill_md("near"))
    (near / "scripts/a.py").write_text("print(1)\n")
    world.installed(origin={"type": "local", "path": str(near)})
    (near / "SKILL.md").write_text(skill_md("near", "2.0.0"))
    edited = world.server.skills_dir / "near/scripts/a.py"
    edited.write_text("print(2)\n")
    os.utime(edited, (time.time() + 60, time.time() + 60))
    row = world.upgraded("near")
    unknown = {"added": [], "removed": [], "compared": False, "diff": ""}
    assert row["local_changes"] == unknown | {"changed": ["scripts/a.py"]}
    assert "scripts/a.py" in row["reason"]
    assert world.upgraded("near", discard=True)["resolved_version"] == "2.0.0"
    assert edited.read_text() == "print(1)\n"


def test_one_failure_of_an_upgrade_fails_only_its_row(world: World) -> None:
    world.publish("failing")
    world.publish("thriving")
    world.installed(origin=world.subdir("failing"))
    world.installed(origin=world.subdir("thriving"))
    world.publish("thriving", "2.0.0")
    world.skills.git("rm", "-rq", "skills/failing")
    world.skills.commit()
    answer = world.upgrade()
    rows = {row["id"]: row for row in answer["results"]}
    assert (rows["failing"]["outcome"], rows["thriving"]["outcome"]) == ("error", "updated")
    assert answer["upgraded"] == sum(row["outcome"] == "updated" for row in rows.values()) == 1
    assert (world.server.skills_dir / "failing/SKILL.md").is_file()


def test_an_older_version_is_taken_only_by_number(world: World) -> None:
    world.publish("rolled", "2.0.0")
    world.installed(origin=world.subdir("rolled"))
    world.publish("rolled", "1.0.0")
    assert world.upgraded("rolled")["outcome"] == "error"
    assert world.upgraded("rolled", version="3.0.0")["outcome"] == "error"
    assert world.upgraded("rolled", version="1.0.0")["outcome"] == "updated"
    assert world.get("/skills/rolled")["version"] == "1.0.0"


def test_readers_never_miss_a_skill_that_is_upgraded(world: World) -> None:
    world.publish("steady", "1.0.0")
    world.installed(origin=world.subdir("steady"))
    done, seen = threading.Event(), set()

    def read() -> None:
        with httpx.Client(base_url=world.server.url, trust_env=False, timeout=30) as http:
            while not done.is_set():
                seen.add(http.get("/api/v1/skills/steady").status_code)

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(1, 6):
        world.publish("steady", f"1.0.{number}")
        assert world.upgraded("steady")["outcome"] == "updated"
    done.set()
    reader.join()
    assert seen == {200}
    assert tree_digest(world.server.skills_dir / "steady") == world.get("/skills/steady")["digest"]
