"""Packages that nobody refers to are listed, and collected once they are a day old."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from support.kept_registry import KeptRegistry

DAY = 24 * 60 * 60
NOW = "2026-01-31T12:00:00.000Z"
COMMIT = ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--allow-empty", "-m", "Begin")


def stray(kept: KeptRegistry, age: float, name: str = "gone-1.0.0.zip") -> Path:
    path = kept.blobs / "acme" / name
    path.write_bytes(b"PK")
    os.utime(path, (time.time() - age, time.time() - age))
    return path


def test_a_package_nobody_refers_to_is_collected_after_a_day(kept: KeptRegistry) -> None:
    old, young = stray(kept, DAY + 60), stray(kept, DAY - 60, "young-1.0.0.zip")
    found = {drift.thing: (drift.repairable, drift.problem) for drift in kept.inspect().drift}
    assert found == {
        "skills/acme/gone-1.0.0.zip": (True, "no version, no job and no line of the index has these bytes"),
        "skills/acme/young-1.0.0.zip": (
            False,
            "no version and no job of this database has these bytes; it is younger than 24 hours",
        ),
    }
    assert old.exists()
    report = kept.inspect(repair=True)
    assert [drift.thing for drift in report.repaired] == ["skills/acme/gone-1.0.0.zip"]
    assert (old.exists(), young.exists()) == (False, True)


def test_other_bytes_than_those_of_a_rejected_job_are_collected_too(kept: KeptRegistry) -> None:
    path = stray(kept, DAY + 60)
    row: dict[str, object] = {
        "id": "gone",
        "state": "rejected",
        "skill_id": "acme/gone",
        "version": "1.0.0",
        "checksum": "sha256:00",
    }
    row |= {"uploaded_at": NOW, "completed_at": NOW, "uploaded_by": "acme", "errors": "[]", "warnings": "[]"}
    row |= dict.fromkeys(("size", "tries", "next_try"), 1)
    columns, values = ", ".join(row), ", ".join(repr(value) for value in row.values())
    kept.run(f"insert into publish_jobs ({columns}) values ({values})")
    assert [drift.thing for drift in kept.inspect(repair=True).repaired] == ["skills/acme/gone-1.0.0.zip"]
    assert not path.exists()
    assert kept.inspect().drift == []


def test_packages_of_versions_and_jobs_are_kept(kept: KeptRegistry) -> None:
    for path in kept.blobs.rglob("*.zip"):
        os.utime(path, (time.time() - 9 * DAY, time.time() - 9 * DAY))
    before = sorted(kept.blobs.rglob("*.zip"))
    assert kept.inspect(repair=True).drift == []
    assert sorted(kept.blobs.rglob("*.zip")) == before


@pytest.mark.parametrize("loss", ["version", "log"])
def test_an_older_database_collects_nothing_that_it_has_forgotten(kept: KeptRegistry, loss: str) -> None:
    path = kept.blobs / "acme" / "ocr-1.0.0.zip"
    os.utime(path, (time.time() - 9 * DAY, time.time() - 9 * DAY))
    kept.run("delete from published where skill_id = 'acme/ocr'", "delete from publish_jobs where version = '1.0.0'")
    other = stray(kept, 9 * DAY)
    if loss == "log":
        last = "(select max(number) from log_entries)"
        shift = "(1 << level)" if kept.url is None else "(1 << level::int)"
        kept.run(f"delete from log_nodes where (position + 1) * {shift} > {last}")
        kept.run(f"delete from log_entries where number = {last}")
    kept.inspect(repair=True)
    assert path.exists()
    assert other.exists() == (loss == "log")


def test_without_the_index_nothing_is_collected(kept: KeptRegistry) -> None:
    path = stray(kept, 9 * DAY)
    (kept.folder / "index.git").rename(kept.folder / "away.git")
    (drift,) = (drift for drift in kept.inspect(repair=True).drift if drift.area == "blobs")
    assert (drift.thing, drift.repairable, path.exists()) == ("skills/acme/gone-1.0.0.zip", False, True)


def test_with_another_index_or_none_nothing_is_collected(kept: KeptRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    path = stray(kept, 9 * DAY)
    other = kept.folder / "other"
    for command in (("init", "--quiet", str(other)), ("-C", str(other), *COMMIT)):
        subprocess.run(["git", *command], check=True)
    monkeypatch.chdir(other)  # what a command without a repository would take for it
    for url in (str(other), ""):
        report = kept.inspect({"registryIndex.url": url}, repair=True)
        assert path.exists()
        assert "skills/acme/gone-1.0.0.zip" in {drift.thing for drift in report.drift if not drift.repairable}
    assert "index" not in {drift.area for drift in report.drift}
