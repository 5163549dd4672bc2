"""`uninstall --undo` brings a skill back: its folder, origin, entries in both files, and the copies of agents."""

import shutil
import tomllib
from pathlib import Path

import pytest

from registry.project.lock_file import read_lock
from registry.skill_folder import tree_digest
from support.commands import Done
from support.publishing import Registry, skill_package
from support.servers import RunningServer, write_skill

ALLOWED = {"SKILL_REGISTRY_OUTBOUND_ALLOWED_HOSTS": "127.0.0.1"}


def test_a_skill_made_here_comes_back(tmp_path: Path) -> None:
    folder = write_skill(tmp_path / "skills", "anvil", "Forges hooks.", "# Anvil\n\nStrike while it is hot.\n")
    (folder / "forge.py").write_text("print('hot')\n")
    before = tree_digest(folder)
    done = Done(tmp_path, "uninstall", "anvil")
    assert done.code == 0
    assert "kept for 30 days: 'skill-registry uninstall --undo anvil' brings it back" in done.error
    assert not folder.exists()
    (entry,) = Done(tmp_path, "uninstall", "--undo", "--json").json["bin"]
    assert (entry["id"], entry["kept_until"] > entry["removed_at"]) == ("anvil", True)
    assert "anvil" in Done(tmp_path, "uninstall", "--undo").out
    done = Done(tmp_path, "uninstall", "--undo", "anvil", "--json")
    assert [(row["id"], row["outcome"]) for row in done.json["results"]] == [("anvil", "restored")]
    assert tree_digest(folder) == before
    assert [hit["skill"]["id"] for hit in Done(tmp_path, "search", "hot iron hooks", "--json").json["skills"]] == [
        "anvil"
    ]
    Done(tmp_path, "uninstall", "--undo", "anvil").complains(1, "anvil", "already exists")


def test_an_installed_skill_comes_back_with_its_origin_and_entries(tmp_path: Path) -> None:
    with Registry(tmp_path / "registry", "--auth-anonymous-read") as registry:
        registry.finished(registry.publish(skill_package("tea")))
        manifest = tmp_path / "skill-project.toml"
        manifest.write_text('[dependencies]\n"acme/tea" = "^1"\n\n[tool.skill-registry]\nagents = ["claude"]\n')
        env = {**ALLOWED, "SKILL_REGISTRY_SERVER": registry.url}
        assert Done(tmp_path, "install", **env).code == 0
        before, (locked,) = tomllib.loads(manifest.read_text()), read_lock(tmp_path / "skills.lock")
        assert before["dependencies"] == {"acme/tea": "^1"}
        assert Done(tmp_path, "uninstall", "tea").code == 0
        assert tomllib.loads(manifest.read_text())["dependencies"] == {}
        assert not (tmp_path / ".claude" / "skills" / "tea").exists()
        assert Done(tmp_path, "uninstall", "--undo", "tea").code == 0
        assert tomllib.loads(manifest.read_text()) == before
        assert read_lock(tmp_path / "skills.lock") == [locked]
        assert (tmp_path / ".claude" / "skills" / "tea" / "SKILL.md").is_file()
        for address in ("acme/tea", f"{registry.url}/skills/acme/tea"):
            assert Done(tmp_path, "uninstall", address).code == 0
            done = Done(tmp_path, "uninstall", "--undo", address, "--json")
            assert [(row["id"], row["outcome"]) for row in done.json["results"]] == [("tea", "restored")]
        assert read_lock(tmp_path / "skills.lock") == [locked]
        registry.finished(registry.publish(skill_package("tea", "1.1.0")))
        assert Done(tmp_path, "upgrade", **env).code == 0
    assert [entry.version for entry in read_lock(tmp_path / "skills.lock")] == ["1.1.0"]


def test_what_was_removed_by_hand_leaves_both_files(tmp_path: Path) -> None:
    manifest, lock = tmp_path / "skill-project.toml", tmp_path / "skills.lock"
    manifest.write_text('[tool.skill-registry]\nagents = ["claude"]\n')
    for name, options in (("near", ()), ("used", ("--editable",)), ("stays", ())):
        write_skill(tmp_path / "tools", name, "A skill of this folder.")
        assert Done(tmp_path, "install", f"./tools/{name}", *options).code == 0
    shutil.rmtree(tmp_path / "skills" / "near")
    (tmp_path / "tools" / "used").rename(tmp_path / "tools" / "other")
    installed = Done(tmp_path, "install")
    assert (installed.code, "used: does not exist, or is not a folder" in installed.error) == (1, True), installed.error
    shutil.rmtree(tmp_path / "skills" / "near")
    done = Done(tmp_path, "uninstall", "near", "used")
    assert (done.code, "brings it back" in done.error) == (0, False), done.error
    assert ".claude/skills/near is a copy of a skill that is no longer installed" in done.error
    assert list(tomllib.loads(manifest.read_text())["dependencies"]) == ["stays"]
    assert [entry.id for entry in read_lock(lock)] == ["stays"]
    assert [path.name for path in (tmp_path / "skills").iterdir()] == ["stays"]
    again = Done(tmp_path, "uninstall", "near")
    assert (again.code, "Skill 'near' not found" in again.error) == (1, True), again.error


def test_a_skill_of_a_registry_removed_by_hand_is_known_by_both_names(tmp_path: Path) -> None:
    with Registry(tmp_path / "registry", "--auth-anonymous-read") as registry:
        for name in ("tea", "ocr"):
            registry.finished(registry.publish(skill_package(name)))
        (tmp_path / "skill-project.toml").write_text('[dependencies]\n"acme/tea" = "^1"\n"acme/ocr" = "^1"\n')
        assert Done(tmp_path, "install", SKILL_REGISTRY_SERVER=registry.url, **ALLOWED).code == 0
    shutil.rmtree(tmp_path / "skills")
    assert Done(tmp_path, "uninstall", "tea", "acme/ocr").code == 0
    assert tomllib.loads((tmp_path / "skill-project.toml").read_text())["dependencies"] == {}
    assert read_lock(tmp_path / "skills.lock") == []


def test_a_changed_copy_keeps_its_origin_and_its_changes(tmp_path: Path) -> None:
    origin = write_skill(tmp_path / "tools", "near", "A skill of this folder.")
    assert Done(tmp_path, "install", "./tools/near", "--no-save").code == 0
    copy = tmp_path / "skills" / "near" / "SKILL.md"
    copy.write_text(copy.read_text() + "\nMy own line.\n")
    assert Done(tmp_path, "uninstall", "near").code == 0
    assert Done(tmp_path, "uninstall", "--undo", "near").code == 0
    assert "My own line." in copy.read_text()
    assert Done(tmp_path, "show", "near", "--json").json["source_type"] == "local"
    assert origin.is_dir()


def test_a_disabled_skill_stays_disabled(tmp_path: Path) -> None:
    with RunningServer(tmp_path) as server:
        write_skill(server.skills_dir, "anvil", "Forges hooks.")
        server.wait_for(lambda: server.api("GET", "/skills/anvil").status_code == 200)
        assert server.api("PUT", "/skills/anvil", json={"enabled": False}).status_code == 200
        assert server.api("DELETE", "/skills/anvil").status_code == 200
        assert server.api("GET", "/skills/anvil").status_code == 404
        (entry,) = server.api("GET", "/bin").json()["data"]
        assert entry["id"] == "anvil"
        restored = server.api("POST", "/skills/anvil/restore")
        assert (restored.status_code, restored.json()["data"]["enabled"]) == (200, False)
        assert server.api("GET", "/bin").json()["data"] == []


@pytest.mark.parametrize("id_", ["anvil", "acme/anvil", "..", "%2e%2e%2f%2e%2e"])
def test_what_the_bin_does_not_have_is_not_found(tmp_path: Path, id_: str) -> None:
    with RunningServer(tmp_path) as server:
        answer = server.api("POST", f"/skills/{id_}/restore")
        assert answer.status_code in (400, 404), answer.text
        assert answer.json()["success"] is False


def test_without_a_bin_nothing_is_kept(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "anvil", "Forges hooks.")
    done = Done(tmp_path, "uninstall", "anvil", SKILL_REGISTRY_LIMITS_BIN_DAYS="0")
    assert (done.code, "kept for" in done.error) == (0, False)
    Done(tmp_path, "uninstall", "--undo", "anvil").complains(1, "anvil", "not found", "the bin")


def test_undo_takes_no_cascade(tmp_path: Path) -> None:
    Done(tmp_path, "uninstall", "--undo", "--cascade", "anvil").complains(2, "--undo takes no --cascade")
    Done(tmp_path, "uninstall").complains(2, "give the ID of a skill")
