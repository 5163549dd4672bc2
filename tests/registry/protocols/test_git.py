"""The git view in both profiles, by the git command: what is cloned is the catalog, byte for byte."""

import base64
import io
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.code_v1 import error
from support.git_client import GitClient, files_in
from support.publishing import Registry, skill_package
from support.routes import REGISTRY_MODE
from support.servers import RunningServer, write_skill
from support.waiting import wait_until
from support.zips import Item, raw_zip

SCRIPT = b"#!/bin/sh\r\necho spoons\n"
IMAGE = bytes(range(256)) * 700
"""Not text, and larger than one packet of git, as it does not deflate to nothing."""

SKILL_FILE = b"---\nname: whittle\ndescription: Carves spoons.\nversion: 1.0.0\n---\n# Spoons\n"
FILES = {
    "SKILL.md": (SKILL_FILE, False),
    "scripts/run.sh": (SCRIPT, True),
    "assets/a/b.bin": (IMAGE, False),
    "references/é ü.md": (b"# Notes\n", False),
    ".gitignore": (b"*.bin\n", False),
}


class View:
    """A service with the skill `whittle`, in a scope if it has scopes, and a reader's git."""

    def __init__(self, server: RunningServer, skill_id: str, folder: Path) -> None:
        self.server = server
        self.skill_id = skill_id
        self.git = GitClient(folder)
        self.headers: dict[str, str] = {}
        if isinstance(server, Registry):
            self.headers = server.caller("reader", "user")
            self.git.remember(server.url, self.headers["Authorization"].removeprefix("Bearer "))

    def url(self, repository: str) -> str:
        return f"{self.server.url}/git/{repository}.git"

    @property
    def skill_url(self) -> str:
        return self.url(self.skill_id)

    def head(self, repository: str) -> str:
        return self.git("ls-remote", self.url(repository), "HEAD").partition("\t")[0]


def publish(registry: Registry, package: bytes, scope: str = "acme") -> None:
    job = registry.finished(registry.publish(package, registry.caller(f"{scope}/ann")))
    assert job["status"] == "accepted", job


@pytest.fixture(scope="module", params=["local", REGISTRY_MODE])
def view(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[View]:
    folder: Path = tmp_path_factory.mktemp("view")
    if request.param == "local":
        for path, (data, is_executable) in FILES.items():
            file = folder / "skills/whittle" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
            file.chmod(0o755 if is_executable else 0o644)
        write_skill(folder / "skills", "Odd_Name", "Has a name that agentskills.io does not know.")
        with RunningServer(folder) as server:
            yield View(server, "whittle", folder / "reader")
    else:
        items = [
            Item(path.encode(), data, mode=0o100755 if is_executable else 0o100644, flags=0x800)
            for path, (data, is_executable) in FILES.items()
        ]
        with Registry(folder) as registry:
            publish(registry, raw_zip(*items))
            yield View(registry, "acme/whittle", folder / "reader")


@pytest.mark.parametrize("options", [(), ("--depth", "1")], ids=["full", "depth 1"])
def test_a_skill_is_a_repository_with_its_files(view: View, tmp_path: Path, options: tuple[str, ...]) -> None:
    folder = view.git.clone(view.skill_url, str(tmp_path / "clone"), *options)
    assert files_in(folder) == FILES
    assert view.git("-C", str(folder), "log", "--format=%an %ad %s", "--date=short").endswith(f"{view.skill_id} 1.0.0")
    assert view.git("-C", str(folder), "status", "--short", "--branch") == "## main...origin/main"


@pytest.mark.parametrize("options", [(), ("--depth", "1")], ids=["full", "depth 1"])
def test_a_marketplace_has_a_plugin_of_each_skill(view: View, tmp_path: Path, options: tuple[str, ...]) -> None:
    files = files_in(view.git.clone(view.url("marketplace"), str(tmp_path / "clone"), *options))
    skill = "plugins/whittle/skills/whittle"
    assert {path: files[f"{skill}/{path}"] for path in FILES} == FILES
    assert set(files) == {
        ".claude-plugin/marketplace.json",
        "plugins/whittle/.claude-plugin/plugin.json",
        *(f"{skill}/{path}" for path in FILES),
    }
    document = json.loads(files[".claude-plugin/marketplace.json"][0])
    (plugin,) = document.pop("plugins")
    assert document == {"name": "skill-registry", "owner": {"name": "skill-registry"}}
    assert plugin.pop("source") == "./plugins/whittle"
    assert json.loads(files["plugins/whittle/.claude-plugin/plugin.json"][0]) == plugin
    assert (plugin["name"], plugin["description"]) == ("whittle", "Carves spoons.")
    assert plugin["version"].startswith("1.0.0")


def test_the_same_files_are_the_same_commit_after_a_restart(view: View) -> None:
    before = [view.head(name) for name in (view.skill_id, "marketplace")]
    assert view.server.stop() == 0
    view.server.start()
    if isinstance(view.server, Registry):
        view.git.remember(view.server.url, view.server.token("user"))
    assert [view.head(name) for name in (view.skill_id, "marketplace")] == before


def test_a_clone_takes_up_a_change(tmp_path: Path) -> None:
    with Registry(tmp_path) as registry:
        publish(registry, skill_package("whittle"))
        publish(registry, skill_package("planes"))
        view = View(registry, "acme/whittle", tmp_path / "reader")
        for name, options in (("full", ()), ("shallow", ("--depth", "1"))):
            view.git.clone(view.skill_url, name, *options)
            view.git.clone(view.url("marketplace"), f"{name}-all", *options)
        publish(registry, skill_package("whittle", "1.1.0", files={"notes.md": b"new\n"}))
        for name in ("full", "shallow"):
            view.git("-C", name, "pull", "--quiet", "--rebase")
            assert files_in(tmp_path / "reader" / name)["notes.md"] == (b"new\n", False)
            view.git("-C", f"{name}-all", "fetch", "--quiet", "--depth", "1")
            view.git("-C", f"{name}-all", "reset", "--quiet", "--hard", "origin/main")
            view.git("-C", f"{name}-all", "fsck", "--strict")
            skills = tmp_path / "reader" / f"{name}-all/plugins"
            assert (skills / "whittle/skills/whittle/notes.md").read_bytes() == b"new\n"
            assert (skills / "planes/skills/planes/SKILL.md").exists()
            plugin = json.loads((skills / "whittle/.claude-plugin/plugin.json").read_text())
            assert plugin["version"] == "1.1.0"
            view.git("-C", name, "fetch", "--quiet", "--depth=3")


def test_a_changed_folder_has_another_plugin_version(tmp_path: Path) -> None:
    """Clients take up a plugin whose version has changed, and authors of folders forget to change it."""
    skill = write_skill(tmp_path / "skills", "whittle", "Carves spoons with great care.")
    with RunningServer(tmp_path) as server:
        view = View(server, "whittle", tmp_path / "reader")
        plugin = Path("plugins/whittle/.claude-plugin/plugin.json")
        first = json.loads((view.git.clone(view.url("marketplace"), "first") / plugin).read_text())
        head = view.head("marketplace")
        (skill / "notes.md").write_text("new")
        wait_until(lambda: view.head("marketplace") != head, why=lambda: "the marketplace stays as it was")
        second = json.loads((view.git.clone(view.url("marketplace"), "second") / plugin).read_text())
        assert first["version"] != second["version"]
        assert {first["version"].partition("+")[0], second["version"].partition("+")[0]} == {"1.0.0"}


def test_a_skill_that_is_withdrawn_is_in_no_repository_but_that_of_its_version(tmp_path: Path) -> None:
    with Registry(tmp_path) as registry:
        for version in ("1.0.0", "1.1.0", "1.2.0"):
            publish(registry, skill_package("whittle", version, body=f"# {version}\n"))
        publish(registry, skill_package("planes"))
        view = View(registry, "acme/whittle", tmp_path / "reader")
        admin = registry.caller("root", "admin")
        state = "/api/registry/skills/acme/whittle"
        assert registry.http.post(f"{state}/1.2.0/yank", headers=admin).status_code == 200
        assert b"# 1.1.0" in (view.git.clone(view.skill_url, "current") / "SKILL.md").read_bytes()
        assert b"# 1.2.0" in (view.git.clone(view.url("acme/whittle/1.2.0"), "yanked") / "SKILL.md").read_bytes()
        everything = view.git.clone(view.url("marketplace"), "everything") / "plugins"
        assert b"# 1.1.0" in (everything / "whittle/skills/whittle/SKILL.md").read_bytes()
        assert registry.http.post(f"{state}/1.2.0/revoke", headers=admin).status_code == 200
        assert "revoked" in view.git.refusal("clone", view.url("acme/whittle/1.2.0"))
        disabled = registry.api("PUT", "/skills/acme/whittle", json={"enabled": False}, headers=admin)
        assert disabled.status_code == 200
        assert "not found" in view.git.refusal("clone", view.skill_url)
        names = [path.name for path in (view.git.clone(view.url("@acme"), "scope") / "plugins").iterdir()]
        assert names == ["planes"]


def test_a_scope_has_a_marketplace_and_shared_names_get_the_scope(tmp_path: Path) -> None:
    with Registry(tmp_path, "--protocols-marketplace-name", "tools") as registry:
        for scope, name in (("acme", "whittle"), ("bob_co", "whittle"), ("acme", "planes"), ("carl", "acme-whittle")):
            publish(registry, skill_package(name), scope)
        view = View(registry, "acme/whittle", tmp_path / "reader")
        everything = view.git.clone(view.url("marketplace"), "everything")
        names = sorted(path.name for path in (everything / "plugins").iterdir())
        assert [re.sub("-[0-9a-f]{8}$", "-HASH", name) for name in names] == [
            "acme-whittle-HASH", "acme-whittle-HASH", "bob-co-whittle", "planes",
        ]  # fmt: skip
        for name in names:
            (skill,) = (everything / "plugins" / name / "skills").iterdir()
            assert f"name: {skill.name}\n" in (skill / "SKILL.md").read_text()
        alone = view.git.clone(view.url("@bob_co"), "scope")
        assert [path.name for path in (alone / "plugins").iterdir()] == ["whittle"]
        assert json.loads((alone / ".claude-plugin/marketplace.json").read_text())["name"] == "tools-bob-co"
        assert "not found" in view.git.refusal("clone", view.url("@nobody"))


def test_a_clone_that_began_before_a_change_is_finished_unless_something_was_withdrawn(tmp_path: Path) -> None:
    with Registry(tmp_path) as registry:
        publish(registry, skill_package("whittle"))
        view = View(registry, "acme/whittle", tmp_path / "reader")

        def asked(head: str) -> bytes:
            body = f"0032want {head}\n00000009done\n".encode()
            url = view.url("marketplace") + "/git-upload-pack"
            return registry.http.post(url, content=body, headers=view.headers).content

        first = view.head("marketplace")
        publish(registry, skill_package("planes"))
        assert asked(first).startswith(b"0008NAK\nPACK")
        second = view.head("marketplace")
        assert second != first
        assert asked(second).startswith(b"0008NAK\nPACK")
        assert asked(first).startswith(b"0008NAK\nPACK")
        admin = registry.caller("root", "admin")
        registry.http.post("/api/registry/skills/acme/planes/1.0.0/revoke", headers=admin)
        assert b"not our ref" in asked(second)
        assert b"not our ref" in asked(first[::-1])


def test_what_git_may_not_do_is_said_in_its_own_words(view: View, tmp_path: Path) -> None:
    clone = str(view.git.clone(view.skill_url, str(tmp_path / "clone")))
    assert "remote error: This repository is read-only" in view.git.refusal("-C", clone, "push", "--force")
    assert "remote error: Skill 'absent' not found" in view.git.refusal("clone", view.url("absent"))
    assert "ends with .git" in view.git.refusal("clone", view.skill_url.removesuffix(".git"))
    assert "not found" in view.git.refusal("clone", view.url(f"{view.skill_id}/9.9.9"))
    assert "unadvertised object" in view.git.refusal("-C", clone, "fetch", "origin", "a" * 40)


def test_names_that_agentskills_does_not_know_have_no_repository(view: View) -> None:
    if view.skill_id == "whittle":
        assert "agentskills.io" in view.git.refusal("clone", view.url("odd_name"))
        assert view.server.found("agentskills.io") == ["odd_name"]


def basic(password: str) -> dict[str, str]:
    return {"Authorization": f"Basic {base64.b64encode(f'git:{password}'.encode()).decode()}"}


def test_a_private_registry_takes_a_token_or_a_key_as_the_password(tmp_path: Path) -> None:
    with Registry(tmp_path) as registry:
        publish(registry, skill_package("whittle"))
        admin = registry.caller("root", "admin")
        made = registry.api("POST", "/auth/keys", json={"name": "reader", "role": "user"}, headers=admin)
        key = made.json()["data"]["key"]
        url = f"{registry.url}/git/acme/whittle.git"
        for number, password in enumerate((registry.token("user"), key)):
            git = GitClient(tmp_path / f"reader-{number}")
            git.remember(registry.url, password)
            clone = git.clone(url, "clone")
            assert (clone / "SKILL.md").exists()
            assert password not in (clone / ".git/config").read_text()
        outsider = GitClient(tmp_path / "outsider")
        assert "could not read Username" in outsider.refusal("clone", url)
        outsider.remember(registry.url, "wrong")
        assert "Authentication failed" in outsider.refusal("clone", url)
        refs = "/git/acme/whittle.git/info/refs?service=git-upload-pack"
        for headers in ({}, basic("wrong"), {"Authorization": "Basic ?"}, {"Authorization": "Basic"}, basic("")):
            for path in (refs, refs.replace("upload", "receive"), refs.replace("acme/whittle", "marketplace")):
                refused = registry.http.get(path, headers=headers)
                assert refused.status_code == 401
                assert refused.headers["WWW-Authenticate"].startswith("Basic ")
        for path in ("git-upload-pack", "git-receive-pack"):
            assert registry.http.post(f"/git/acme/whittle.git/{path}").status_code == 401
        assert registry.http.get(refs, headers=registry.caller("reader", "user")).status_code == 200
        assert error(registry.http.get("/tree/index.json", headers=basic(key))) == (401, "UNAUTHORIZED")


def test_the_view_can_be_switched_off(tmp_path: Path) -> None:
    with RunningServer(tmp_path, "--protocol", "tree") as server:
        refs = server.http.get("/git/marketplace.git/info/refs?service=git-upload-pack")
        assert error(refs) == (404, "NOT_FOUND")


def test_an_empty_catalog_is_an_empty_marketplace(tmp_path: Path) -> None:
    with RunningServer(tmp_path, "--read-only") as server:
        view = View(server, "", tmp_path / "reader")
        files = files_in(view.git.clone(view.url("marketplace"), "clone"))
        assert json.loads(files[".claude-plugin/marketplace.json"][0])["plugins"] == []


def test_the_zip_of_a_clone_is_the_zip_of_the_skill(view: View, tmp_path: Path) -> None:
    folder = view.git.clone(view.skill_url, str(tmp_path / "clone"))
    answer = view.server.http.get(f"/v1/skills/{view.skill_id}/content", headers=view.headers)
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        packed = {
            info.filename: (archive.read(info), bool(info.external_attr >> 16 & 0o111)) for info in archive.infolist()
        }
    assert packed == files_in(folder)
