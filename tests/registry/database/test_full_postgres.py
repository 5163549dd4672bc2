"""A PostgreSQL server whose disk is full: writes are refused, nothing that was acknowledged is lost."""

import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from support.postgres_server import PostgresServer
from support.publishing import Registry
from support.servers import new_skill
from support.waiting import wait_until

_SIZE = "192m"


@pytest.fixture
def full_soon() -> Iterator[PostgresServer]:
    """A server whose files have a small disk of their own.

    It runs as another user, who may not enter the folders of pytest.
    """
    folder = Path(tempfile.mkdtemp(prefix="full-postgres-"))
    mount = ["mount", "-t", "tmpfs", "-o", f"size={_SIZE}", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        folder.rmdir()
        pytest.skip("a file system can only be mounted by root")
    try:
        with PostgresServer(folder=folder) as postgres:
            yield postgres
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
        folder.rmdir()


class Creates:
    """Creates of skills over HTTP, and how each was answered."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._ann = registry.caller("acme/ann")
        self.statuses: dict[str, int] = {}

    def create(self, name: str) -> int:
        """Create a skill that cannot be compressed. It is made, or refused with a reason."""
        skill = new_skill(name, content=secrets.token_hex(50_000))
        answer = self._registry.http.post("/api/v1/skills", json=skill, headers=self._ann)
        if answer.status_code != 201:
            assert answer.json()["error"]["code"] in {"INSUFFICIENT_STORAGE", "SERVICE_UNAVAILABLE"}, answer.text
        self.statuses[name] = answer.status_code
        return answer.status_code

    def check(self) -> None:
        """Compare the catalog with the answers: what was made is there, and what was refused is not."""
        for name, status in self.statuses.items():
            stored = self._registry.http.get(f"/api/v1/skills/{name}", headers=self._ann).status_code
            assert stored == (200 if status == 201 else 404), (name, status)


def fill(disk: Path) -> Path:
    """Leave little space on a disk, and return the file that has taken the rest."""
    filler = disk / "filler"
    filler.write_bytes(bytes(shutil.disk_usage(disk).free - (1 << 18)))
    return filler


def test_writes_are_refused_until_there_is_space(tmp_path: Path, full_soon: PostgresServer) -> None:
    environment = {"SKILL_REGISTRY_DATABASE_URL": full_soon.new_database()}
    with Registry(tmp_path / "server", env=environment) as registry:
        creates = Creates(registry)
        assert creates.create("before") == 201
        filler = fill(full_soon.data.parent)
        refused = 0
        for number in range(600):  # the files of the database have some room left
            refused += creates.create(f"while-full-{number}") == 507
            if refused == 10:
                break
        assert refused == 10
        assert registry.http.get("/healthz").status_code == 200
        filler.unlink()
        assert creates.create("after") == 201
        creates.check()


def test_a_server_that_ends_for_want_of_space_comes_back(tmp_path: Path, full_soon: PostgresServer) -> None:
    """PostgreSQL ends itself where there is no space for its log, and starts again once there is."""
    environment = {"SKILL_REGISTRY_DATABASE_URL": full_soon.new_database()}
    with Registry(tmp_path / "server", env=environment) as registry:
        creates = Creates(registry)
        assert [creates.create(f"before-{number}") for number in range(3)] == [201] * 3
        filler = fill(full_soon.data.parent)
        with pytest.raises(psycopg.OperationalError):
            while True:  # segments of the log that were made before are taken first
                with psycopg.connect(full_soon.url("postgres"), autocommit=True) as connection:
                    connection.execute("select pg_logical_emit_message(false, 'more', 'of the log alone')")
                    connection.execute("select pg_switch_wal()")
        assert creates.create("while-down") in (503, 507)
        assert registry.http.get("/healthz").status_code == 200
        filler.unlink()
        wait_until(lambda: is_kept_up(full_soon) and creates.create("after") == 201)
        creates.check()


def is_kept_up(postgres: PostgresServer) -> bool:
    """Return whether a server runs, and start one that has ended, as a supervisor does.

    For a while, a server that will end itself still recovers.
    """
    if postgres.is_running():
        return True
    postgres.start()
    return False
