"""A full disk while a registry is mirrored: nothing half-written is served, and it goes on when there is space."""

import contextlib
import hashlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from support.commands import Done
from support.mirrors import MirrorService, Upstream
from support.parties import Developer
from support.publishing import skill_package
from support.waiting import wait_until

SIZE = 1 << 20
NAMES = ("one", "two", "three", "four")


class Full(NamedTuple):
    """A registry with packages of about a MiB each, and its mirror, whose kept files have 2 MiB of space."""

    upstream: Upstream
    mirror: MirrorService
    env: dict[str, str]
    folder: Path

    def whole(self) -> int:
        """Return the number of kept packages, each of which has the bytes of its name; no other file is there."""
        packages = self.mirror.kept("packages", "*", "*")
        assert all(hashlib.sha256(path.read_bytes()).hexdigest() == path.name for path in packages)
        return len(packages)


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Full]:
    kept = tmp_path / "mirror" / "data" / "mirrored"
    kept.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={2 * SIZE}", "tmpfs", str(kept)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("a file system can only be mounted by root")
    try:
        with Upstream(tmp_path / "upstream") as upstream, MirrorService(tmp_path / "mirror", upstream) as mirror:
            for name in NAMES:
                upstream.finished(upstream.publish(skill_package(name, files={"data.bin": os.urandom(SIZE * 3 // 4)})))
            mirror.follow(upstream)
            env = {
                "SKILL_REGISTRY_DATA_DIR": str(mirror.data_dir),
                "SKILL_REGISTRY_OUTBOUND_ALLOWED_HOSTS": upstream.address.removeprefix("http://"),
            }
            yield Full(upstream, mirror, env, tmp_path)
    finally:
        subprocess.run(["umount", "--lazy", str(kept)], check=True)


def _fill(folder: Path) -> Path:
    """Take all the space there is, and return the file that has it."""
    path = folder / "filler"
    with path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(1 << 12))
    return path


def _error(mirror: MirrorService) -> str | None:
    sources = mirror.api("GET", "/registry/sources", headers=mirror.caller("reader", "user")).json()["data"]
    error: str | None = next(source["error"] for source in sources if source["name"] == "corp")
    return error


def _status(mirror: MirrorService, name: str) -> int:
    return mirror.get(f"/mirrors/corp/packages/acme/{name}/1.0.0.zip", mirror.caller("reader", "user")).status_code


def test_a_full_disk_is_a_reason_and_ends_nothing(full: Full) -> None:
    developer = Developer(full.folder / "developer", full.mirror, full.mirror.new_key())
    for name in NAMES[:2]:
        assert developer.run("install", f"acme/{name}").code == 0
    refused = developer.run("install", "acme/three")
    assert (refused.code, "No space left on device" in refused.error) == (1, True), refused.error
    assert full.whole() == 2
    assert "No space left" in str(_error(full.mirror))
    done = Done(full.folder, "mirror", "corp", "--all", "--json", **full.env)
    assert (done.code, done.json["packages"]) == (1, 2)
    assert list(done.json["missing"]) == ["acme/three@1.0.0", "acme/four@1.0.0"]
    assert "/packages/acme/four" not in full.upstream.log.read_text()
    filler = _fill(full.mirror.data_dir / "mirrored")
    full.upstream.withdraw("revoke", "two")
    wait_until(lambda: _status(full.mirror, "two") == 409)
    assert (_status(full.mirror, "one"), full.mirror.http.get("/healthz").status_code) == (200, 200)
    full.mirror.stop()
    full.mirror.start()
    wait_until(lambda: _status(full.mirror, "two") == 409)
    assert _status(full.mirror, "one") == 200
    filler.unlink()
    wait_until(lambda: _status(full.mirror, "three") == 200)
    assert developer.run("install", "acme/three").code == 0
    assert (full.whole(), _error(full.mirror)) == (2, None)


def test_an_import_on_a_full_disk_leaves_whole_files_and_is_continued(full: Full) -> None:
    exported = full.folder / "carried"
    other = full.folder / "other"
    env = full.env | {"SKILL_REGISTRY_DATA_DIR": str(other / "data")}
    with MirrorService(other, full.upstream) as large:
        large.follow(full.upstream)
        assert Done(full.folder, "mirror", "corp", "--all", "--export", str(exported), **env).code == 0
    done = Done(full.folder, "mirror", "corp", "--import", str(exported), **full.env)
    done.complains(1, "No space left on device")
    kept = full.whole()
    assert kept == 2
    (full.mirror.kept("packages", "*", "*")[0]).unlink()
    Done(full.folder, "mirror", "corp", "--import", str(exported), **full.env).complains(1, "No space left")
    assert full.whole() == 2


def test_what_is_revoked_is_refused_when_the_limit_of_bytes_is_reached(tmp_path: Path) -> None:
    with Upstream(tmp_path / "upstream") as upstream:
        upstream.release("one")
        upstream.release("two")
        with MirrorService(tmp_path / "mirror", upstream, "--limits-mirror-bytes", "3000") as mirror:
            mirror.follow(upstream)
            assert _status(mirror, "one") == 200
            (mirror.kept("state.json")[0].parent / "filler").write_bytes(bytes(4000))
            mirror.stop()
            mirror.start()
            assert _status(mirror, "two") == 503
            upstream.withdraw("revoke", "one")
            wait_until(lambda: _status(mirror, "one") == 409)
            assert "limits.mirror_bytes" in str(_error(mirror))
