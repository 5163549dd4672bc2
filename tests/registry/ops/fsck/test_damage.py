"""Damaged pages of the database are found: by fsck, by a backup, and by the service itself."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from registry.database.integrity import damaged_tables, is_damaged
from registry.database.table_roles import TABLE_ROLES
from registry.db import DatabaseUnusable
from registry.ops.backup import backup
from support.commands import Done
from support.kept_registry import KeptRegistry
from support.publishing import skill_package
from support.servers import RunningServer, bearer

TABLES = sorted(TABLE_ROLES)
DERIVED = [table for table in TABLES if TABLE_ROLES[table].is_derived]
PAGE = 4096
NEEDED = {"facts", "log_entries", "log_nodes"}
"""The tables that a registry reads before it starts."""

ON_SQLITE = pytest.mark.parametrize("filled", ["sqlite"], indirect=True)  # the pages of PostgreSQL are its server's
ON_POSTGRESQL = pytest.mark.parametrize("filled", ["postgresql"], indirect=True)
READS = ("/skills", "/search?q=pdf", "/skills/acme%2Fpdf", "/registry/sources", "/registry/index/skills", "/status")


def overwrite(path: Path, table: str) -> None:
    """Overwrite the root page of a table or an index, as a failing disk does."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("pragma wal_checkpoint(truncate)")
        (page,) = database.execute("select rootpage from sqlite_schema where name = ?", (table,)).fetchone()
        (size,) = database.execute("pragma page_size").fetchone()
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xa5" * size)


@pytest.fixture
def damaged(kept: KeptRegistry, request: pytest.FixtureRequest) -> KeptRegistry:
    kept.close()
    overwrite(kept.data_dir / "skill-registry.db", request.param)
    return kept


def test_every_table_has_a_role(kept: KeptRegistry) -> None:
    sql = (
        "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'"
        if kept.url is None
        else "select tablename from pg_tables where schemaname = current_schema()"
    )
    assert {row[0] for row in kept.database.read(sql)} - {"skill_registry_schema"} == TABLE_ROLES.keys()


@ON_SQLITE
@pytest.mark.parametrize("damaged", TABLES, indirect=True)
def test_a_damaged_table_is_named_and_not_backed_up(
    damaged: KeptRegistry, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    table = request.node.callspec.params["damaged"]
    role = TABLE_ROLES[table]
    found = {drift.thing: drift for drift in damaged.inspect().drift}[f"table {table}"]
    assert found.repairable is role.is_derived
    assert role.content in found.problem
    assert role.recovery in (None, found.advice)
    with pytest.raises(DatabaseUnusable, match=rf"damaged.*\b{table}\b"):
        backup(damaged.settings(), tmp_path / "backup")
    assert not (tmp_path / "backup").exists()


@ON_SQLITE
@pytest.mark.parametrize("damaged", sorted(set(TABLES) - NEEDED), indirect=True)
def test_damage_of_every_table_is_found_before_a_request_meets_it(damaged: KeptRegistry) -> None:
    damaged.database.look_for_damage()
    assert damaged.database.is_damaged


@ON_SQLITE
@pytest.mark.parametrize("damaged", ["users", "skills", "published", "documents", "vectors"], indirect=True)
def test_a_service_over_a_damaged_table_is_not_ready_and_fails_with_503(damaged: KeptRegistry) -> None:
    with damaged.server() as server:
        server.wait_for(lambda: server.http.get("/readyz").status_code == 503)
        assert server.http.get("/readyz").json() == {"status": "damaged"}
        assert server.http.get("/healthz").status_code == 200
        for path in READS:
            answer = server.http.get(f"/api/v1{path}")
            assert answer.status_code != 500, (path, answer.text)


@ON_SQLITE
@pytest.mark.parametrize("damaged", sorted(NEEDED), indirect=True)
def test_a_service_without_its_log_does_not_start(damaged: KeptRegistry, tmp_path: Path) -> None:
    server = damaged.server()
    done = Done(tmp_path, *server.command()[1:], **server.environment())
    assert done.code == 1
    assert "the database is damaged: 'skill-registry admin fsck' names the tables" in done.error


@ON_SQLITE
@pytest.mark.parametrize("damaged", DERIVED, indirect=True)
def test_a_damaged_derived_table_is_built_again(
    damaged: KeptRegistry, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    table = request.node.callspec.params["damaged"]
    report = damaged.inspect(repair=True)
    assert (report.drift, report.unchecked) == ([], {})
    assert f"table {table}" in {one.thing for one in report.repaired}
    backup(damaged.settings(), tmp_path / "backup")


@ON_SQLITE
@pytest.mark.parametrize("damaged", ["advertised", "counter", "documents"], indirect=True)
def test_a_repaired_registry_lists_finds_and_publishes_as_before(damaged: KeptRegistry, tmp_path: Path) -> None:
    done = Done(tmp_path, "fsck", "--repair", *damaged.flags(), **damaged.environment)
    assert done.code == 0, done.out
    with damaged.server() as server:
        server.sign_in("admin", "root")
        server.api("POST", "/registry/refresh").raise_for_status()
        server.wait_for(lambda: server.status()["pending"] == server.status()["drift"] == 0)
        assert {"near/listed-one", "acme/pdf", "record-one"} <= set(server.found("listed pdf record", limit=20))
        assert len(server.api("GET", "/skills").json()["data"]) == 4
        server.finished(server.publish(skill_package("pdf", "1.11.0")), synced=True)
        assert server.http.get("/readyz").status_code == 200
    assert damaged.inspect().drift == []


@ON_SQLITE
@pytest.mark.parametrize("damaged", ["published_names", "skills_in_order"], indirect=True)
def test_a_damaged_index_of_a_primary_table_is_built_again(damaged: KeptRegistry) -> None:
    rows = damaged.database.read("select * from published")
    report = damaged.inspect()
    assert len(report.drift) == 1
    assert report.drift[0].repairable
    assert "no row is lost" in report.drift[0].problem
    assert damaged.inspect(repair=True).drift == []
    assert damaged.database.damaged_tables() == []
    assert damaged.database.read("select * from published") == rows


@ON_SQLITE
def test_an_index_that_knows_more_rows_than_its_table_is_evidence(kept: KeptRegistry) -> None:
    kept.close()
    path = kept.data_dir / "skill-registry.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("pragma wal_checkpoint(truncate)")
        (page,) = database.execute("select rootpage from sqlite_schema where name = 'published'").fetchone()
    with path.open("r+b") as file:  # an empty page of a table
        file.seek((page - 1) * 4096)
        file.write(bytes([13, 0, 0, 0, 0, 16, 0, 0]))
    found = {drift.thing: drift for drift in kept.inspect().drift}["table published"]
    assert not found.repairable


@ON_SQLITE
@pytest.mark.parametrize("byte", [0, 0xA5])
def test_every_torn_page_is_named_with_its_table(kept: KeptRegistry, byte: int) -> None:
    kept.close()
    path = kept.data_dir / "skill-registry.db"
    sql = "select d.pageno, coalesce(s.tbl_name, d.name) from dbstat d left join sqlite_schema s on s.name = d.name"
    with closing(sqlite3.connect(path)) as database:
        database.execute("pragma wal_checkpoint(truncate)")
        owners = dict(database.execute(f"{sql} where d.pagetype <> 'overflow' order by d.pageno"))
    whole = path.read_bytes()
    for page, table in owners.items():
        start = (page - 1) * PAGE
        path.write_bytes(whole[:start] + bytes([byte]) * PAGE + whole[start + PAGE :])
        assert table in {found.table for found in damaged_tables(path)}, (page, table)
        assert is_damaged(path)
    assert len(owners) > 50


@ON_SQLITE
def test_a_torn_header_is_damage_of_the_schema(kept: KeptRegistry, tmp_path: Path) -> None:
    kept.close()
    with (kept.data_dir / "skill-registry.db").open("r+b") as file:
        file.write(bytes(PAGE))
    done = Done(tmp_path, "fsck", "--json", *kept.flags(), **kept.environment)
    assert (done.code, [drift["thing"] for drift in done.json["drift"]]) == (1, ["table sqlite_schema"])


@ON_SQLITE
def test_the_commands_say_what_is_damaged_and_how_to_recover(kept: KeptRegistry, tmp_path: Path) -> None:
    kept.close()
    overwrite(kept.data_dir / "skill-registry.db", "users")
    done = Done(tmp_path, "fsck", *kept.flags(), **kept.environment)
    assert done.code == 1, done.error
    assert "table users" in done.out
    assert "or create them again" in " ".join(done.out.split())
    flags = ("--data-dir", str(kept.data_dir), "--skills-dir", str(kept.folder / "skills"))
    Done(tmp_path, "backup", "copy", *flags).complains(1, "damaged", "users", "fsck")


def test_an_intact_database_has_no_damaged_table(kept: KeptRegistry) -> None:
    assert kept.database.damaged_tables() == []
    assert not kept.database.is_damaged


def test_a_service_that_meets_damage_says_so(tmp_path: Path) -> None:
    with RunningServer(tmp_path, "--profile", "registry") as server:
        admin = bearer(server.token("admin"))
    overwrite(server.data_dir / "skill-registry.db", "audit")
    with RunningServer(tmp_path, "--profile", "registry") as server:
        answer = server.api("GET", "/audit", headers=admin)
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "SERVICE_UNAVAILABLE")
        assert server.http.get("/readyz").status_code == 503
        server.wait_for(lambda: server.status()["status"] == "degraded")
        assert "database" in server.api("GET", "/status", headers=admin).json()["data"]["problems"]


@ON_SQLITE
def test_damage_is_an_error_of_the_database(damaged_audit: KeptRegistry) -> None:
    with pytest.raises(DatabaseUnusable, match="damaged"):
        damaged_audit.database.read("select * from audit")
    assert damaged_audit.database.is_damaged


@pytest.fixture
def damaged_audit(kept: KeptRegistry) -> KeptRegistry:
    kept.close()
    overwrite(kept.data_dir / "skill-registry.db", "audit")
    return kept


@ON_POSTGRESQL
def test_without_amcheck_a_note_has_the_commands_for_an_administrator(kept: KeptRegistry, tmp_path: Path) -> None:
    done = Done(tmp_path, "fsck", *kept.flags(), **kept.environment)
    assert done.code == 0, done.out
    told = " ".join(done.out.split())
    assert "create extension amcheck; grant execute on function bt_index_check(regclass, boolean)" in told
    assert "to owner' in this database" in told


@ON_POSTGRESQL
@pytest.mark.parametrize("table", DERIVED)
def test_a_derived_table_of_postgresql_is_built_again(kept: KeptRegistry, table: str) -> None:
    sql = "select b.body from bodies b join skills s on s.key = b.key where s.advertised = 0 order by b.key"
    bodies = kept.database.read(sql)
    kept.database.recreate_table(table)
    kept.database.reindex_table(table)
    assert kept.database.read(f"select * from {table}") == []
    if table == "counter":
        kept.run("insert into counter values (1)")
    report = kept.inspect(repair=True)
    assert (report.drift, report.unchecked) == ([], {})
    assert kept.database.read(sql) == bodies


@ON_SQLITE
def test_a_file_that_was_cut_off_is_named_by_every_command(kept: KeptRegistry, tmp_path: Path) -> None:
    kept.close()
    path = kept.data_dir / "skill-registry.db"
    for size in (path.stat().st_size // 2 // PAGE * PAGE, 5 * PAGE, 3000, 50, 0):
        with path.open("r+b") as file:
            file.truncate(size)
        fsck = Done(tmp_path, "fsck", *kept.flags(), **kept.environment)
        assert fsck.code in (1, 2), size
        assert "backup" in fsck.out + fsck.error, (size, fsck.out, fsck.error)
        assert fsck.out.count("not checked") <= 1, fsck.out
        copied = Done(tmp_path, "backup", "copy", *kept.flags()[:6], **kept.environment)
        copied.complains(1, "the backup failed", "damaged" if size >= 100 else "is empty or cut off")
        served = Done(tmp_path, *kept.server().command()[1:], **kept.server().environment())
        assert ("database is damaged" if size >= 100 else "is empty or cut off") in served.error
        assert (served.code, "Traceback" in served.error) == (1, False)
