"""The git index: pushed on top of other pushes, completed after outages, cloned at the start."""

import logging
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from registry.outbound.git_run import GitError, GitLimits
from registry.publish.git_index import GitIndex
from registry.publish.index_lines import MAX_LINE_BYTES, MAX_LINES, merged, read_lines
from support.git_server import _BLANK, GitServer
from support.publishing import Registry, bare_repository, index_file, metrics, skill_package


def index(url: object, folder: Path) -> GitIndex:
    made = GitIndex(str(url), "main", folder, GitLimits(30, 1 << 30))
    made.prepare()
    return made


def line(version: str) -> bytes:
    return b'{"name":"a/b","vers":"%s"}\n' % version.encode()


def git(remote: Path, *arguments: str) -> str:
    command = ["git", "-C", str(remote), *arguments]
    return subprocess.run(command, env=_BLANK, capture_output=True, text=True, check=True).stdout.strip()


BAD_LINES = {
    "not JSON": b"no",
    "not an object": b"[]",
    "not UTF-8": b'{"name":"a/b","vers":"9.0.0","x":"\xff"}',
    "deep": b'{"name":"a/b","vers":"9.0.0","x":' + b"[" * 40 + b"]" * 40 + b"}",
    "very deep": b'{"vers":' + b"[" * 10_000,
    "many values": b'{"name":"a/b","vers":"9.0.0","x":[' + b"1," * 6_000 + b"1]}",
    "long": b'{"name":"a/b","vers":"9.0.0","x":"' + b"x" * MAX_LINE_BYTES + b'"}',
    "a key twice": b'{"name":"a/b","vers":"9.0.0","vers":"9.0.1"}',
    "another scope": b'{"name":"evil/b","vers":"9.0.0"}',
    "another case": b'{"name":"A/b","vers":"9.0.0"}',
    "no name": b'{"vers":"9.0.0"}',
    "no version": b'{"name":"a/b"}',
    "a version that is none": b'{"name":"a/b","vers":"9"}',
    "a version in other digits": '{"name":"a/b","vers":"٩.0.0"}'.encode(),
    "a version of many digits": b'{"name":"a/b","vers":"' + b"9" * 5_000 + b'.0.0"}',
}


@pytest.mark.parametrize("name", BAD_LINES)
def test_a_bad_line_of_others_is_skipped_with_a_reason(name: str) -> None:
    theirs = line("1.0.0") + BAD_LINES[name] + b"\n" + line("3.0.0")
    content, skipped = merged("a/b", line("2.0.0"), theirs)
    assert content == line("1.0.0") + line("2.0.0") + line("3.0.0")
    assert [line.number for line in skipped] == [2]
    assert skipped[0].reason
    assert len(skipped[0].reason) < 400


def test_our_line_of_a_version_overrides_theirs() -> None:
    ours = b'{"name":"a/b","vers":"1.0.0","yanked":true}\n'
    assert merged("a/b", ours, line("1.0.0")) == (ours, [])


def test_the_number_of_lines_is_bounded() -> None:
    lines, skipped = read_lines("a/b", line("1.0.0") * (MAX_LINES + 5))
    assert (len(lines), [line.number for line in skipped]) == (MAX_LINES, [MAX_LINES + 1])


def test_the_next_push_removes_bad_lines(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    remote = bare_repository(tmp_path / "remote")
    theirs = index(remote, tmp_path / "theirs")
    theirs.write({"a/b": ("Theirs", line("1.0.0"))})
    (tmp_path / "theirs/a/b").write_bytes(line("1.0.0") + b"\n".join(BAD_LINES.values()))
    git(tmp_path / "theirs", "-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "-qam", "Bad lines")
    git(tmp_path / "theirs", "push", "-q", str(remote), "HEAD:main")
    with caplog.at_level(logging.WARNING):
        index(remote, tmp_path / "ours").write({"a/b": ("Ours", line("2.0.0"))})
    assert index_file(remote, "a/b") == [line(version).decode().strip() for version in ("1.0.0", "2.0.0")]
    warnings = [record.getMessage() for record in caplog.records if "a/b" in record.getMessage()]
    assert len(warnings) == len(BAD_LINES)
    assert "line 2 of a/b" in warnings[0]


def test_each_change_is_a_commit_and_no_change_is_none(tmp_path: Path) -> None:
    remote = bare_repository(tmp_path / "remote")
    ours = index(remote, tmp_path / "ours")
    first = ours.write({"a/b": ("Update a/b", line("1.0.0")), "a/c": ("Update a/c", line("1.0.0"))})
    assert ours.write({"a/b": ("Update a/b", line("1.0.0"))}) == first
    assert git(remote, "log", "--format=%s", "main").splitlines() == ["Update a/c", "Update a/b"]


def test_a_late_push_is_repeated_on_top(tmp_path: Path) -> None:
    with GitServer(tmp_path / "hub") as hub:
        remote = bare_repository(tmp_path / "hub" / "index" / ".git")
        git(remote, "config", "http.receivepack", "true")
        git(remote, "config", "receive.denyNonFastForwards", "true")
        ours, theirs = index(hub.url("index"), tmp_path / "ours"), index(remote, tmp_path / "theirs")
        late = ["2.0.0", "1.0.0"]

        def overtake(request: object) -> bool:
            if "service=git-receive-pack" in hub.paths[-1] and late:
                theirs.write({"a/b": ("Theirs", line(late.pop()))})
            return False

        hub.before = overtake
        ours.write({"a/b": ("Ours", line("3.0.0"))})
        assert index_file(remote, "a/b") == [line(version).decode().strip() for version in ("1.0.0", "2.0.0", "3.0.0")]
        assert git(remote, "log", "--format=%s", "main").splitlines() == ["Ours", "Theirs", "Theirs"]


def test_a_branch_that_always_moves_is_given_up_after_five_tries(tmp_path: Path) -> None:
    with GitServer(tmp_path / "hub") as hub:
        remote = bare_repository(tmp_path / "hub" / "index" / ".git")
        git(remote, "config", "http.receivepack", "true")
        ours, theirs = index(hub.url("index"), tmp_path / "ours"), index(remote, tmp_path / "theirs")
        moves: list[int] = []

        def overtake(request: object) -> bool:
            if "service=git-receive-pack" in hub.paths[-1]:
                moves.append(1)
                theirs.write({"a/c": ("Theirs", line(f"{len(moves)}.0.0"))})
            return False

        hub.before = overtake
        with pytest.raises(GitError):
            ours.write({"a/b": ("Ours", line("3.0.0"))})
        assert (len(moves), index_file(remote, "a/b")) == (5, [])


def test_leftovers_of_a_killed_git_are_removed(tmp_path: Path) -> None:
    remote = bare_repository(tmp_path / "remote")
    ours = index(remote, tmp_path / "ours")
    ours.write({"a/b": ("Update a/b", line("1.0.0"))})
    for name in ("index.lock", "HEAD.lock", "refs/heads/main.lock", "refs/remote.lock"):
        (tmp_path / "ours" / ".git" / name).touch()
    ours.write({"a/b": ("Update a/b", line("2.0.0"))})
    assert len(index_file(remote, "a/b")) == 2


def test_a_file_that_was_written_but_not_committed_is_committed(tmp_path: Path) -> None:
    remote = bare_repository(tmp_path / "remote")
    ours = index(remote, tmp_path / "ours")
    ours.write({"a/b": ("Update a/b", line("1.0.0"))})
    (tmp_path / "ours" / "a" / "c").write_bytes(line("1.0.0"))  # as far as a killed server came
    ours.write({"a/c": ("Update a/c", line("1.0.0"))})
    assert index_file(remote, "a/c") == [line("1.0.0").decode().strip()]


def test_files_in_the_clone_are_replaced_by_those_of_the_remote(tmp_path: Path) -> None:
    remote = bare_repository(tmp_path / "remote")
    ours = index(remote, tmp_path / "ours")
    ours.write({"a/b": ("Update a/b", line("1.0.0"))})
    (tmp_path / "ours" / "a" / "b").write_text("edited by hand")
    ours.write({"a/c": ("Update a/c", line("1.0.0"))})
    assert index_file(remote, "a/b") == [line("1.0.0").decode().strip()]


def test_an_empty_volume_is_filled_and_stays_the_same_folder(tmp_path: Path) -> None:
    remote = bare_repository(tmp_path / "remote")
    index(remote, tmp_path / "theirs").write({"a/b": ("Update a/b", line("1.0.0"))})
    (tmp_path / "volume" / "lost+found").mkdir(parents=True)
    (tmp_path / "volume" / ".skill-registry-index-of-a-crash").mkdir()
    before = (tmp_path / "volume").stat().st_ino
    index(remote, tmp_path / "volume")
    assert sorted(path.name for path in (tmp_path / "volume").iterdir()) == [".git", "a", "lost+found"]
    assert (tmp_path / "volume").stat().st_ino == before


def test_a_folder_with_other_files_is_not_changed(tmp_path: Path) -> None:
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours" / "thesis.txt").write_text("mine")
    with pytest.raises(GitError, match="no clone"):
        index(bare_repository(tmp_path / "remote"), tmp_path / "ours")
    assert (tmp_path / "ours" / "thesis.txt").read_text() == "mine"


def test_a_rollback_is_reported_and_pushed_again(tmp_path: Path) -> None:
    with Registry(tmp_path) as registry:
        for version in ("1.0.0", "2.0.0"):
            registry.finished(registry.publish(skill_package("rolled", version)), synced=True)
        git(registry.remote, "update-ref", "refs/heads/main", "main~1")
        assert len(index_file(registry.remote, "acme/rolled")) == 1
        registry.finished(registry.publish(skill_package("other")), synced=True)
        registry.wait_for(lambda: len(index_file(registry.remote, "acme/rolled")) == 2)
        assert "rolled back" in registry.log.read_text()


def test_without_its_remote_a_registry_starts_only_with_a_clone(tmp_path: Path) -> None:
    registry = Registry(tmp_path)
    away = registry.remote.rename(tmp_path / "away")
    with pytest.raises(AssertionError, match="registry mode cannot start"):
        registry.start()
    assert registry.process.wait() != 0
    away.rename(registry.remote)
    with registry:
        registry.finished(registry.publish(skill_package("early")), synced=True)
    registry.remote.rename(away)
    with registry:
        assert registry.http.get("/readyz").status_code == 200
        answer = registry.publish(skill_package("late"))
        assert registry.finished(answer)["index_synced"] is False
        assert registry.get("/index/acme/late").status_code == 200
        away.rename(registry.remote)
        registry.finished(answer, synced=True)
        assert len(index_file(registry.remote, "acme/late")) == 1


def test_a_pusher_that_meets_a_damaged_row_is_shown_and_goes_on_when_the_row_is_repaired(tmp_path: Path) -> None:
    with Registry(tmp_path) as registry:
        registry.finished(registry.publish(skill_package("damaged")), synced=True)
        (intact,) = run_sql(registry, "select record from published")
        run_sql(registry, "update published set record = '{', state = 'yanked'")  # a line that was not made yet
        run_sql(registry, "update index_files set wanted = wanted + 1")
        other = registry.publish(skill_package("other"))
        registry.wait_for(lambda: "index" in state(registry)["problems"])
        assert state(registry)["status"] == "degraded"
        assert thread_metric(registry, "failures_total") >= 1
        assert registry.finished(other)["index_synced"] is False
        run_sql(registry, "update published set record = ?, state = 'active' where skill_id = 'acme/damaged'", *intact)
        registry.finished(other, synced=True)
        registry.wait_for(lambda: state(registry)["problems"] == {})
        assert abs(thread_metric(registry, "last_success_timestamp_seconds") - time.time()) < 600


def state(registry: Registry) -> dict[str, Any]:
    data: dict[str, Any] = registry.get("/api/status").json()["data"]
    return data


def run_sql(registry: Registry, sql: str, *values: str) -> list[tuple[str, ...]]:
    with closing(sqlite3.connect(registry.data_dir / "skill-registry.db", isolation_level=None)) as database:
        return database.execute(sql, values).fetchall()


def thread_metric(registry: Registry, name: str) -> float:
    (value,) = [one.value for one in metrics(registry, f"thread_{name}") if one.labels["thread"] == "index"]
    return value


def test_a_remote_that_is_away_is_a_problem_until_it_is_back(tmp_path: Path) -> None:
    with Registry(tmp_path) as registry:
        away = registry.remote.rename(tmp_path / "away")
        answer = registry.publish(skill_package("waiting"))
        registry.wait_for(lambda: "index" in state(registry)["problems"])
        away.rename(registry.remote)
        registry.finished(answer, synced=True)
        registry.wait_for(lambda: state(registry)["status"] == "ok")
