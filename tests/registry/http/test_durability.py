"""kill -9, damaged files and full disks: what was acknowledged is there, and search is right."""

import contextlib
import itertools
import os
import random
import signal
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import httpx
import pytest

from registry.runtime.data_dir import DataDirLock
from support.endurance import times
from support.raw_http import Connection, request
from support.servers import COMMAND, RunningServer, new_skill, write_skill
from support.waiting import PATIENCE_SECONDS, wait_until

KILLS = times(30)


class Ledger:
    """What each skill may be: what was acknowledged last, or what was asked for and not yet answered."""

    def __init__(self) -> None:
        self.possible: dict[str, set[str | None]] = {}
        self.acknowledged = 0

    def ask(self, name: str, state: str | None, send: Callable[[], httpx.Response]) -> None:
        """Ask for a state; once it is acknowledged it is the only possible one."""
        self.possible.setdefault(name, {None}).add(state)
        if send().is_success:
            self.possible[name] = {state}
            self.acknowledged += 1


def write_until_killed(url: str, run: int, ledger: Ledger) -> None:
    """Create, change and delete skills until the server is gone."""
    with httpx.Client(base_url=f"{url}/api/v1", timeout=PATIENCE_SECONDS, trust_env=False) as http:
        try:
            for number in itertools.count():
                name = f"run-{run}-{number}"
                ledger.ask(name, "first", partial(http.post, "/skills", json=new_skill(name, author="first")))
                if number % 3 == 1:
                    ledger.ask(name, "second", partial(http.put, f"/skills/{name}", json={"author": "second"}))
                if number % 5 == 4:
                    ledger.ask(name, None, partial(http.delete, f"/skills/{name}"))
        except httpx.TransportError:
            return


@pytest.mark.endurance
def test_no_acknowledged_write_is_lost_to_kill_9(tmp_path: Path) -> None:
    server, ledger = RunningServer(tmp_path), Ledger()
    drawn = random.Random(5)
    for run in range(KILLS):
        server.start()
        url = server.url
        writer = threading.Thread(target=write_until_killed, args=(url, run, ledger))
        writer.start()
        if run % 3 == 0:
            threading.Thread(target=_reindex, args=(url,), daemon=True).start()
        enough = ledger.acknowledged + drawn.randint(1, 30)
        wait_until(partial(lambda enough: ledger.acknowledged >= enough, enough))
        time.sleep(drawn.uniform(0, 0.02))  # anywhere in what comes next
        server.kill()
        writer.join()
    with server:
        kept: dict[str, str] = {}
        while page := server.api("GET", f"/skills?limit=100&offset={len(kept)}").json()["data"]:
            kept |= {card["id"]: card["author"] for card in page}
        assert len(kept) > KILLS
        for name, possible in ledger.possible.items():
            assert kept.get(name) in possible, name
        for name in kept:
            assert server.found(name, limit=1) == [name]
        assert server.status()["drift"] == 0


def _reindex(url: str) -> None:
    with contextlib.suppress(httpx.TransportError):  # killed meanwhile, as it should be
        httpx.post(f"{url}/api/v1/reindex", json={"force": True}, timeout=PATIENCE_SECONDS, trust_env=False)


def test_a_flipped_byte_in_any_index_file_is_noticed(tmp_path: Path) -> None:
    for name, word in (("one-skill", "aardvark"), ("two-skill", "bonobo"), ("three-skill", "capybara")):
        write_skill(tmp_path / "skills", name, f"A skill about the {word}.")
    server = RunningServer(tmp_path)
    with server:
        expected = {word: server.search(word)["skills"] for word in ("aardvark", "bonobo", "capybara")}
    files = [path for path in (server.data_dir / "indexes").rglob("*") if path.is_file() and path.stat().st_size]
    assert len(files) >= 6
    for path in files:
        data = bytearray(path.read_bytes()) if path.exists() else bytearray()
        if not data:
            continue
        data[len(data) // 2] ^= 0x10
        path.write_bytes(data)
        with server:
            for word, skills in expected.items():
                assert server.search(word)["skills"] == skills, path.name
            assert server.status()["drift"] == 0


def test_indexes_may_be_deleted_while_the_service_is_stopped(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "one-skill", "A skill about the aardvark.")
    server = RunningServer(tmp_path)
    with server:
        pass
    for path in sorted((server.data_dir / "indexes").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    with server:
        assert server.found("aardvark") == ["one-skill"]


@pytest.mark.parametrize(("content", "reason"), [(b"", "is empty"), (b"garbage", "not a skill registry database")])
def test_a_data_directory_with_a_foreign_database_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    server = RunningServer(tmp_path)
    server.data_dir.mkdir()
    path = server.data_dir / "skill-registry.db"
    path.write_bytes(content)
    done = subprocess.run(server.command(), capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert reason in done.stderr
    assert path.read_bytes() == content


def test_a_second_server_on_the_data_directory_is_refused(tmp_path: Path) -> None:
    with RunningServer(tmp_path) as server:
        done = subprocess.run(server.command(), capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
        assert done.returncode == 1
        assert server.url in done.stderr
        assert server.api("GET", "/status").status_code == 200


def test_a_server_says_that_it_waits_for_a_command(tmp_path: Path) -> None:
    server = RunningServer(tmp_path)
    lock = DataDirLock(server.data_dir)
    with subprocess.Popen(server.command(), stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        assert "another skill-registry uses the data directory data: waiting" in process.stderr.readline()
        lock.release()
        assert any("listening on" in line for line in process.stderr)
        process.terminate()
        assert process.stderr.read() is not None
    assert process.returncode == 0


def test_a_stop_drains_and_exits_with_0(tmp_path: Path) -> None:
    server = RunningServer(tmp_path).start()
    unfinished = Connection(server.http.base_url.port or 0)
    body = request("POST", "/api/v1/skills", "Content-Length: 2", content_type="application/json") + b"{"
    unfinished.send(body)  # the server does not end before it
    for _ in range(3):
        assert server.http.get("/readyz").status_code == 200
    os.kill(server.process.pid, signal.SIGTERM)
    server.wait_for(lambda: server.http.get("/readyz").status_code == 503)
    assert int(server.http.get("/readyz").headers["Retry-After"]) > 0
    assert server.http.get("/healthz").status_code == 200
    with unfinished:
        unfinished.send(b"}")
        assert unfinished.answer().status == 400
    assert server.process.wait(PATIENCE_SECONDS) == 0
    server.http.close()


def test_another_process_holding_the_write_lock_is_waited_for(tmp_path: Path) -> None:
    with RunningServer(tmp_path) as server:
        other = sqlite3.connect(server.data_dir / "skill-registry.db", isolation_level=None, check_same_thread=False)
        other.execute("begin immediate")
        release = threading.Timer(1.5, lambda: other.execute("commit"))
        release.start()
        assert server.api("POST", "/skills", json=new_skill("patient")).status_code == 201
        release.join()
        other.execute("begin immediate")
        answer = server.api("POST", "/skills", json=new_skill("impatient"))
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "SERVICE_UNAVAILABLE")
        assert int(answer.headers["Retry-After"]) > 0
        other.execute("rollback")
        other.close()
        assert not (server.skills_dir / "impatient").exists()
        assert server.api("POST", "/skills", json=new_skill("impatient")).status_code == 201


def test_workers_see_each_others_writes(tmp_path: Path) -> None:
    with RunningServer(tmp_path, "--workers", "2") as server:
        for number in range(10):
            name = f"shared-{number}"
            with httpx.Client(base_url=f"{server.url}/api/v1", trust_env=False, timeout=PATIENCE_SECONDS) as http:
                assert http.post("/skills", json=new_skill(name)).status_code == 201
            for _ in range(4):  # each a new connection, so either worker
                with httpx.Client(base_url=f"{server.url}/api/v1", trust_env=False, timeout=PATIENCE_SECONDS) as http:
                    found = http.get("/search", params={"q": name, "limit": 1}).json()["data"]["skills"]
                    assert [hit["skill"]["id"] for hit in found] == [name]


def test_the_version_is_told() -> None:
    done = subprocess.run([COMMAND, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("skill-registry, version ")
