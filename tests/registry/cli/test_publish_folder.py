"""What `publish` takes of an author's folder, and what it does not send."""

import io
import os
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from registry.packages.packing import pack
from support.publishing import Registry, run, skill_package
from support.servers import write_skill

PRIVATE_KEY = (
    "-----BEGIN PRIVATE KEY-----\n" + "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj" * 2 + "\n-----END PRIVATE KEY-----\n"
)
JUNK = (
    *(".DS_Store", "Thumbs.db", "._SKILL.md", ".SKILL.md.swp", "SKILL.md~", ".hg/store", ".svn/wc.db"),
    *("node_modules/pkg/index.js", "scripts/__pycache__/run.pyc", "scripts/run.pyc", ".venv/bin/python"),
    *(".pytest_cache/README.md", "scripts/.mypy_cache/x.json", ".skill-registry/skill-registry.db"),
)


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    folder: Path = tmp_path_factory.mktemp("registry")
    with Registry(folder) as running:
        yield running


def write(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("some text\n")


def git(folder: Path, *args: str) -> None:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    subprocess.run(["git", "-C", str(folder), *args], check=True, capture_output=True, env=plain)


def published(registry: Registry, name: str) -> set[str]:
    """Return the files of a published version."""
    package = registry.get(f"/packages/acme/{name}/1.0.0.zip")
    return set(zipfile.ZipFile(io.BytesIO(package.content)).namelist())


def is_known(registry: Registry, name: str) -> bool:
    return bool(registry.get(f"/api/skills/acme/{name}").status_code == 200)


def test_what_tools_leave_behind_is_left_out_and_named(registry: Registry, tmp_path: Path) -> None:
    skill = write_skill(tmp_path, "tidy", "Has what tools leave behind.")
    write(skill, *JUNK, "scripts/run.py", ".gitignore", "assets/cvs/one.md")
    (skill / "node_modules/link").symlink_to("/etc/passwd")
    done = run(skill, registry, "publish", ".")
    assert done.code == 0, done.error
    assert "not in the package: .DS_Store, .SKILL.md.swp, ._SKILL.md, .hg/, .pytest_cache/ and 9 more" in done.error
    assert published(registry, "tidy") == {"SKILL.md", "scripts/run.py", ".gitignore", "assets/cvs/one.md"}


def test_what_git_ignores_is_left_out_and_tracked_files_are_kept(registry: Registry, tmp_path: Path) -> None:
    skill = write_skill(tmp_path / "repository/skills", "ignoring", "Ignores some of its files.")
    top = tmp_path / "repository"
    git(tmp_path, "init", "--quiet", str(top))
    (top / ".gitignore").write_text("*.log\n.env\n/skills/ignoring/out/\n")
    (skill / ".gitignore").write_text("local.md\n!kept.log\n")
    write(tmp_path / "config/git", "ignore")
    (tmp_path / "config/git/ignore").write_text("notes-of-mine.md\n")
    write(top / ".git/info", "exclude")
    (top / ".git/info/exclude").write_text("excluded.md\n")
    left_out = {".env", "debug.log", "scripts/a.log", "local.md", "notes-of-mine.md", "excluded.md", "out/"}
    write(skill, *left_out - {"out/"}, "out/a", "out/b/c", "kept.log", "tracked.log", "scripts/run.py")
    git(top, "add", "--force", "skills/ignoring/tracked.log")
    hook = {"GIT_DIR": "/nowhere", "GIT_INDEX_FILE": "/nowhere", "GIT_WORK_TREE": "/"}  # as in a hook of another one
    done = run(tmp_path, registry, "publish", str(skill), "--json", **hook)
    assert done.code == 0, done.error
    assert set(done.json["left_out"]) == left_out
    kept = {"SKILL.md", ".gitignore", "kept.log", "tracked.log", "scripts/run.py"}
    assert published(registry, "ignoring") == kept


def test_a_folder_that_git_ignores_as_a_whole_is_published(registry: Registry, tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", ".")
    (tmp_path / ".gitignore").write_text("build/\n*.log\n")
    skill = write_skill(tmp_path / "build", "built", "Is what a build has made.")
    write(skill, "of-the-build.log", "__pycache__/x.pyc")
    done = run(tmp_path, registry, "publish", str(skill), "--json")
    assert (done.code, done.json["left_out"]) == (0, ["__pycache__/"])
    assert published(registry, "built") == {"SKILL.md", "of-the-build.log"}


def test_a_skill_that_is_a_repository_is_published(registry: Registry, tmp_path: Path) -> None:
    skill = write_skill(tmp_path, "whole", "Is a repository of its own.")
    git(skill, "init", "--quiet", ".")
    (skill / ".gitignore").write_text("*\n!SKILL.md\n")
    write(skill, "other.md")
    done = run(tmp_path, registry, "publish", str(skill), "--json")
    assert (done.code, done.json["left_out"]) == (0, [".gitignore", "other.md"])
    (skill / ".gitignore").write_text("*\n")
    run(tmp_path, registry, "publish", str(skill)).complains(1, "SKILL.md", "git ignores")


def test_without_git_or_a_repository_the_list_is_all(registry: Registry, tmp_path: Path) -> None:
    skill = write_skill(tmp_path, "plain", "Is in no repository that git could read.")
    write(skill, "debug.log", "a~")
    (skill / ".gitignore").write_text("*.log\n")
    assert run(tmp_path, registry, "publish", str(skill), "--json").json["left_out"] == ["a~"]
    (skill / ".git").write_text("gitdir: /nowhere\n")
    (skill / "SKILL.md").write_text((skill / "SKILL.md").read_text().replace("plain", "other"))
    assert run(tmp_path, registry, "publish", str(skill), "--json").json["left_out"] == ["a~"]
    git_less = {"PATH": ""}
    (skill / "SKILL.md").write_text((skill / "SKILL.md").read_text().replace("other", "third"))
    (skill / ".git").unlink()
    git(skill, "init", "--quiet", ".")
    assert run(tmp_path, registry, "publish", str(skill), "--json", **git_less).json["left_out"] == ["a~"]


def test_a_hostile_repository_starts_no_program(registry: Registry, tmp_path: Path) -> None:
    skill = write_skill(tmp_path, "hostile", "Wants git to start a program.")
    git(skill, "init", "--quiet", ".")
    git(skill, "add", "SKILL.md")
    started = tmp_path / "started"
    program = skill / "program.sh"
    program.write_text(f"#!/bin/sh\ntouch {started}\n")
    program.chmod(0o755)
    for hook in ("post-index-change", "post-checkout"):
        (skill / f".git/hooks/{hook}").symlink_to(program)
    settings = {
        "core.fsmonitor": str(program),
        "core.hooksPath": str(skill / ".git/hooks"),
        "core.pager": str(program),
        "core.worktree": "/",
        "core.sshCommand": str(program),
        "extensions.partialClone": "origin",
        "remote.origin.url": f"ext::{program}",
        "protocol.ext.allow": "always",
        "alias.ls-files": f"!{program}",
        "alias.check-ignore": f"!{program}",
    }
    for name, value in settings.items():
        git(skill, "config", name, value)
    (skill / ".gitignore").write_text("secret.txt\n")
    write(skill, "secret.txt")
    done = run(tmp_path, registry, "publish", str(skill), "--json")
    assert (done.code, done.json["left_out"], started.exists()) == (0, ["secret.txt"], False)


def test_a_repository_that_git_cannot_read_stops_it(registry: Registry, tmp_path: Path) -> None:
    skill = write_skill(tmp_path, "broken", "Is in a repository with a damaged index.")
    git(skill, "init", "--quiet", ".")
    (skill / ".git/index").write_text("no index")
    run(tmp_path, registry, "publish", str(skill)).complains(1, "git does not say", "index file")
    assert not is_known(registry, "broken")


@pytest.mark.parametrize("name", [".env", "scripts/.env.production", "keys/id_rsa", ".ENV", "store.p12", ".npmrc"])
def test_a_file_that_holds_secrets_by_its_name_is_not_sent(registry: Registry, tmp_path: Path, name: str) -> None:
    skill = write_skill(tmp_path, "careless", "Has a file with secrets.")
    write(skill, name, ".env.example", "notes.env.md")
    refusal = run(tmp_path, registry, "publish", str(skill))
    refusal.complains(1, name, "nothing is sent", "git ignore", "--include-secrets")
    assert "example" not in refusal.error
    package = tmp_path / "package.zip"
    package.write_bytes(skill_package("careless", files={name: b"KEY=1"}))
    run(tmp_path, registry, "publish", str(package), "--json").complains(1, name, "nothing is sent")
    assert not is_known(registry, "careless")


def test_secrets_are_published_on_request(registry: Registry, tmp_path: Path) -> None:
    skill = write_skill(tmp_path, "insisting", "Has a file with no secrets in it.")
    write(skill, ".env")
    assert run(tmp_path, registry, "publish", str(skill), "--include-secrets").code == 0
    assert published(registry, "insisting") == {"SKILL.md", ".env"}


def test_a_private_key_is_not_sent(registry: Registry, tmp_path: Path) -> None:
    skill = write_skill(tmp_path, "keyed", "Has a private key.")
    (skill / "server.pem").write_text(PRIVATE_KEY)
    refusal = run(tmp_path, registry, "publish", str(skill), "--include-secrets")
    refusal.complains(1, "server.pem", "private key", "nothing is sent")
    (skill / "server.pem").write_text(PRIVATE_KEY.replace("PRIVATE KEY", "CERTIFICATE"))
    assert run(tmp_path, registry, "publish", str(skill)).code == 0


def test_equal_files_are_equal_packages(registry: Registry, tmp_path: Path) -> None:
    skill = write_skill(tmp_path, "equal", "Is the same whatever lies beside it.")
    write(skill, "scripts/run.py")
    expected = io.BytesIO()
    pack(skill, expected)
    write(skill, *JUNK, "local.md")
    git(skill, "init", "--quiet", ".")
    (skill / ".git/info/exclude").write_text("local.md\n")
    assert run(tmp_path, registry, "publish", str(skill)).code == 0
    assert registry.get("/packages/acme/equal/1.0.0.zip").content == expected.getvalue()


def test_a_folder_without_a_skill_says_so_before_anything_else(registry: Registry, tmp_path: Path) -> None:
    with (tmp_path / "model.onnx").open("wb") as file:
        file.truncate(11 << 20)
    write(tmp_path, ".env", "node_modules/SKILL.md")
    done = run(tmp_path, registry, "publish", ".")
    done.complains(1, "this cannot be published: there is no SKILL.md")
    assert "onnx" not in done.error
