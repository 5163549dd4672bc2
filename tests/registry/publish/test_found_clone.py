"""A clone of the index that an attacker has prepared: nothing that its configuration names is run."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from registry.outbound.git_run import GitError, GitLimits
from registry.publish.git_index import GitIndex
from support.commands import Done


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    folder = tmp_path / "remote"
    folder.mkdir()
    git(folder, "init", "--quiet", "--bare", "--initial-branch=main")
    return folder


@pytest.fixture
def clone(tmp_path: Path, remote: Path) -> Path:
    """A clone that the service has made, with one file."""
    index = GitIndex(str(remote), "main", tmp_path / "idx", GitLimits(30, 100 << 20))
    index.prepare()
    index.write({"acme/tea": ("Add", b'{"name":"acme/tea","vers":"1.0.0"}\n')})
    return tmp_path / "idx"


PLANTED: dict[str, Callable[[Path, str], None]] = {
    "ssh": lambda clone, program: git(clone, "config", "core.sshCommand", program),
    "fsmonitor": lambda clone, program: git(clone, "config", "core.fsmonitor", program),
    "hooks": lambda clone, program: git(clone, "config", "core.hooksPath", str(Path(program).parent)),
    "helper": lambda clone, program: git(clone, "config", "credential.helper", f"!{program}"),
    "helper of a URL": lambda clone, program: git(clone, "config", "credential.https://h.helper", f"!{program}"),
    "alias": lambda clone, program: git(clone, "config", "alias.fetch", f"!{program}"),
    "gpg": lambda clone, program: git(clone, "config", "gpg.program", program),
    "instead": lambda clone, program: git(clone, "config", f"url.ext::{program}.insteadOf", "ssh://"),
    "upload": lambda clone, program: git(clone, "config", "remote.origin.uploadpack", program),
    "refs": lambda clone, program: git(clone, "config", "core.alternateRefsCommand", program),
    "pager": lambda clone, program: git(clone, "config", "core.pager", program),
    "signing": lambda clone, program: git(clone, "config", "commit.gpgSign", "true"),
    "worktree": lambda clone, program: git(clone, "config", "core.worktree", "/"),
    "partial": lambda clone, program: git(clone, "config", "extensions.partialClone", "origin"),
}


def filters(clone: Path, program: str) -> None:
    for action in ("clean", "smudge", "process"):
        git(clone, "config", f"filter.x.{action}", program)
    (clone / ".git" / "info").mkdir(exist_ok=True)
    (clone / ".git" / "info" / "attributes").write_text("* filter=x\n")


def included(clone: Path, program: str) -> None:
    (clone / "more").write_text(f"[core]\n\tsshCommand = {program}\n")
    git(clone, "config", "include.path", "../more")


def included_if(clone: Path, program: str) -> None:
    (clone / "more").write_text(f"[core]\n\tsshCommand = {program}\n")
    git(clone, "config", "includeIf.gitdir:/.path", "../more")


def elsewhere(clone: Path, program: str) -> None:
    shutil.copytree(clone / ".git", clone / "common")
    (clone / "common" / "config").write_text(f"[core]\n\tfsmonitor = {program}\n")
    (clone / ".git" / "commondir").write_text("../common\n")


def of_worktree(clone: Path, program: str) -> None:
    (clone / ".git" / "config.worktree").write_text(f"[core]\n\tfsmonitor = {program}\n")


def linked(clone: Path, program: str) -> None:
    git(clone, "config", "core.fsmonitor", program)
    (clone / ".git").rename(clone / "real")
    (clone / ".git").symlink_to("real")


PLANTED |= {"filters": filters, "include": included, "include if": included_if, "commondir": elsewhere}
PLANTED |= {"config.worktree": of_worktree, "link": linked}


@pytest.mark.parametrize("name", PLANTED)
def test_a_clone_with_a_configuration_that_runs_something_is_refused(
    name: str, clone: Path, remote: Path, tmp_path: Path
) -> None:
    program, traces = tmp_path / "bin" / "post-checkout", tmp_path / "traces"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho run >> {traces}\ncat\n")
    program.chmod(0o755)
    PLANTED[name](clone, str(program))
    traces.unlink(missing_ok=True)  # git itself may run what was planted while it is planted
    index = GitIndex(str(remote), "main", clone, GitLimits(30, 100 << 20))
    for use in (
        index.prepare,
        index.read,
        index.committed_objects,
        index.modified_files,
        index.restore,
        lambda: index.contains("0" * 40),
        lambda: index.write({"acme/x": ("Add", b"x\n")}),
    ):
        with pytest.raises(GitError, match="not one that the service has made"):
            use()
    assert not traces.exists()


def test_the_clone_of_the_service_and_that_of_a_person_are_used(clone: Path, remote: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", str(remote), "mine")
    for folder in (clone, tmp_path / "mine"):
        index = GitIndex(str(remote), "main", folder, GitLimits(30, 100 << 20))
        index.prepare()
        assert index.read() is not None
        assert index.file("acme/tea")
    git(clone, "config", "core.sshCommand", "x")
    with pytest.raises(GitError, match=r"core\.sshcommand"):
        GitIndex(str(remote), "main", clone, GitLimits(30, 100 << 20)).read()


def test_a_service_in_an_unpacked_folder_runs_nothing_of_it(clone: Path, tmp_path: Path) -> None:
    """The URL is ssh, so that git would start the program of `core.sshCommand` at once."""
    folder = tmp_path / "unpacked"
    folder.mkdir()
    shutil.copytree(clone, folder / "idx")
    traces = tmp_path / "traces"
    git(folder / "idx", "config", "core.sshCommand", f"touch {traces}; false")
    (folder / "registry.toml").write_text(
        '[registryIndex]\nurl = "ssh://127.0.0.1:1/x"\npath = "idx"\n[blobs]\ndir = "b"\n'
    )
    done = Done(folder, "serve", "--enable-registry", "--port", "0", "--embedding-provider", "none")
    assert (done.code, "not one that the service has made" in done.error) == (1, True), done.error
    assert not traces.exists()
