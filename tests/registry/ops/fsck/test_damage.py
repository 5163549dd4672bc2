"""Damaged pages of the database are found: by fsck, by a backup, and by the service itself."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from registry.db import DatabaseUnusable
from support.commands import Done
from support.kept_registry import KeptRegistry
from support.servers import RunningServer, bearer

TABLES = ["users", "api_keys", "audit", "vectors", "documents", "published", "log_entries"]


def overwrite(path: Path, table: str) -> None:
    """Overwrite the root page of a table, as a failing disk does."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("pragma wal_checkpoint(truncate)")
        (page,) = database.execute("select rootpage from sqlite_schema where name = ?", (table,)).fetchone()
        (size,) = database.execute("pragma page_size").fetchone()
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xa5" * size)


@pytest.fixture
def damaged(kept: KeptRegistry, request: pytest.FixtureRequest) -> KeptRegistry:
    if kept.url is not None:
        pytest.skip("the pages of PostgreSQL are not ours")
    kept.close()
    overwrite(kept.data_dir / "skill-registry.db", request.param)
    return kept


@pytest.mark.parametrize("damaged", TABLES, indirect=True)
def test_a_damaged_table_is_named_and_not_backed_up(
    damaged: KeptRegistry, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    table = request.node.callspec.params["damaged"]
    done = Done(tmp_path, "fsck", "--json", *damaged.flags(), **damaged.environment)
    assert done.code == 1, done.error
    assert f"table {table}" in [drift["thing"] for drift in done.json["drift"]]
    target = tmp_path / "backup"
    flags = ("--data-dir", str(damaged.data_dir), "--skills-dir", str(damaged.folder / "skills"))
    failed = Done(tmp_path, "backup", str(target), *flags)
    failed.complains(1, "damaged", table)
    assert not target.exists()


def test_an_intact_database_has_no_damaged_table(kept: KeptRegistry) -> None:
    assert kept.database.damaged_tables() == []
    assert not kept.database.is_damaged


def test_a_service_that_meets_damage_is_not_ready(tmp_path: Path) -> None:
    with RunningServer(tmp_path, "--profile", "registry") as server:
        admin = bearer(server.token("admin"))
    overwrite(server.data_dir / "skill-registry.db", "audit")
    with RunningServer(tmp_path, "--profile", "registry") as server:
        assert server.http.get("/readyz").status_code == 200
        answer = server.api("GET", "/audit", headers=admin)
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "SERVICE_UNAVAILABLE")
        ready = server.http.get("/readyz")
        assert (ready.status_code, ready.json()) == (503, {"status": "damaged"})
        assert server.http.get("/healthz").status_code == 200
        server.wait_for(lambda: server.status()["status"] == "degraded")
        assert "database" in server.api("GET", "/status", headers=admin).json()["data"]["problems"]


def test_damage_is_an_error_of_the_database(damaged_audit: KeptRegistry) -> None:
    with pytest.raises(DatabaseUnusable, match="damaged"):
        damaged_audit.database.read("select * from audit")
    assert damaged_audit.database.is_damaged


@pytest.fixture
def damaged_audit(kept: KeptRegistry) -> KeptRegistry:
    if kept.url is not None:
        pytest.skip("the pages of PostgreSQL are not ours")
    kept.close()
    overwrite(kept.data_dir / "skill-registry.db", "audit")
    return kept
