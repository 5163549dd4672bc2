"""Offline verification of the log, from publishing to verifying, and the checkpoint in the index."""

import subprocess
from pathlib import Path

from registry.outbound.git_run import GitLimits
from registry.publish.git_index import GitIndex
from registry.publish.index_log import ReadFile
from registry.transparency.checkpoint import Verifier
from support.git_server import _BLANK
from support.publishing import Registry, bare_repository, index_file, skill_package
from support.tour import log_tour

CHECKPOINT = "skill-registry.checkpoint"


def git(remote: Path, *arguments: str) -> str:
    command = ["git", "-C", str(remote), *arguments]
    return subprocess.run(command, env=_BLANK, capture_output=True, text=True, check=True).stdout.strip()


def test_the_tour_proves_published_files_and_detects_others() -> None:
    output = log_tour()
    assert "acme/tea\nskill-registry.checkpoint" in output
    assert "In the log of their registry: 1 of 1 skill" in output
    assert "changed: the files of tea have sha256" in output
    assert "tea: its entry in the log names other files or another version" in output


def test_the_index_holds_a_checkpoint_that_covers_its_lines(tmp_path: Path) -> None:
    with Registry(tmp_path) as registry:
        key = registry.get("/api/v1/log/key").json()["data"]["key"]
        sizes = []
        for version in ("1.0.0", "1.1.0"):
            registry.finished(registry.publish(skill_package("signed", version)), synced=True)
            note = "\n".join(index_file(registry.remote, CHECKPOINT)) + "\n"
            state = Verifier(key).read(note)
            assert registry.get("/api/v1/log/checkpoint").text.startswith(
                note
            )  # and then the time, which is signed too
            sizes.append(state.size)
        assert sizes == [2, 3]
        assert registry.get("/index/acme/signed").text.count("\n") == 2
        changed = git(registry.remote, "show", "--name-only", "--format=", "main").splitlines()
        assert changed == ["acme/signed", CHECKPOINT, "skill-registry.entries/000000"]


class States:
    """Attached files with another content each time, which are never a reason to push."""

    def __init__(self, *contents: bytes) -> None:
        self._contents = iter(contents)

    def changed(self, read: ReadFile, *, has_commits: bool) -> dict[str, bytes]:
        return {"log.checkpoint": next(self._contents)} if has_commits else {}


def test_an_attachment_is_pushed_with_the_last_change_only(tmp_path: Path) -> None:
    remote = bare_repository(tmp_path / "remote")
    ours = GitIndex(str(remote), "main", tmp_path / "ours", GitLimits(30, 1 << 30))
    ours.prepare()
    state = States(b"one", b"two")
    line = b'{"name":"a/b","vers":"1.0.0"}\n'
    head = ours.write({"a/b": ("Update a/b", line), "a/c": ("Update a/c", line)}, state)
    assert ours.write({"a/b": ("Update a/b", line)}, state) == head
    assert git(remote, "show", "--name-only", "--format=%s", "main").split("\n") == [
        "Update a/c",
        "",
        "a/c",
        "log.checkpoint",
    ]
    assert index_file(remote, "log.checkpoint") == ["one"]
