"""A log that contradicts a checkpoint which others have seen signs nothing until it has a new identity."""

import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from registry.transparency.checkpoint import Verifier
from support.commands import Done
from support.publishing import Registry, index_file, skill_package

CHECKPOINT = "skill-registry.checkpoint"


class Forked(NamedTuple):
    """A stopped registry whose database was replaced by an older copy."""

    folder: Path
    registry: Registry
    seen_size: int


@pytest.fixture
def forked(tmp_path: Path) -> Forked:
    folder = tmp_path / "registry"
    registry, data = Registry(folder), folder / "data"
    with registry:
        publish(registry, "first")
    shutil.copytree(data, tmp_path / "backup")
    with registry:
        publish(registry, "second")
        seen_size = int(registry.get("/api/v1/log/checkpoint").text.split("\n")[1])
    for name in ("skill-registry.db", "skill-registry.db-wal", "skill-registry.db-shm"):
        (data / name).unlink(missing_ok=True)
    shutil.copy(tmp_path / "backup/skill-registry.db", data)
    return Forked(tmp_path, registry, seen_size)


def publish(registry: Registry, name: str) -> dict[str, Any]:
    return registry.finished(registry.publish(skill_package(name)), synced=True)


def refused(answer: Any, size: int) -> str:
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (503, "SERVICE_UNAVAILABLE")
    assert f"has size {size} and root" in error["message"]
    assert f"this database has size {size - 1} and root" in error["message"]
    return str(error["message"])


def assert_nothing_is_signed(registry: Registry, size: int) -> None:
    admin = registry.caller("root", "admin")
    before = index_file(registry.remote, CHECKPOINT)
    message = refused(registry.publish(skill_package("third")), size)
    assert "skill-registry admin log new-identity" in message
    for state in ("yank", "revoke"):
        refused(registry.http.post(f"/api/v1/registry/skills/acme/first/1.0.0/{state}", headers=admin), size)
    refused(registry.get("/api/v1/log/checkpoint"), size)
    refused(registry.get("/api/v1/log/proof/acme/first/1.0.0"), size)
    assert registry.get("/packages/acme/first/1.0.0.zip").status_code == 200
    assert index_file(registry.remote, CHECKPOINT) == before
    status = registry.get("/api/status").json()["data"]
    assert status["status"] == "degraded"
    assert f"has size {size} and root" in status["problems"]["log"]


def test_an_older_database_signs_nothing(forked: Forked) -> None:
    with forked.registry as registry:
        assert_nothing_is_signed(registry, forked.seen_size)
    with forked.registry as registry:  # it is no better after a restart
        assert_nothing_is_signed(registry, forked.seen_size)
    done = fsck(forked)
    assert f"has size {forked.seen_size} and root" in done.out
    assert "skill-registry admin log new-identity" in done.out


def fsck(forked: Forked) -> Done:
    return Done(forked.folder, "fsck", *flags(forked), *stores(forked))


def flags(forked: Forked) -> tuple[str, ...]:
    return ("--data-dir", str(forked.registry.data_dir))


def stores(forked: Forked) -> tuple[str, ...]:
    registry = forked.registry
    index = ("--registry-index-url", str(registry.remote))
    return ("--skills-dir", str(registry.skills_dir), "--blobs-dir", str(registry.blobs), *index)


def test_clients_of_a_forked_log_print_the_reason(forked: Forked, tmp_path: Path) -> None:
    with forked.registry as registry:
        environment = {"SKILL_REGISTRY_SERVER": registry.url}
        assert Done(tmp_path, "login", "--username", "acme/ann", **environment).code == 0
        package = tmp_path / "third.zip"
        package.write_bytes(skill_package("third"))
        done = Done(tmp_path, "publish", str(package), **environment)
        assert done.code == 1
        assert f"has size {forked.seen_size} and root" in done.error
        (tmp_path / "skill-project.toml").write_text("[dependencies]\n")
        done = Done(tmp_path, "install", "acme/first", "--json", **environment)
        assert done.code == 1
        assert f"has size {forked.seen_size} and root" in done.json["results"][0]["reason"]


def test_a_checkpoint_that_only_the_remote_has_is_found_too(forked: Forked, tmp_path: Path) -> None:
    clone = forked.registry.data_dir / "registry-index"
    shutil.rmtree(clone)
    shutil.copytree(tmp_path / "backup/registry-index", clone, symlinks=True)
    before = index_file(forked.registry.remote, CHECKPOINT)
    with forked.registry as registry:
        registry.wait_for(lambda: "log" in registry.get("/api/status").json()["data"]["problems"])
        refused(registry.get("/api/v1/log/checkpoint"), forked.seen_size)
        assert index_file(registry.remote, CHECKPOINT) == before


def test_an_administrator_starts_a_new_identity(forked: Forked) -> None:
    with forked.registry as registry:
        old_key = registry.get("/api/v1/log/key").json()["data"]["key"]
        running = Done(forked.folder, "log", "new-identity", *flags(forked))
        assert (running.code, "stop it" in running.error) == (1, True)
    done = Done(forked.folder, "log", "new-identity", "--json", *flags(forked))
    key = json.loads(done.out)["key"]
    assert key != old_key
    assert len(list(forked.registry.data_dir.glob("log.key*"))) == 2
    with forked.registry as registry:
        assert registry.get("/api/status").json()["data"]["problems"] == {}
        assert registry.get("/api/v1/log/key").json()["data"]["key"] == key
        publish(registry, "third")
        signed = Verifier(key).read("\n".join(index_file(registry.remote, CHECKPOINT)) + "\n")
        assert signed.size == forked.seen_size + 1
        entries = [json.loads(entry) for entry in registry.get("/api/v1/log/entries").json()["data"]["entries"]]
        (entry,) = [entry for entry in entries if entry.get("contradicts")]
        assert (entry["kind"], entry["key"]) == ("key", key)
        assert entry["contradicts"].startswith(f"{forked.seen_size} ")
        (audited,) = [entry for entry in audit(registry) if entry["action"] == "admin log new-identity"]
        assert (audited["actor"], audited["target"]) == ("(operator)", key)


def audit(registry: Registry) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = registry.get("/api/v1/audit", registry.caller("root", "admin")).json()["data"]
    return found


def test_jobs_that_wait_are_published_under_the_new_identity(forked: Forked, tmp_path: Path) -> None:
    registry = forked.registry
    blobs = registry.blobs.rename(tmp_path / "away")
    clone = registry.data_dir / "registry-index"
    registry.remote.rename(tmp_path / "remote away")
    shutil.rmtree(clone)
    shutil.copytree(tmp_path / "backup/registry-index", clone, symlinks=True)
    registry.blobs.write_text("no folder")
    with registry:
        answer = registry.publish(skill_package("patient"))
        registry.wait_for(lambda: "try 1" in registry.log.read_text())
    registry.blobs.unlink()
    blobs.rename(registry.blobs)
    (tmp_path / "remote away").rename(registry.remote)
    with registry:
        registry.wait_for(lambda: "log" in registry.get("/api/status").json()["data"]["problems"])
    assert Done(forked.folder, "log", "new-identity", *flags(forked)).code == 0
    with registry:
        assert registry.finished(answer, synced=True)["status"] == "accepted"
