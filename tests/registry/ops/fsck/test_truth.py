"""A source of truth that is missing or inconsistent is reported, and never changed."""

import hashlib
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from support.git_server import _BLANK
from support.kept_registry import KeptRegistry

Damage = Callable[[KeptRegistry], object]


def rows(*statements: str) -> Damage:
    return lambda kept: kept.run(*statements)


def package(kept: KeptRegistry, name: str = "ocr-1.0.0.zip") -> Path:
    path = kept.blobs / "acme" / name
    if path.exists():
        path.chmod(0o644)
    return path


def blob_is_flipped(kept: KeptRegistry) -> None:
    data = bytearray(package(kept).read_bytes())
    data[10] ^= 1
    package(kept).write_bytes(data)


def state(kept: KeptRegistry) -> tuple[object, ...]:
    """Return the sources of truth: the rows of versions, jobs and log, and every package."""
    tables = ("published", "publish_jobs", "log_entries", "log_nodes")
    blobs = {str(path): path.read_bytes() for path in kept.blobs.rglob("*.zip")}
    return (blobs, *(kept.database.read(f"select * from {table} order by 1, 2") for table in tables))


def pushed_state_is_forged(kept: KeptRegistry) -> None:
    clone = kept.data_dir / "registry-index"
    (clone / "skill-registry.checkpoint").write_text("skill-registry\n3\nAAAA\n\n\u2014 skill-registry AAAA\n")
    subprocess.run(["git", "-C", str(clone), "commit", "-qam", "x"], env=_BLANK, check=True)
    push = ["git", "-C", str(clone), "push", "-q", str(kept.folder / "index.git"), "HEAD:main"]
    subprocess.run(push, env=_BLANK, check=True)


def log_is_an_older_one(kept: KeptRegistry) -> None:
    """Remove the last log entry and its effects from every table, as restoring an older database does."""
    kept.run(
        f"delete from log_nodes where (position + 1) * (1 << level) > {LAST}"
        if kept.url is None
        else f"delete from log_nodes where (position + 1) * (1 << level::int) > {LAST}",
        f"delete from log_entries where number = {LAST}",
        "update published set state = 'active' where skill_id = 'acme/bad'",
    )


LEAF = "(select hash from log_nodes where level = 0 and position = 0)"
LAST = "(select max(number) from log_entries)"
TRUTH: dict[str, tuple[Damage, str]] = {
    "a package is deleted": (
        lambda kept: package(kept).unlink(),
        "blobs acme/ocr 1.0.0: its package is not in the store",
    ),
    "a package is flipped": (blob_is_flipped, "blobs acme/ocr 1.0.0: its package is sha256:"),
    "a package is cut": (lambda kept: package(kept).write_bytes(b"PK"), "(2 bytes) instead of"),
    "a package nobody knows": (
        lambda kept: package(kept, "pdf-9.0.0.zip").write_bytes(b"PK") and None,
        "blobs skills/acme/pdf-9.0.0.zip: no version and no job",
    ),
    "a file of no package's name": (
        lambda kept: package(kept, "notes.txt").write_bytes(b"hello") and None,
        "blobs skills/acme/notes.txt: the name is not that of a package",
    ),
    "a version is deleted": (
        rows("delete from published where skill_id = 'acme/ocr'"),
        "rows acme/ocr 1.0.0: its publish job was accepted, but the version does not exist",
    ),
    "a version's digest differs": (
        rows("update published set checksum = 'sha256:00' where skill_id = 'acme/ocr'"),
        "log acme/ocr 1.0.0: its digests differ from those in the log",
    ),
    "a version's state differs": (
        rows("update published set state = 'active' where skill_id = 'acme/bad'"),
        "log acme/bad 1.0.0: it is active, but revoked in the log",
    ),
    "a record's text is deleted": (
        rows("delete from bodies where key = (select key from skills where id = 'record-one')"),
        "rows record-one: its text is missing",
    ),
    "a skill cannot be read": (
        rows("update skills set detail = '{}' where id = 'record-one'"),
        "rows record-one: its record cannot be read",
    ),
    "an entry is altered": (
        rows("update log_entries set entry = replace(entry, 'acme/ocr', 'acme/pwn')"),
        "its text does not match its hash",
    ),
    "an entry in the middle is deleted": (
        rows("delete from log_entries where number = 2"),
        "log entry 2: it is missing: the next one is 3",
    ),
    "the last entry is deleted": (
        rows(f"delete from log_entries where number = {LAST}"),
        "does not match its hash",
    ),
    "a node of the tree is altered": (
        rows(
            "update log_nodes set hash = (select hash from log_nodes where level = 0 and position = 0) where level = 1"
        ),
        "log entry 0: the tree over it does not match its entries",
    ),
    "an entry is cut off with its node": (
        rows(
            "delete from log_nodes where level = 0 and position = (select max(number) from log_entries)",
            f"delete from log_entries where number = {LAST}",
        ),
        "log acme/bad 1.0.0: it is revoked, but active in the log",
    ),
    "the key differs": (rows("update facts set value = 'x' where name = 'log_key'"), "log key: the last key"),
    "the pushed state is forged": (
        pushed_state_is_forged,
        "index skill-registry.checkpoint: the checkpoint is not signed",
    ),
    "an older log is restored": (log_is_an_older_one, "log skill-registry.checkpoint: it had 8 entries"),
    "a vector's space is of no model": (
        rows("update vectors set space = 'old' where key = (select key from skills where id = 'record-one')"),
        "vectors old: no model in use",
    ),
}


@pytest.mark.parametrize(("damage", "words"), TRUTH.values(), ids=TRUTH)
def test_faults_of_a_source_of_truth_are_reported_and_never_repaired(
    kept: KeptRegistry, damage: Damage, words: str
) -> None:
    damage(kept)
    before = state(kept)
    found = [
        f"{drift.area} {drift.thing}: {drift.problem}"
        for drift in kept.inspect(repair=True).drift
        if not drift.repairable
    ]
    assert any(words in line for line in found), found
    assert state(kept) == before


def test_a_blob_left_by_a_rejected_job_is_removed(kept: KeptRegistry) -> None:
    left = package(kept, "late-1.0.0.zip")
    left.write_bytes(b"bytes of a package")
    checksum = f"sha256:{hashlib.sha256(left.read_bytes()).hexdigest()}"
    columns = "id, state, skill_id, version, checksum, size, uploaded_at, uploaded_by, tries, next_try"
    insert = f"insert into publish_jobs ({columns}, errors, warnings) values ('late', 'STATE', 'acme/late', '1.0.0',"
    insert += f" '{checksum}', 18, '', 'ann', 1, 0, '[]', '[]')"
    kept.run(insert.replace("STATE", "validating"))
    assert (kept.inspect(repair=True).drift, left.exists()) == ([], True)
    kept.run("update publish_jobs set state = 'rejected' where id = 'late'")
    report = kept.inspect(repair=True)
    assert ([drift.thing for drift in report.repaired], report.drift) == (["skills/acme/late-1.0.0.zip"], [])
    assert not left.exists()


def test_revoked_packages_with_a_public_url_are_reported(kept: KeptRegistry) -> None:
    found = kept.inspect({"s3.blobBaseUrl": "https://packages.example.org"}).drift
    assert [(drift.thing, "revoked" in drift.problem) for drift in found if drift.area == "blobs"] == [
        ("acme/bad 1.0.0", True)
    ]


def test_the_package_of_a_revoked_version_may_be_removed(kept: KeptRegistry) -> None:
    (package,) = kept.folder.glob("**/skills/acme/bad-1.0.0.zip")
    package.unlink()
    assert kept.inspect().drift == []


def test_a_skill_whose_folder_is_gone_stays_until_a_scan(kept: KeptRegistry) -> None:
    (kept.folder / "skills" / "local-one").rename(kept.folder / "away")
    (drift,) = kept.inspect(repair=True).drift
    assert (drift.thing, drift.repairable) == ("local-one", False)
    (kept.folder / "skills").rmdir()
    assert "skills directory" in kept.inspect(repair=True).unchecked["folders"]
    assert kept.value("select count(*) from skills where id = 'local-one'") == 1


def test_packages_are_not_checked_without_a_store(kept: KeptRegistry) -> None:
    report = kept.inspect({"blobs.dir": None})
    assert (report.drift, list(report.unchecked)) == ([], ["packages"])
