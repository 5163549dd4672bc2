"""A registry without its database is rebuilt from its index and its packages, and continues the same log."""

import base64
import json
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from registry.database.sqlite import file_digests
from registry.transparency.checkpoint import LogCheckpoint, Verifier
from registry.transparency.merkle import is_consistent
from support.commands import Done, exit_without_space, steps
from support.endurance import times
from support.git_server import _BLANK
from support.parties import Developer
from support.ports import free_port
from support.postgres_server import PostgresServer
from support.publishing import Registry, index_file, skill_package
from support.zips import plain_zip

BUNDLE = "skill-registry.entries/000000"
CHECKPOINT = "skill-registry.checkpoint"
DATABASE = "skill-registry.db"


class LostRegistry(Registry):
    """A registry on a fixed port with packages in a folder, and the commands on its stores."""

    def __init__(self, folder: Path, database: Mapping[str, str]) -> None:
        self.folder = folder
        self.address = f"http://127.0.0.1:{(port := free_port())}"
        super().__init__(folder, "--port", str(port), env=database)

    def release(self, name: str, version: str = "1.0.0") -> dict[str, Any]:
        job = self.finished(self.publish(skill_package(name, version, f"# {name} {version}\n")), synced=True)
        assert job["status"] == "accepted", job
        return job

    def change(self, action: str, name: str, version: str) -> None:
        path = f"/api/v1/registry/skills/acme/{name}/{version}/{action}"
        self.http.post(path, headers=self.caller("root", "admin")).raise_for_status()

    @property
    def stores(self) -> tuple[str, ...]:
        index = ("--registry-index-url", str(self.remote))
        return ("--data-dir", str(self.data_dir), "--blobs-dir", str(self.blobs), *index)

    def run(self, *args: str) -> Done:
        return Done(self.folder, *args, *self.stores, **self._env)

    def rebuild(self, *args: str) -> Done:
        return self.run("rebuild", "--from-index", "--json", *args)

    def checkpoint(self) -> LogCheckpoint:
        self.log_key = str(self.get("/api/v1/log/key").json()["data"]["key"])
        return Verifier(self.log_key).read(self.get("/api/v1/log/checkpoint").text)

    def wait_until_pushed(self) -> None:
        """Wait until the index has the whole log."""
        size = self.checkpoint().size
        self.wait_for(lambda: len(index_file(self.remote, BUNDLE)) == size)

    def lose_database(self) -> None:
        """Kill the service, and damage or replace its database beyond repair."""
        self.kill()
        if "SKILL_REGISTRY_DATABASE_URL" not in self._env:
            (self.data_dir / DATABASE).write_bytes(b"\xa5" * 4096)

    def use_database(self, url: str) -> None:
        self._env = {**self._env, "SKILL_REGISTRY_DATABASE_URL": url}

    def rewrite(self, path: str, content: bytes) -> None:
        """Push another content of a file to the index, as any writer of it can."""
        clone = self.folder / "attacker"
        shutil.rmtree(clone, ignore_errors=True)
        git("clone", "--quiet", str(self.remote), str(clone))
        (clone / path).write_bytes(content)
        who = ("-c", "user.name=x", "-c", "user.email=x@example.com")
        git("-C", str(clone), *who, "commit", "--quiet", "--all", "--message", "Change")
        git("-C", str(clone), "push", "--quiet", "origin", "HEAD:main")

    def shown(self) -> dict[str, Any]:
        """Return all that readers see of the published skills, in lists, files and states."""
        listed = self.get("/api/v1/skills").json()["data"]
        files = {one["id"]: self.get(f"/index/{one['id']}").text for one in listed}
        texts = {one["id"]: self.get(f"/api/v1/skills/{one['id']}/files/SKILL.md").text for one in listed}
        versions = {one["id"]: self.get(f"/api/v1/skills/{one['id']}/versions").json()["data"] for one in listed}
        return {"skills": listed, "files": files, "texts": texts, "versions": versions}


def without_times(shown: Any) -> Any:
    """Return the same without the times and uses of skills.

    Rows were written milliseconds after their log entries, and uses are counted later, and lost with the database.
    """
    if isinstance(shown, dict):
        kept = {name: value for name, value in shown.items() if name not in ("created_at", "updated_at", "uses_30d")}
        return {name: without_times(value) for name, value in kept.items()}
    return [without_times(value) for value in shown] if isinstance(shown, list) else shown


def git(*arguments: str) -> None:
    subprocess.run(["git", *arguments], check=True, env=_BLANK)


def fill(registry: LostRegistry) -> None:
    for name, version in (("tea", "1.0.0"), ("tea", "1.1.0"), ("ocr", "1.0.0"), ("bad", "1.0.0"), ("old", "2.0.0")):
        registry.release(name, version)
    registry.change("yank", "tea", "1.0.0")
    registry.change("yank", "old", "2.0.0")
    registry.change("unyank", "old", "2.0.0")
    registry.change("yank", "ocr", "1.0.0")
    registry.change("revoke", "bad", "1.0.0")
    note = {"reason": "it is not maintained", "replacement": "acme/tea"}
    deprecated = registry.api("POST", "/registry/skills/acme/old/deprecate", json=note, headers=registry.caller())
    assert deprecated.status_code == 200, deprecated.text
    registry.wait_until_pushed()


def test_a_lost_database_is_rebuilt_and_old_locks_stay_good(
    tmp_path: Path, database_setting: Mapping[str, str], request: pytest.FixtureRequest
) -> None:
    postgres: PostgresServer | None = request.getfixturevalue("postgres") if database_setting else None
    registry = LostRegistry(tmp_path / "registry", database_setting)
    developer = Developer(tmp_path / "developer", registry, None)
    with registry:
        fill(registry)
        login(developer)
        for name in ("tea@1.0.0", "old"):
            done = developer.run("install", f"acme/{name}")
            assert done.code == 0, done.out + done.error
        before, seen = registry.shown(), registry.checkpoint()
        registry.lose_database()
        if postgres:
            registry.use_database(postgres.new_database())
        report = registry.rebuild()
        assert report.code == 0, report.error
        assert report.json["versions"] == {"active": 2, "yanked": 2, "revoked": 1}
        assert (report.json["entries"], report.json["missing"], report.json["not_in_log"]) == (seen.size, {}, [])
        assert {"the API keys", "the audit log"} <= report.json["lost"].keys()
        assert "the transparency log" not in report.json["lost"]

        registry.start()
        assert registry.checkpoint() == seen
        assert without_times(registry.shown()) == without_times(before)
        assert registry.get("/packages/acme/bad/1.0.0.zip").status_code == 409
        other = Developer(tmp_path / "other", registry, None)
        other.copy_lock(developer)
        login(other)
        for args in (("install", "--locked"), ("verify", "--log")):
            done = other.run(*args)
            assert done.code == 0, done.out + done.error

        registry.release("new")
        after = registry.checkpoint()
        assert after.size == seen.size + 1
        answer = registry.get(f"/api/v1/log/consistency?before={seen.size}&size={after.size}").json()["data"]
        proof = [base64.b64decode(step) for step in answer["proof"]]
        assert is_consistent(seen.size, after.size, proof, seen.root, after.root)
        assert other.run("install", "acme/new").code == 0
        again = registry.publish(skill_package("bad", "1.0.0", "# Other\n"))
        assert again.status_code == 409
        registry.stop()
        done = registry.run("fsck", "--json", "--skills-dir", str(registry.skills_dir))
        assert done.json["drift"] == []
        registry.start()


def login(developer: Developer) -> None:
    done = developer.run("login", "--username", "acme/reader")
    assert done.code == 0, done.error


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> LostRegistry:
    registry = LostRegistry(tmp_path_factory.mktemp("filled") / "registry", {})
    with registry:
        fill(registry)
    return registry


@pytest.fixture
def lost(filled: LostRegistry, tmp_path: Path) -> LostRegistry:
    """A stopped copy of a registry without a database."""
    return without_database(filled, tmp_path / "registry")


def without_database(filled: LostRegistry, folder: Path) -> LostRegistry:
    shutil.copytree(filled.folder, folder, symlinks=True)
    registry = LostRegistry(folder, {})
    for left in registry.data_dir.glob(f"{DATABASE}*"):
        if left.is_file():
            left.unlink()
    return registry


def rows(registry: LostRegistry) -> dict[str, tuple[int, str]]:
    """Return the number of rows and the digest of every table; `facts` has random values."""
    digests = file_digests(registry.data_dir / DATABASE)
    return {table.table: (table.rows, table.digest) for table in digests if table.table != "facts"}


@pytest.mark.endurance
def test_a_rebuild_that_is_killed_at_any_step_ends_like_one_that_is_not(filled: LostRegistry, tmp_path: Path) -> None:
    whole, kills = without_database(filled, tmp_path / "whole"), times(12)
    taken = steps(whole.folder, "rebuild", "--from-index", *whole.stores)
    for number in range(kills):
        registry = without_database(filled, tmp_path / f"killed-{number}")
        steps(registry.folder, "rebuild", "--from-index", *registry.stores, kill_at=taken - number * taken // kills)
        done = registry.rebuild()
        assert done.code == 0 or "can be read" in done.error, done.error
        assert rows(registry) == rows(whole)


@pytest.mark.parametrize("kilobytes", [0, 1, 64, 128])
def test_a_rebuild_without_space_is_repeated(filled: LostRegistry, lost: LostRegistry, kilobytes: int) -> None:
    code, error = exit_without_space(kilobytes, lost.folder, "rebuild", "--from-index", *lost.stores)
    assert (code, error.count("\n"), error.startswith("skill-registry: ")) == (1, 1, True), error
    done = lost.rebuild()
    assert done.code == 0, done.error
    assert rows(lost)["published"] == rows(filled)["published"]


def refused(registry: LostRegistry, *words: str, args: tuple[str, ...] = ()) -> None:
    before = {path.name for path in registry.data_dir.iterdir()}
    done = registry.rebuild(*args)
    done.complains(1, *words)
    assert not (registry.data_dir / DATABASE).exists()
    assert {path.name for path in registry.data_dir.iterdir()} <= before | {"skill-registry.lock"}


def changed_line(**changes: Any) -> Callable[[list[str]], str]:
    return lambda lines: "".join(json.dumps(json.loads(line) | changes) + "\n" for line in lines)


HOSTILE: dict[str, tuple[str, Callable[[list[str]], str], str]] = {
    "a bundle is cut off": (BUNDLE, lambda lines: "\n".join(lines)[:-9], "its last line is cut off"),
    "a bundle lacks an entry": (BUNDLE, lambda lines: "\n".join(lines[:-1]) + "\n", "entries instead of"),
    "a bundle has one more": (BUNDLE, lambda lines: "\n".join([*lines, lines[-1]]) + "\n", "entries instead of"),
    "a bundle is no JSON": (BUNDLE, lambda lines: "{\n" * len(lines), "the checkpoint signs"),
    "a bundle is no text": (BUNDLE, lambda lines: "é\n" * len(lines), "it is not text"),
    "an entry is of another scope": (
        BUNDLE,
        lambda lines: "\n".join(lines).replace("acme/tea", "evil/tea") + "\n",
        "they were changed",
    ),
    "the bundle is gone": (BUNDLE, lambda lines: "", "was removed"),
    "the checkpoint is gone": (CHECKPOINT, lambda lines: "", "transparency.name"),
    "the checkpoint is another": (
        CHECKPOINT,
        lambda lines: "\n".join([lines[0], str(int(lines[1]) - 1), *lines[2:]]) + "\n",
        "not signed with this key",
    ),
    "a line is no JSON": ("acme/tea", lambda lines: "\n".join(["{", *lines]) + "\n", "line 1"),
    "a line is of another scope": ("acme/tea", changed_line(name="evil/tea"), "is 'evil/tea', not 'acme/tea'"),
    "a line has another digest": ("acme/tea", changed_line(cksum="sha256:" + "0" * 64), "contradicts the log"),
    "a line has a negative size": ("acme/tea", changed_line(size=-1), "size"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_an_index_that_was_changed_is_refused_and_nothing_is_written(lost: LostRegistry, name: str) -> None:
    path, change, words = HOSTILE[name]
    lost.rewrite(path, change(index_file(lost.remote, path)).encode())
    refused(lost, words)


def test_what_the_index_has_besides_the_log_is_named_and_not_taken_over(lost: LostRegistry) -> None:
    (line, *rest) = index_file(lost.remote, "acme/tea")
    foreign = json.dumps(json.loads(line) | {"vers": "9.0.0", "published_at": "never"})
    late = json.dumps(json.loads(line) | {"published_at": "2999-01-01T00:00:00.000Z"})
    lost.rewrite("acme/tea", "\n".join([late, *rest, foreign, ""]).encode())
    (lost.blobs / "skills/acme/stray-1.0.0.zip").write_bytes(b"of a publish that the index never heard of")
    done = lost.rebuild()
    assert done.json["not_in_log"] == ["skills/acme/stray-1.0.0.zip", "acme/tea 9.0.0 in the index"]
    with lost:
        assert lost.get("/packages/acme/tea/9.0.0.zip").status_code == 404
        assert "2999" not in lost.get("/index/acme/tea").text


def test_missing_packages_are_named_and_their_numbers_stay_taken(lost: LostRegistry) -> None:
    (lost.blobs / "skills/acme/tea-1.1.0.zip").unlink()
    (lost.blobs / "skills/acme/ocr-1.0.0.zip").write_bytes(plain_zip({"SKILL.md": b"other bytes"}))
    (lost.blobs / "skills/acme/bad-1.0.0.zip").unlink()  # revoked: nobody may have it
    refused(lost, "2 of 4 packages", "acme/tea 1.1.0: its package is not in the store", "acme/ocr 1.0.0", "missing")
    done = lost.rebuild("--allow-missing")
    assert done.json["missing"].keys() == {"acme/tea 1.1.0", "acme/ocr 1.0.0", "acme/bad 1.0.0"}
    with lost:
        assert lost.publish(skill_package("tea", "1.1.0", "# Other\n")).status_code == 409
        assert lost.get("/packages/acme/tea/1.1.0.zip").status_code == 503
        assert lost.get("/packages/acme/tea/1.0.0.zip").status_code == 200


def test_without_its_private_key_a_log_needs_the_public_one_and_continues_with_another(lost: LostRegistry) -> None:
    entry = json.loads(index_file(lost.remote, BUNDLE)[0])
    (lost.data_dir / "log.key").unlink()
    refused(lost, "--log-key")
    wrong = "skill-registry+ce1e6f26+ASQEtYcxkCbUh1lXP1E3nIuXQVJWf9oeJmmCQgQm+GMF"
    lost.rebuild("--log-key", wrong).complains(2, "--log-key")
    done = lost.rebuild("--log-key", entry["key"])
    assert done.code == 0, done.error
    with lost:
        size = lost.checkpoint().size
        assert size == done.json["entries"] + 1
        assert lost.log_key != entry["key"]


def test_a_database_that_can_be_read_is_replaced_only_on_request(filled: LostRegistry, tmp_path: Path) -> None:
    shutil.copytree(filled.folder, tmp_path / "registry", symlinks=True)
    registry = LostRegistry(tmp_path / "registry", {})
    before = (registry.data_dir / DATABASE).read_bytes()
    registry.rebuild().complains(1, "can be read", "--replace")
    assert (registry.data_dir / DATABASE).read_bytes() == before
    done = registry.rebuild("--replace")
    aside = Path(done.json["set_aside"])
    assert aside.read_bytes() == before
    with registry:
        registry.rebuild().complains(1, "stop it")


def test_fsck_names_the_command_and_a_damaged_bundle(filled: LostRegistry, tmp_path: Path) -> None:
    shutil.copytree(filled.folder, tmp_path / "registry", symlinks=True)
    registry = LostRegistry(tmp_path / "registry", {})
    lines = index_file(registry.remote, BUNDLE)
    registry.rewrite(BUNDLE, "\n".join(reversed(lines)).encode())
    done = registry.run("fsck", "--json", "--skills-dir", str(registry.skills_dir))
    (drift,) = done.json["drift"]
    assert (drift["area"], drift["thing"]) == ("index", BUNDLE)
    with registry:  # which does what the advice says
        registry.wait_for(lambda: index_file(registry.remote, BUNDLE)[: len(lines)] == lines)
    (registry.data_dir / DATABASE).write_bytes(b"\xa5" * 4096)
    done = registry.run("fsck", "--json", "--skills-dir", str(registry.skills_dir))
    assert "skill-registry admin rebuild --from-index" in done.json["drift"][0]["advice"]
    assert registry.rebuild().code == 0
