"""Publishing with faults of the store, the disk or the caller."""

import contextlib
import socket
import sqlite3
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from support.broken_bucket import broken_bucket
from support.crasher import small_disk
from support.publishing import Registry, skill_package
from support.s3 import KEYS
from support.waiting import PATIENCE_SECONDS

TRIES = ("--limits-publish-tries", "2", "--limits-s3-read-seconds", "0.5", "--limits-s3-connect-seconds", "0.5")
MEBIBYTE = 1 << 20


def test_a_package_that_cannot_be_stored_is_rejected_and_never_visible(tmp_path: Path) -> None:
    with broken_bucket() as url:
        flags = ("--s3-bucket", "packages", "--s3-endpoint", url, *TRIES)
        with Registry(tmp_path, *flags, env=KEYS) as registry:
            answers = {name: registry.publish(skill_package(name)) for name in ("forbidden", "failing", "silent")}
            assert registry.get("/api/skills").status_code == 200
            for name, answer in answers.items():
                job = registry.finished(answer)
                assert (job["status"], [one["field"] for one in job["errors"]]) == ("rejected", [None])
                assert registry.get(f"/api/skills/acme/{name}").status_code == 404
                assert registry.get(f"/packages/acme/{name}/1.0.0.zip").status_code == 404
            assert "Found credentials" not in registry.log.read_text()  # which botocore logs for each client


def test_a_store_that_comes_back_is_tried_again(tmp_path: Path) -> None:
    with Registry(tmp_path) as registry:
        registry.blobs.rmdir()
        registry.blobs.write_text("no folder")
        answer = registry.publish(skill_package("patient"))
        registry.wait_for(lambda: "try 1" in registry.log.read_text())
        registry.blobs.unlink()
        assert registry.finished(answer)["status"] == "accepted"


def test_an_upload_to_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    with small_disk(tmp_path / "data") as disk:
        if disk is None:
            pytest.skip("a file system can only be mounted by root")
        with Registry(tmp_path) as registry:
            caller = registry.caller()
            with (disk / "filler").open("wb", buffering=0) as filler, contextlib.suppress(OSError):
                while True:
                    filler.write(bytes(1 << 16))
            assert registry.publish(skill_package("large"), caller).status_code == 507
            (disk / "filler").unlink()
            assert list((registry.data_dir / "publish").iterdir()) == []
            assert registry.finished(registry.publish(skill_package("large")))["status"] == "accepted"


def test_a_version_with_other_stored_bytes_is_not_published(tmp_path: Path) -> None:
    with Registry(tmp_path) as registry:
        foreign = registry.blobs / "skills/acme/taken-1.0.0.zip"
        foreign.parent.mkdir(parents=True)
        foreign.write_bytes(b"something else")
        job = registry.finished(registry.publish(skill_package("taken")))
        assert [one["kind"] for one in job["errors"]] == ["security_issue"]
        assert foreign.read_bytes() == b"something else"
        assert registry.get("/api/skills/acme/taken").status_code == 404


def peak(registry: Registry) -> int:
    """Return the most memory the server has ever had, in bytes."""
    status = Path(f"/proc/{registry.process.pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))


def send_endless(registry: Registry, size: int) -> bytes:
    """Send a chunked upload of `size` bytes, and return what is answered before it ends."""
    parts = urlsplit(registry.url)
    head = "POST /api/registry/publish HTTP/1.1\r\nHost: {}\r\nAuthorization: {}\r\n{}\r\n\r\n".format(
        parts.netloc,
        registry.caller()["Authorization"],
        "Content-Type: multipart/form-data; boundary=b\r\nTransfer-Encoding: chunked",
    )
    opening = b'--b\r\nContent-Disposition: form-data; name="package"; filename="p.zip"\r\n\r\n'
    with socket.create_connection((str(parts.hostname), int(parts.port or 0)), timeout=PATIENCE_SECONDS) as caller:
        caller.sendall(head.encode() + b"%x\r\n%s\r\n" % (len(opening), opening))
        chunk = b"%x\r\n%s\r\n" % (MEBIBYTE, bytes(MEBIBYTE))
        try:
            for _ in range(size // MEBIBYTE):
                caller.sendall(chunk)
        except OSError:
            pass
        return caller.recv(65_536)


def test_an_endless_upload_ends_at_the_limit_and_leaves_nothing(tmp_path: Path) -> None:
    with Registry(tmp_path) as registry:
        registry.finished(registry.publish(skill_package("warm")))
        before = peak(registry)
        assert b"413" in send_endless(registry, 200 * MEBIBYTE).split(b"\r\n")[0]
        assert peak(registry) - before < 32 * MEBIBYTE
        registry.wait_for(lambda: not list((registry.data_dir / "publish").iterdir()))


def test_an_aborted_upload_leaves_nothing(tmp_path: Path) -> None:
    with Registry(tmp_path) as registry:
        parts = urlsplit(registry.url)
        with socket.create_connection((str(parts.hostname), int(parts.port or 0)), timeout=PATIENCE_SECONDS) as caller:
            head = f"POST /api/registry/publish HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Length: 1000000\r\n"
            head += f"Authorization: {registry.caller()['Authorization']}\r\n"
            caller.sendall(head.encode() + b"Content-Type: multipart/form-data; boundary=b\r\n\r\n--b\r\n")
            registry.wait_for(lambda: list((registry.data_dir / "publish").iterdir()))
        registry.wait_for(lambda: not list((registry.data_dir / "publish").iterdir()))
        assert registry.get("/api/skills").status_code == 200


def test_several_processes_publish_each_package_once(tmp_path: Path) -> None:
    with Registry(tmp_path, "--workers", "2") as registry:
        answers = [registry.publish(skill_package("many", f"1.{number}.0")) for number in range(12)]
        assert {registry.finished(answer)["status"] for answer in answers} == {"accepted"}
        assert registry.log.read_text().count("published acme/many") == 12


def test_a_crash_while_the_store_is_silent_is_taken_up_with_another_store(tmp_path: Path) -> None:
    with broken_bucket() as url:
        hanging = Registry(tmp_path, "--s3-bucket", "packages", "--s3-endpoint", url, env=KEYS).start()
        answer = hanging.publish(skill_package("resumed"))
        hanging.wait_for(lambda: hanging.job(answer.json()["data"]["job_id"])["status"] == "validating")
        hanging.kill()
    with Registry(tmp_path) as registry:
        assert registry.finished(answer, synced=True)["status"] == "accepted"
        assert [path.name for path in registry.blobs.rglob("*.zip")] == ["resumed-1.0.0.zip"]
        assert registry.get("/api/v1/skills/acme/resumed/versions").json()["pagination"]["total"] == 1


def test_a_stop_does_not_wait_for_a_silent_store(tmp_path: Path) -> None:
    with broken_bucket() as url:
        registry = Registry(tmp_path, "--s3-bucket", "packages", "--s3-endpoint", url, env=KEYS).start()
        answer = registry.publish(skill_package("left-open"))
        registry.wait_for(lambda: registry.job(answer.json()["data"]["job_id"])["status"] == "validating")
        assert registry.stop() == 0, registry.log.read_text()[-2000:]


def test_leftovers_of_a_database_outage_are_removed_after_it(tmp_path: Path) -> None:
    with Registry(tmp_path) as registry:
        other = sqlite3.connect(registry.data_dir / "skill-registry.db", isolation_level=None, check_same_thread=False)
        answer = registry.publish(skill_package("patient"))
        registry.finished(answer)
        left = registry.data_dir / "publish" / f"{answer.json()['data']['job_id']}.zip"
        left.touch()
        registry.blobs.rename(tmp_path / "away")
        registry.blobs.write_text("no folder")
        late = registry.publish(skill_package("late"))
        registry.wait_for(lambda: "try 1" in registry.log.read_text())
        other.execute("begin immediate")  # what comes next cannot be written
        registry.wait_for(lambda: "publish failed and is tried again" in registry.log.read_text())
        registry.blobs.unlink()
        other.execute("rollback")
        other.close()
        assert registry.finished(late)["status"] == "accepted"
        registry.wait_for(lambda: not left.exists())
