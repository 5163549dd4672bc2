"""The cache of packages: what was fetched before is installed without a network, if it is what was locked."""

import hashlib
import os
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from registry.install.package_cache import PackageCache
from support.commands import Done
from support.git_server import GitServer
from support.publishing import Registry, skill_package
from support.waiting import wait_until
from support.web_server import WebServer, reply
from support.zips import plain_zip

TEXT = "---\nname: {0}\ndescription: A skill about {0}.\n---\n# {0}\n"


class Project(NamedTuple):
    """A project with a cache of its own."""

    folder: Path
    url: str

    def run(self, *args: str, **env: str) -> Done:
        """Run a command in the project."""
        cache = {"SKILL_REGISTRY_CACHE_BYTES": "100000000", "XDG_CACHE_HOME": str(self.folder / "caches")}
        hosts = {"SKILL_REGISTRY_OUTBOUND_ALLOWED_HOSTS": "127.0.0.1", "SKILL_REGISTRY_SERVER": self.url}
        return Done(self.folder, *args, **{**cache, **hosts, **env})

    @property
    def cache(self) -> PackageCache:
        """The cache that the commands use."""
        return PackageCache(self.folder / "caches" / "skill-registry", 100_000_000)

    def forget(self) -> None:
        """Remove everything but the project's files and the cache, as on another machine with the same home."""
        shutil.rmtree(self.folder / "skills", ignore_errors=True)
        shutil.rmtree(self.folder / ".skill-registry", ignore_errors=True)

    def outcomes(self, *args: str) -> dict[str, str]:
        """Install, and return the outcome for each skill."""
        done = self.run("install", *args, "--json")
        return {row["id"]: row["outcome"] for row in done.json["results"]}


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with Registry(tmp_path / "registry", "--auth-anonymous-read") as running:
        running.finished(running.publish(skill_package("tea", files={"run": b"echo tea\n"})))
        yield running


@pytest.fixture
def project(tmp_path: Path, registry: Registry) -> Project:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "skill-project.toml").write_text("[dependencies]\n")
    return Project(tmp_path / "project", registry.url)


def test_what_was_fetched_before_is_installed_without_a_network(
    tmp_path: Path, project: Project, registry: Registry
) -> None:
    with (
        GitServer(tmp_path / "git") as hub,
        WebServer({"/z.zip": reply(plain_zip({"SKILL.md": TEXT.format("zipped").encode()}))}) as web,
    ):
        hub.repository("skills").commit({"skills/pdf/SKILL.md": TEXT.format("pdf")})
        origins = ("acme/tea", f"{hub.url('skills')}/tree/main/skills/pdf", f"{web.url}/z.zip")
        done = project.run("install", *origins)
        assert done.code == 0, done.error
    lock = (project.folder / "skills.lock").read_bytes()
    registry.kill()
    for arguments in (("--locked",), ("--locked", "--offline"), ("--offline",)):
        project.forget()
        done = project.run("install", *arguments, "--json")
        rows = {row["id"]: (row["outcome"], row["reason"] or "") for row in done.json["results"]}
        assert (done.code, {outcome for outcome, _ in rows.values()}, len(rows)) == (0, {"installed"}, 3), done.error
        assert ("could not be asked what it has withdrawn" in rows["tea"][1]) is ("--offline" not in arguments), rows
        assert project.run("verify", "--log").code == 0
        assert (project.folder / "skills.lock").read_bytes() == lock
    (project.folder / "skills" / "tea" / "run").write_bytes(b"echo other\n")
    (project.folder / "skills" / "pdf" / "SKILL.md").unlink()
    assert project.outcomes("--locked", "--offline")["zipped"] == "already_installed"


def test_an_older_state_of_the_lock_comes_from_the_cache(project: Project, registry: Registry) -> None:
    assert project.run("install", "acme/tea").code == 0
    lock = (project.folder / "skills.lock").read_bytes()
    registry.finished(registry.publish(skill_package("tea", "1.1.0")))
    assert project.run("upgrade", "tea").code == 0
    registry.kill()
    (project.folder / "skills.lock").write_bytes(lock)
    assert project.outcomes("--locked", "--offline") == {"tea": "updated"}
    assert project.run("verify", "--log").code == 0


def test_offline_fails_clearly_for_what_was_never_fetched(project: Project, hub: GitServer) -> None:
    hub.repository("skills").commit({"SKILL.md": TEXT.format("pdf")})
    for origin in ("acme/tea", hub.url("skills"), f"{hub.url('skills')}/tree/main/x", "https://example.org/a.zip"):
        done = project.run("install", origin, "--offline")
        assert (done.code, done.error.count("is not in the cache of packages")) == (1, 1), done.error
    assert project.run("install", "acme/tea").code == 0
    project.forget()
    assert project.run("cache", "--clear").code == 0
    done = project.run("install", "--locked", "--offline")
    assert "'acme/tea' is not in the cache of packages" in done.error
    assert not (project.folder / "skills" / "tea").exists()
    assert project.outcomes("--locked") == {"tea": "installed"}


def test_a_registry_that_answers_decides_whatever_the_cache_has(project: Project, registry: Registry) -> None:
    assert project.run("install", "acme/tea").code == 0
    admin = registry.caller("acme/root", "admin")
    path = "/api/v1/registry/skills/acme/tea/1.0.0/revoke"
    registry.http.post(path, json={"reason": "it steals"}, headers=admin).raise_for_status()
    project.forget()
    done = project.run("install", "--locked")
    assert (done.code, "revoked" in done.error) == (1, True), done.error
    offline = project.run("install", "--locked", "--offline")  # the cache has forgotten what was revoked
    assert (offline.code, "not in the cache" in offline.error) == (1, True), offline.error


@pytest.mark.parametrize("damage", [b"", b"PK other bytes"])
def test_a_damaged_package_is_fetched_again(project: Project, registry: Registry, damage: bytes) -> None:
    assert project.run("install", "acme/tea").code == 0
    (entry,) = (project.cache.folder / "packages").glob("*/*")
    entry.write_bytes(damage)
    project.forget()
    offline = project.run("install", "--locked", "--offline")
    assert (offline.code, "not in the cache" in offline.error) == (1, True), offline.error
    assert not entry.exists()
    assert project.outcomes("--locked") == {"tea": "installed"}
    assert hashlib.sha256(entry.read_bytes()).hexdigest() == entry.name
    assert project.run("verify", "--log").code == 0


def test_a_package_of_other_files_under_the_digest_of_a_tree_is_refused(project: Project, hub: GitServer) -> None:
    hub.repository("skills").commit({"SKILL.md": TEXT.format("skills")})
    assert project.run("install", hub.url("skills")).code == 0
    archive = project.folder / "other.zip"
    archive.write_bytes(plain_zip({"SKILL.md": TEXT.format("skills").encode() + b"rm -rf ~\n"}))
    (pointer,) = (project.cache.folder / "trees").glob("*/*")
    project.cache.put(archive, "0" * 64)
    pointer.write_text(hashlib.sha256(archive.read_bytes()).hexdigest())
    project.forget()
    assert project.run("install", "--locked", "--offline").code == 1
    assert not pointer.exists()
    assert project.outcomes("--locked") == {"skills": "installed"}
    assert "rm -rf" not in (project.folder / "skills" / "skills" / "SKILL.md").read_text()


def test_the_cache_is_private_and_shown(project: Project) -> None:
    assert project.run("install", "acme/tea").code == 0
    for path in (project.cache.folder, *project.cache.folder.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0 or path.is_dir(), path
    assert stat.S_IMODE(project.cache.folder.stat().st_mode) == 0o700
    shown = project.run("cache", "--json").json
    assert (shown["folder"], shown["packages"]) == (str(project.cache.folder), 1)
    checks = {check["name"]: check for check in project.run("doctor", "--json").json["checks"]}
    assert str(project.cache.folder) in checks["package cache"]["message"]
    assert project.run("cache", "--clear", "--json").json["packages"] == 1
    assert project.cache.usage() == (0, 0)
    project.run("cache", SKILL_REGISTRY_CACHE_BYTES="0").complains(1, "there is no cache")


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path) -> None:
    cache = PackageCache(tmp_path / "cache", 10_000)
    digests = []
    for number in range(4):
        (tmp_path / "package").write_bytes(bytes([number]) * 3_000)
        digests.append(hashlib.sha256((tmp_path / "package").read_bytes()).hexdigest())
        cache.put(tmp_path / "package", f"{number:064x}")
        os.utime(cache.folder / "packages" / digests[-1][:2] / digests[-1], (number, number))
        if number == 2:
            assert cache.take(digests[0], tmp_path / "taken")
    assert [cache.has(digest) for digest in digests] == [True, False, True, True]
    assert cache.usage().bytes <= 10_000


_WRITER = """
import sys
from pathlib import Path
from registry.install.package_cache import PackageCache
cache = PackageCache(Path(sys.argv[1]), 200_000)
archive = Path(sys.argv[2])
for number in range(100_000):
    archive.write_bytes(f"{number % 50}".encode() * 5_000)
    cache.put(archive, f"{number % 50:064x}")
"""


def test_processes_share_a_cache_and_may_be_killed(tmp_path: Path) -> None:
    places = [str(tmp_path / "cache"), str(tmp_path / "archive")]
    kept = PackageCache(tmp_path / "cache", 200_000)
    for _ in range(5):
        writers = [
            subprocess.Popen([sys.executable, "-c", _WRITER, places[0], f"{places[1]}{number}"]) for number in range(2)
        ]
        wait_until(lambda: any((kept.folder / "packages").glob("*/*")))  # imports take long on a busy machine
        threading.Event().wait(0.3)
        for writer in writers:
            writer.kill()
            writer.wait()
    whole = [path for path in (kept.folder / "packages").glob("*/*") if not path.name.startswith(".")]
    assert whole
    for path in whole:
        assert hashlib.sha256(path.read_bytes()).hexdigest() == path.name
