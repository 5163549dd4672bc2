"""Witnesses cosign the checkpoints of the log, and stop a log that contradicts what they have cosigned."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from registry.transparency.checkpoint import CheckpointInvalid, CosignatureKey, Signer, Verifier
from support.commands import Done
from support.publishing import Registry, index_file, skill_package
from support.web_server import WebServer, reply
from support.witness import Witness

CHECKPOINT = "/api/v1/log/checkpoint"


@pytest.fixture
def witness(tmp_path: Path) -> Iterator[Witness]:
    with Witness() as running:
        running.log_key = Signer(tmp_path / "registry/data", "skill-registry").verifier_key
        yield running


def witnessed(folder: Path, witness: Witness, *arguments: str) -> Registry:
    allowed = ("--outbound-allowed-host", witness.host)
    return Registry(folder / "registry", "--transparency-witness", witness.setting, *allowed, *arguments)


def publish(registry: Registry, name: str) -> dict[str, Any]:
    return registry.finished(registry.publish(skill_package(name)), synced=True)


def is_cosigned(registry: Registry, witness: Witness) -> bool:
    note = registry.get(CHECKPOINT).text
    checkpoint = Verifier(witness.log_key).read(note)
    return CosignatureKey(witness.setting.split()[0]).find(note, checkpoint) is not None


def problems(registry: Registry) -> dict[str, str]:
    found: dict[str, str] = registry.get("/api/status").json()["data"]["problems"]
    return found


def test_each_checkpoint_is_cosigned_and_served_with_the_cosignature(tmp_path: Path, witness: Witness) -> None:
    registry = witnessed(tmp_path, witness)
    with registry:
        for name in ("one", "two", "three"):
            publish(registry, name)
            registry.wait_for(lambda: is_cosigned(registry, witness))
        proof = registry.get("/api/v1/log/proof/acme/two/1.0.0").json()["data"]
        assert f"\u2014 {witness.name} " in proof["checkpoint"]
        assert "other.example" not in proof["checkpoint"]
        assert problems(registry) == {}
        asked = len(witness.requests)
    with registry:
        publish(registry, "four")
        registry.wait_for(lambda: is_cosigned(registry, witness))
    assert witness.requests[asked:][0][0] == witness.requests[asked - 1][1]


def test_a_witness_that_knows_another_size_is_asked_again(tmp_path: Path, witness: Witness) -> None:
    with Registry(tmp_path / "registry") as registry:
        publish(registry, "one")
        seen = Verifier(witness.log_key).read(registry.get(CHECKPOINT).text)
        publish(registry, "two")
    witness.last = seen
    with witnessed(tmp_path, witness) as registry:
        registry.wait_for(lambda: is_cosigned(registry, witness))
    assert witness.requests[:2] == [(0, seen.size + 1), (seen.size, seen.size + 1)]


@pytest.mark.parametrize(
    "answer", [(200, "nonsense"), (200, ""), (404, "who?"), (403, ""), (500, ""), (409, "many"), (200, "x" * 100_000)]
)
def test_a_witness_that_fails_keeps_nothing_from_being_published(
    tmp_path: Path, witness: Witness, answer: tuple[int, str]
) -> None:
    witness.answer = answer
    with witnessed(tmp_path, witness) as registry:
        assert publish(registry, "one")["status"] == "accepted"
        registry.wait_for(lambda: "witnesses" in problems(registry))
        assert list(problems(registry)) == ["witnesses"]
        assert registry.get(CHECKPOINT).status_code == 200
        witness.answer = None
        registry.wait_for(lambda: is_cosigned(registry, witness) and problems(registry) == {})


def roll_back(registry: Registry, backup: Path) -> None:
    """Put an older database back, and an older index, so that only the witness remembers."""
    for name in ("skill-registry.db", "skill-registry.db-wal", "skill-registry.db-shm"):
        (registry.data_dir / name).unlink(missing_ok=True)
    shutil.copy(backup / "skill-registry.db", registry.data_dir)
    shutil.rmtree(registry.data_dir / "registry-index")
    subprocess.run(["git", "-C", str(registry.remote), "update-ref", "refs/heads/main", "main~1"], check=True)


def test_a_witness_stops_a_log_that_was_rolled_back(tmp_path: Path, witness: Witness) -> None:
    registry = witnessed(tmp_path, witness)
    with registry:
        publish(registry, "one")
    shutil.copytree(registry.data_dir, tmp_path / "backup")
    with registry:
        publish(registry, "two")
        registry.wait_for(lambda: is_cosigned(registry, witness))
    roll_back(registry, tmp_path / "backup")
    with registry:
        registry.wait_for(lambda: "log" in problems(registry))
        assert f"witness {witness.name} has size {witness.last.size}" in problems(registry)["log"]
        assert registry.publish(skill_package("three")).status_code == 503
        assert registry.get(CHECKPOINT).status_code == 503


def test_a_witness_that_saw_another_history_stops_the_log(tmp_path: Path, witness: Witness) -> None:
    with witnessed(tmp_path, witness) as registry:
        publish(registry, "one")
        registry.wait_for(lambda: is_cosigned(registry, witness))
        witness.last = witness.last._replace(root=b"\1" * 32)
        answer = registry.publish(skill_package("two"))
        registry.wait_for(lambda: "log" in problems(registry))
        assert f"witness {witness.name} has size {witness.last.size} and root another one" in problems(registry)["log"]
        assert answer.status_code == 202  # it came before


def test_a_copy_of_the_checkpoint_that_the_log_contradicts_stops_it(tmp_path: Path, witness: Witness) -> None:
    signer = Signer(tmp_path / "registry/data", "skill-registry")
    with WebServer({"/copy": reply(signer.sign(100, b"\1" * 32).encode())}) as mirror:
        flags = ("--transparency-checkpoint", f"{mirror.url}/copy", "--outbound-allowed-host", mirror.host)
        with Registry(tmp_path / "registry", *flags) as registry:
            registry.wait_for(lambda: "log" in problems(registry))
            assert f"the copy of the checkpoint at {mirror.host} has size 100" in problems(registry)["log"]
            pushed = index_file(registry.remote, "skill-registry.checkpoint")  # perhaps before the copy was read
            assert registry.publish(skill_package("late")).status_code == 503
            assert index_file(registry.remote, "skill-registry.checkpoint") == pushed


def test_a_key_of_a_witness_that_is_none_stops_the_start(tmp_path: Path, witness: Witness) -> None:
    log_key = Signer(tmp_path / "keys", "witness.example").verifier_key  # that of a log has another type
    with pytest.raises(CheckpointInvalid):
        CosignatureKey(log_key)
    flags = ("--data-dir", str(tmp_path / "data"), "--port", "0")
    for value in (f"{log_key} http://{witness.host}", "nonsense", f"{witness.setting.split()[0]} ftp://x"):
        done = Done(tmp_path, "serve", "--profile", "registry", *flags, "--transparency-witness", value)
        assert done.code in {1, 2}
        assert "witness" in done.error
