"""The command, with a stopped service and beside a running one."""

import threading
from pathlib import Path

import numpy as np

from registry.database.sqlite import SqliteDatabase
from support.catalogs import SkillCatalog
from support.commands import Done
from support.kept_registry import KeptRegistry
from support.publishing import index_file, skill_package


def fsck(kept: KeptRegistry, *args: str) -> Done:
    return Done(kept.folder, "fsck", *kept.flags(), *args, **kept.environment)


def test_it_reports_each_difference_with_advice(kept: KeptRegistry) -> None:
    (kept.blobs / "acme" / "ocr-1.0.0.zip").unlink()
    kept.run("delete from versions where key = (select key from skills where id = 'acme/pdf')")
    kept.close()
    done = fsck(kept)
    assert done.code == 1
    assert "rows acme/pdf: version 1.10.0 is active, but not listed. Run it with --repair." in " ".join(
        done.out.split()
    )
    assert "from a backup or a mirror, or revoke" in " ".join(done.out.split())
    report = fsck(kept, "--repair", "--json").json
    assert [drift["area"] for drift in report["drift"]] == ["blobs"]
    assert {drift["area"] for drift in report["repaired"]} == {"rows"}


def test_the_service_completes_the_repair(kept: KeptRegistry) -> None:
    kept.set_vector("acme/pdf", np.ones(2, np.float32))
    kept.run("delete from index_files where skill_id = 'acme/pdf'")
    kept.close()
    out = fsck(kept, "--repair").out
    assert ("1 left to embed" in out, "1 left to push to the index" in out) == (True, True), out
    with kept.server() as server:
        server.wait_for(lambda: len(index_file(server.remote, "acme/pdf")) == 2)
        server.sign_in().wait_for(lambda: server.status()["pending"] == 0)
    assert kept.inspect().drift == []


def test_beside_a_service_it_only_checks(kept: KeptRegistry) -> None:
    with kept.server() as server:
        finished = threading.Event()

        def publish() -> None:
            number = 0
            while not finished.is_set():
                server.finished(server.publish(skill_package(f"busy-{number % 3}", f"1.{number}.0")))
                number += 1

        publishing = threading.Thread(target=publish)
        publishing.start()
        try:
            found = [kept.inspect(alone=False).drift for _ in range(8)]
            assert (done := fsck(kept)).code == 0, done.out
        finally:
            finished.set()
            publishing.join()
        assert found == [[]] * 8
        fsck(kept, "--repair").complains(2, "needs the service to be stopped", server.url)


def test_a_missing_catalog_is_reported(tmp_path: Path) -> None:
    Done(tmp_path, "fsck", "--data-dir", str(tmp_path)).complains(2, "there is no catalog in", "--data-dir")


def test_a_database_too_damaged_to_open_is_reported_table_by_table(tmp_path: Path) -> None:
    SkillCatalog(database := SqliteDatabase(tmp_path / "skill-registry.db")).put_many(
        (f"skill-{number}", "A description.", "Body " * 500) for number in range(50)
    )
    database.close()
    data = bytearray((tmp_path / "skill-registry.db").read_bytes())
    data[20_000:] = bytes(len(data) - 20_000)
    (tmp_path / "skill-registry.db").write_bytes(data)
    done = Done(tmp_path, "fsck", "--json", "--data-dir", str(tmp_path))
    assert done.code == 1, done.error
    assert [drift["thing"] for drift in done.json["drift"]] == ["table sqlite_schema"]
