"""Old entries of the audit log are removed, and nothing else."""

import sqlite3
from contextlib import closing
from pathlib import Path

from registry.auth.audit import EVERYTHING, Audit, AuditFilter, AuditRemoval
from registry.db import Database
from registry.domain.models import timestamp
from support.clock import WallClock
from support.servers import RunningServer, bearer

DAY = 24 * 60 * 60


def test_entries_are_removed_after_their_days(database: Database) -> None:
    clock = WallClock()
    audit = Audit(database, clock)
    removal = AuditRemoval(audit, 30, clock)
    for number in range(2500):
        audit.record("tried", f"old {number}", actor="ann", role="admin")
    clock.forward(20 * DAY)
    audit.record("tried", "new", actor="ann", role="admin")
    clock.forward(10 * DAY)
    removal.round()
    assert audit.list(1, 0)[1] == 2501
    clock.forward(1)
    removal.round()
    assert [entry.detail for entry in audit.list(10, 0)[0]] == ["new"]


def test_an_export_goes_on_where_a_part_ends(database: Database) -> None:
    clock = WallClock()
    audit = Audit(database, clock)
    for number in range(1001):
        audit.record("tried", str(number), actor="ann", role="admin")
    first, after = audit.export(EVERYTHING)
    second, last = audit.export(EVERYTHING, after or 0)
    assert (first.count(b"\n"), second.count(b"\n"), audit.export(EVERYTHING, last or 0)) == (1000, 1, (b"", None))
    assert audit.list(1, 0, AuditFilter(actor="ann", since=timestamp(clock())))[1] == 1001


def test_a_service_removes_what_its_setting_says(tmp_path: Path) -> None:
    def details(server: RunningServer) -> list[str]:
        answer = server.api("GET", "/audit", params={"action": "auth/keys"}, headers=bearer(server.token()))
        return [entry["detail"] for entry in answer.json()["data"]]

    with RunningServer(tmp_path, "--profile", "registry") as server:
        for name in ("old", "new"):
            server.api("POST", "/auth/keys", json={"name": name}, headers=bearer(server.token()))
        new, old = details(server)
    with closing(sqlite3.connect(tmp_path / "data" / "skill-registry.db", isolation_level=None)) as database:
        database.execute("update audit set at = '2020-01-01T00:00:00.000Z' where detail = ?", (old,))
    with RunningServer(tmp_path, "--profile", "registry") as server:
        assert details(server) == [new, old]
    with RunningServer(tmp_path, "--profile", "registry", "--audit-keep-days", "1") as server:
        server.wait_for(lambda: details(server) == [new])
