"""A backup taken while a service works, and a service over what was restored from it."""

import hashlib
import itertools
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from support.commands import Done
from support.postgres_server import PostgresServer
from support.publishing import Registry, index_file, skill_package
from support.s3 import KEYS, SeaweedFS
from support.servers import RunningServer, new_skill, write_skill


def back_up(server: RunningServer, target: Path, *args: str) -> Done:
    folders = ("--data-dir", str(server.data_dir), "--skills-dir", str(server.skills_dir))
    done = Done(target.parent, "backup", str(target), "--json", *folders, "--project-file", str(server.manifest), *args)
    assert done.code == 0, done.error
    checked = subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=target, check=False)
    assert checked.returncode == 0
    return done


def restore(target: Path, folder: Path) -> None:
    """Put a backup where a server in `folder` looks for its things, as the operations page says."""
    for name, place in (("data", "data"), ("packages", "blobs"), ("skills", "skills"), ("project", ".")):
        if (target / name).exists():
            shutil.copytree(target / name, folder / place, dirs_exist_ok=True)


@contextmanager
def publishing_without_end(server: Registry, acknowledged: list[tuple[str, str]]) -> Iterator[None]:
    """Publish one package after the other; `acknowledged` gets the job and the name of each upload that was taken."""
    stop, caller = threading.Event(), server.caller()

    def publish() -> None:
        for number in itertools.count():
            if stop.is_set():
                return
            answer = server.publish(skill_package(f"skill-{number}"), caller)
            acknowledged.append((answer.json()["data"]["job_id"], f"skill-{number}"))

    writer = threading.Thread(target=publish)
    writer.start()
    try:
        yield
    finally:
        stop.set()
        writer.join()


def test_what_was_acknowledged_before_the_backup_is_there_after_restoring_it(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    acknowledged: list[tuple[str, str]] = []
    with Registry(old) as server, publishing_without_end(server, acknowledged):
        server.wait_for(lambda: len(acknowledged) >= 20)
        server.wait_for(lambda: len(list(server.blobs.rglob("*.zip"))) >= 10)
        before = list(acknowledged)
        told = back_up(server, tmp_path / "copy", "--blobs-dir", str(server.blobs)).json
    assert told["packages"] >= 10
    shutil.copytree(old / "index.git", tmp_path / "new" / "index.git")
    restore(tmp_path / "copy", new)
    # The index has what was published after the backup, so the restored log would contradict it.
    ended = Done(new, "log", "new-identity", "--data-dir", str(new / "data"))
    assert ended.code == 0, ended.error
    with Registry(new) as server:
        caller, admin = server.caller(), server.caller("root", "admin")
        for job_id, name in before:
            server.wait_for(partial(lambda job_id: server.job(job_id, admin)["completed_at"], job_id))
            job = server.job(job_id, admin)
            assert job["status"] == "accepted", job
            package = server.get(f"/packages/acme/{name}/1.0.0.zip", caller)
            assert f"sha256:{hashlib.sha256(package.content).hexdigest()}" == job["checksum"]
        folders = ("--data-dir", str(server.data_dir), "--skills-dir", str(server.skills_dir))
        stores = ("--blobs-dir", str(server.blobs), "--registry-index-url", str(server.remote))
        server.wait_for(lambda: all(server.job(job_id, admin)["index_synced"] for job_id, _ in before))
        drift = Done(new, "fsck", "--json", *folders, *stores).json["drift"]
        # The index, and the packages, which are copied last, may have what was published after the backup.
        later = {name for _, name in acknowledged[len(before) :]}
        possible = {("index", f"acme/{name}") for name in later}
        possible |= {("blobs", f"skills/acme/{name}-1.0.0.zip") for name in later}
        possible.add(("index", "skill-registry.checkpoint"))  # of the old identity, until the next change
        assert {(found["area"], found["thing"]) for found in drift} <= possible, drift


def log_of(server: Registry) -> tuple[str, list[str]]:
    """Return the key of the log and what its checkpoint signs, without the line that signs the time."""
    return server.get("/api/v1/log/key").text, server.get("/api/v1/log/checkpoint").text.splitlines()[:3]


def test_the_log_goes_on_where_it_was_and_is_signed_with_the_same_key(tmp_path: Path) -> None:
    with Registry(tmp_path / "old") as server:
        server.finished(server.publish(skill_package("pdf-forms")), synced=True)
        key, checkpoint = log_of(server)
        token = server.caller()
        back_up(server, tmp_path / "copy", "--blobs-dir", str(server.blobs))
    shutil.copytree(tmp_path / "old" / "index.git", tmp_path / "new" / "index.git")
    restore(tmp_path / "copy", tmp_path / "new")
    with Registry(tmp_path / "new") as server:
        assert log_of(server) == (key, checkpoint)
        assert server.publish(skill_package("pdf-forms"), token).status_code == 409
        server.finished(server.publish(skill_package("pdf-forms", "1.0.1"), token), synced=True)
    assert len(index_file(tmp_path / "new" / "index.git", "acme/pdf-forms")) == 2


def test_skills_of_the_local_profile_and_the_manifest_come_back(tmp_path: Path) -> None:
    with RunningServer(tmp_path / "old") as server:
        server.api("POST", "/skills", json=new_skill("tea-brewing"))
        write_skill(server.skills_dir / "pack", "inner", "A skill in a folder of skills.")
        server.manifest.write_text('[metadata]\nid = "mine"\n')
        told = back_up(server, tmp_path / "copy").json
    assert told["skills"] == 2
    restore(tmp_path / "copy", tmp_path / "new")
    with RunningServer(tmp_path / "new") as server:
        assert {skill["id"] for skill in server.api("GET", "/skills").json()["data"]} == {"tea-brewing", "inner"}
        assert server.api("GET", "/project").json()["data"]["metadata"]["id"] == "mine"


def test_only_its_owner_reads_a_backup(tmp_path: Path) -> None:
    with Registry(tmp_path / "old") as server:
        back_up(server, tmp_path / "copy")
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "copy" / "data").iterdir()}
    assert (tmp_path / "copy").stat().st_mode & 0o777 == 0o700
    assert (modes["log.key"], modes["skill-registry.db"]) == (0o600, 0o600)


def test_a_backup_is_whole_or_not_there(tmp_path: Path) -> None:
    Done(tmp_path, "backup", "copy", "--data-dir", "nothing").complains(1, "the backup failed", "does not exist")
    with RunningServer(tmp_path) as server:
        back_up(server, tmp_path / "copy")
        again = Done(tmp_path, "backup", "copy", "--data-dir", str(server.data_dir))
    again.complains(1, "already exists")
    assert not list(tmp_path.glob(".skill-registry-*"))


def test_what_is_elsewhere_is_named(tmp_path: Path, postgres: PostgresServer, bucket: SeaweedFS) -> None:
    database = ("--database-url", postgres.new_database())
    with Registry(tmp_path, *bucket.flags(), *database, env=KEYS) as server:
        told = back_up(server, tmp_path / "copy", *database, "--s3-bucket", "packages").json
    assert told["not_in_it"] == [
        "the catalog, which is in PostgreSQL",
        "the packages, which are in the bucket packages",
    ]
    assert {path.name for path in (tmp_path / "copy" / "data").iterdir()} >= {"log.key"}


@pytest.mark.parametrize("content", ["a link", "a pipe"])
def test_what_is_no_file_in_a_skill_does_not_stop_a_backup(tmp_path: Path, content: str) -> None:
    with RunningServer(tmp_path) as server:
        folder = write_skill(server.skills_dir, "odd", "A skill with something odd in it.")
        odd = str(folder / "odd")
        subprocess.run(["ln", "-s", "/etc/passwd", odd] if content == "a link" else ["mkfifo", odd], check=True)
        assert back_up(server, tmp_path / "copy").json["skills"] == 1
    copied = tmp_path / "copy" / "skills" / "odd" / "odd"
    assert copied.is_symlink() == (content == "a link")
    assert copied.exists() == (content == "a link")
