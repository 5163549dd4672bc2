"""What one party publishes, others find, install, lock, verify and upgrade; and refuse where its log was changed."""

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from support.parties import ClosedRegistry, Developer, Service, found_by, tree
from support.postgres_server import PostgresServer
from support.s3 import SeaweedFS
from support.waiting import wait_until

FILES = {"scripts/run.sh": b"#!/bin/sh\necho hello\n", "data/bytes.bin": bytes(range(256))}


@pytest.fixture(scope="module")
def registry(
    tmp_path_factory: pytest.TempPathFactory, bucket: SeaweedFS, database_setting: Mapping[str, str]
) -> Iterator[ClosedRegistry]:
    with ClosedRegistry(tmp_path_factory.mktemp("registry"), bucket, database_setting) as running:
        yield running


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, registry: ClosedRegistry) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("service"), registry) as running:
        added = running.follow(registry, registry.new_key())
        assert (added["type"], added["error"]) == ("registry", None)
        yield running


@pytest.fixture
def developer(tmp_path: Path, registry: ClosedRegistry) -> Developer:
    return Developer(tmp_path / "developer", registry, registry.new_key())


def test_a_published_skill_is_found_and_installed_everywhere(
    registry: ClosedRegistry, service: Service, developer: Developer
) -> None:
    with found_by(service, "hello", f"corp/{registry.scope}.hello"):
        registry.release("hello", "1.0.0", "# First\n", files=FILES)
    found = developer.run("search", "hello", "--json")
    assert f"{registry.scope}/hello" in [hit["skill"]["id"] for hit in found.json["skills"]], found.error

    status, skill = service.install(f"{registry.scope}/hello")
    assert (status, skill["id"], skill["source"]) == (201, "hello", "corp"), skill
    done = developer.run("install", f"{registry.scope}/hello")
    assert done.code == 0, done.error + done.out
    installed = tree(developer.folder / "skills" / "hello")
    assert installed == tree(service.skills_dir / "hello")
    assert {path: installed[path] for path in FILES} == FILES
    assert developer.dependencies()["hello"]["origin"] == {
        "type": "registry",
        "url": registry.address,
        "skill": f"{registry.scope}/hello",
    }


def test_a_range_means_the_highest_active_version(registry: ClosedRegistry, developer: Developer) -> None:
    for version in ("1.2.0", "1.4.0", "1.9.0", "1.10.0", "2.0.0"):
        registry.release("ranged", version)
    registry.change("yank", "ranged", "1.10.0")
    registry.change("revoke", "ranged", "1.4.0")
    for asked, version in {"": "2.0.0", "@^1.2": "1.9.0", "@~1.2": "1.2.0", "@1.10.0": "1.10.0"}.items():
        done = developer.run("install", f"{registry.scope}/ranged{asked}", "--json")
        assert done.code == 0, done.out + done.error
        assert done.json["results"][0]["resolved_version"] == version
        assert developer.lock()["version"] == version
        assert developer.run("uninstall", f"{registry.scope}/ranged").code == 0
    for asked, reason in {"1.4.0": "revoked", "^3": "not found", "1.4.1": "not found"}.items():
        done = developer.run("install", f"{registry.scope}/ranged@{asked}", "--json")
        assert done.code == 1
        assert reason in done.json["results"][0]["reason"]
        assert not (developer.folder / "skills" / "ranged").exists()


def test_the_lock_proves_the_release_offline_and_gives_the_same_bytes_elsewhere(
    registry: ClosedRegistry, developer: Developer, tmp_path: Path
) -> None:
    job = registry.release("locked", "1.0.0", "# Locked\n", files=FILES)
    assert developer.run("install", f"{registry.scope}/locked@^1").code == 0
    locked = developer.lock()
    assert (locked["version"], f"sha256:{locked['package']}") == ("1.0.0", job["checksum"])
    assert locked["log"]["checkpoint"].startswith("skill-registry\n")
    assert developer.dependencies()["locked"]["version"] == "^1"

    offline = {"SKILL_REGISTRY_SERVER": "http://127.0.0.1:9"}
    for options in ((), ("--key", locked["log"]["key"])):
        verified = developer.run("verify", "--log", *options, "--json", **offline)
        log = {"proven": 1, "publishers": {}, "faults": []}
        assert (verified.code, verified.json["log"]) == (0, log), verified.error

    other = Developer(tmp_path / "other", registry, registry.new_key())
    other.copy_lock(developer)
    done = other.run("install", "--locked")
    assert done.code == 0, done.out + done.error
    assert tree(other.folder / "skills" / "locked") == tree(developer.folder / "skills" / "locked")
    assert other.run("verify", "--log").code == 0

    again = other.run("lock", "--json")
    assert (again.code, other.lock()) == (0, locked)


@pytest.mark.parametrize("field", ["sha256", "package"])
def test_a_lock_of_other_bytes_fails_by_name(registry: ClosedRegistry, tmp_path: Path, field: str) -> None:
    name = f"bytes-{field}"
    registry.release(name)
    developer = Developer(tmp_path / "developer", registry, registry.new_key())
    assert developer.run("install", f"{registry.scope}/{name}").code == 0
    path = developer.folder / "skills.lock"
    path.write_text(path.read_text().replace(f'{field} = "{developer.lock()[field]}"', f'{field} = "{"0" * 64}"'))
    assert developer.run("verify", "--log").code == 1
    shutil.rmtree(developer.folder / "skills" / name)
    done = developer.run("install", "--locked", "--json")
    assert done.code == 1
    (row,) = done.json["results"]
    assert (row["id"], row["outcome"]) == (name, "error")
    assert "locked" in row["reason"]
    assert not (developer.folder / "skills" / name).exists()


def test_upgrades_stay_in_range_and_leave_yanked_versions(
    registry: ClosedRegistry, service: Service, developer: Developer
) -> None:
    with found_by(service, "growing", f"corp/{registry.scope}.growing"):
        registry.release("growing", "1.0.0")
    assert service.install(f"{registry.scope}/growing@^1")[0] == 201
    assert developer.run("install", f"{registry.scope}/growing").code == 0
    for version in ("1.1.0", "2.0.0", "2.1.0"):
        registry.release("growing", version)
    registry.change("yank", "growing", "2.1.0")

    def upgrade_service() -> tuple[str, str]:
        answer = service.api("POST", "/skills/upgrade", json={"skill_id": "growing"})
        (row,) = answer.json()["data"]["results"]
        return row["outcome"], row["resolved_version"]

    assert upgrade_service() == ("updated", "1.1.0")
    assert upgrade_service() == ("up_to_date", "1.1.0")
    done = developer.run("upgrade", f"{registry.scope}/growing", "--json")
    assert [(row["outcome"], row["resolved_version"]) for row in done.json["results"]] == [("updated", "2.0.0")]
    assert developer.lock()["version"] == "2.0.0"
    assert developer.run("verify", "--log").code == 0


def test_a_closed_registry_refuses_those_without_a_key(registry: ClosedRegistry, tmp_path: Path) -> None:
    registry.release("closed")
    outsider = Developer(tmp_path / "outsider", registry, None)
    done = outsider.run("install", f"{registry.scope}/closed", "--json")
    assert done.code == 1
    assert "login" in done.json["results"][0]["reason"]
    with Service(tmp_path / "service", registry) as service:
        added = service.follow(registry, None)
        assert "credential" in added["error"]
        assert added["skills"] == 0


def test_a_log_that_was_rolled_back_or_forked_is_refused(
    bucket: SeaweedFS, postgres: PostgresServer, tmp_path: Path, database_setting: Mapping[str, str]
) -> None:
    database = {name: postgres.new_database() for name in database_setting}
    with ClosedRegistry(tmp_path / "registry", bucket, database) as registry:
        key = registry.new_key()
        registry.release("before")
        registry.stop()
        restore = registry.back_up(tmp_path / "backup", postgres)
        registry.start()
        developer = Developer(tmp_path / "developer", registry, key)
        with Service(tmp_path / "service", registry) as service:
            service.follow(registry, key)
            with found_by(service, "after", f"corp/{registry.scope}.after"):
                registry.release("after")
            assert developer.run("install", f"{registry.scope}/after").code == 0
            registry.stop()
            restore()
            registry.start()
            refused_everywhere(registry, service, developer, tmp_path, "rolled back")
            registry.release("other")
            registry.release("another")
            refused_everywhere(registry, service, developer, tmp_path, "forked")


def refused_everywhere(
    registry: ClosedRegistry, service: Service, developer: Developer, folder: Path, reason: str
) -> None:
    """Assert that nobody installs from the registry, and that everybody is shown both checkpoints."""
    done = developer.run("install", f"{registry.scope}/before", "--json")
    assert done.code == 1
    assert_shows_both(done.json["results"][0]["reason"], reason)
    status, error = service.install(f"{registry.scope}/before")
    assert status == 409
    assert_shows_both(error["message"], reason)
    service.api("POST", "/registry/refresh")
    wait_until(lambda: reason in (service.source()["error"] or ""), why=service.log.read_text)
    assert_shows_both(service.source()["error"], reason)
    assert service.source()["skills"] == 2

    fresh = Developer(folder / f"fresh-{reason.split(maxsplit=1)[0]}", registry, registry.new_key())
    fresh.copy_lock(developer)
    done = fresh.run("install", "--locked", "--json")
    assert done.code == 1
    assert not (fresh.folder / "skills" / "after").exists()


def assert_shows_both(message: str, reason: str) -> None:
    assert reason in message
    assert message.count("entries with root") == 2, message


def test_the_credential_is_in_no_file_that_others_read(registry: ClosedRegistry, service: Service) -> None:
    registry.release("secret")
    key = registry.new_key()
    folder = service.data_dir.parent / "secretive"
    developer = Developer(folder, registry, key)
    done = developer.run("install", f"{registry.scope}/secret")
    assert done.code == 0
    assert key not in done.out + done.error
    kept = [path for path in folder.rglob("*") if path.is_file() and key.encode() in path.read_bytes()]
    assert kept == []


def test_a_login_opens_a_source_of_the_same_registry(registry: ClosedRegistry, tmp_path: Path) -> None:
    registry.release("by-login")
    developer = Developer(tmp_path / "developer", registry, None)
    done = developer.run("login", "--api-key", stdin=registry.new_key())
    assert done.code == 0, done.error
    done = developer.run("sources", "add", "corp", registry.address, "--json")
    (added,) = done.json["sources"]
    assert (added["type"], added["error"]) == ("registry", None)
    done = developer.run("install", f"corp/{registry.scope}.by-login")
    assert done.code == 0, done.out + done.error
    assert developer.lock()["origin"]["skill"] == f"{registry.scope}/by-login"
