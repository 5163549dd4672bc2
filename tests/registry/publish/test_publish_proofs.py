"""The proof of a published version: one response that can be verified by itself, whatever is appended meanwhile."""

from collections.abc import Iterator, Mapping

import msgspec
import pytest

from registry.domain.release_proofs import LoggedRelease, ReleaseProof
from registry.transparency.checkpoint import Verifier
from registry.transparency.release_proof import check_release
from support.publishing import Registry, skill_package


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory, database_setting: Mapping[str, str]) -> Iterator[Registry]:
    with Registry(tmp_path_factory.mktemp("registry"), env=database_setting) as running:
        yield running


def proof_of(registry: Registry, skill_id: str, version: str) -> tuple[ReleaseProof, int]:
    answer = registry.get(f"/api/v1/log/proof/{skill_id}/{version}")
    assert answer.status_code == 200, answer.text
    data = answer.json()["data"]
    return msgspec.convert(data, ReleaseProof), data["size"]


def test_every_published_version_has_a_proof(registry: Registry) -> None:
    verifier = Verifier(registry.get("/api/v1/log/key").json()["data"]["key"])
    checksums = {}
    for version in ("1.0.0", "1.10.0"):
        job = registry.finished(registry.publish(skill_package("proved", version)))
        checksums[version] = job["checksum"]
    path = "/api/v1/registry/skills/acme/proved/1.0.0/yank"
    assert registry.http.post(path, headers=registry.caller()).status_code == 200
    for version, checksum in checksums.items():
        proof, size = proof_of(registry, "acme/proved", version)
        digest = msgspec.json.decode(proof.entry)["digest"]
        state = check_release(proof, verifier, LoggedRelease("acme/proved", version, checksum, digest))
        assert state.size == size > proof.number


@pytest.mark.parametrize("what", ["acme/unproved/1.0.0", "acme/proved/9.9.9", "acme/%2e%2e/1.0.0", "a/b/c%40d"])
def test_what_was_not_published_has_none(registry: Registry, what: str) -> None:
    answer = registry.get(f"/api/v1/log/proof/{what}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "SKILL_NOT_FOUND")


def test_a_proof_needs_a_credential(registry: Registry) -> None:
    assert registry.http.get("/api/v1/log/proof/acme/proved/1.0.0").status_code == 401
