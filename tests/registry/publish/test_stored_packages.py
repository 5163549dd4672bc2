"""Reading packages from the store where it holds what it should not."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from registry.blobs import FolderStore
from registry.domain.findings import SkillFindings
from registry.errors import RegistryError
from registry.packages.update_diff import Footprint
from registry.publish.published_version import PublishedRecord, PublishedVersion, VersionState
from registry.publish.stored_packages import StoredPackages
from support.zips import plain_zip

SKILL = b"---\nname: tea\ndescription: Brews tea with great care.\n---\n"


def packages_with(folder: Path, data: bytes, state: VersionState = "active") -> tuple[StoredPackages, PublishedVersion]:
    """Return a store in which a version has these bytes, which have the right digest."""
    (folder / "blobs").mkdir()
    packages = StoredPackages(FolderStore(folder / "blobs"), folder / "copies")
    record = PublishedRecord(
        title="tea",
        description="",
        author="",
        license=None,
        tags=[],
        capabilities=[],
        tree="sha256:0",
        findings=SkillFindings(engine=1, risk="none", findings=[]),
        files=[("SKILL.md", 1), ("notes.txt", 1)],
        footprint=Footprint(scripts=[], urls={}),
    )
    version = PublishedVersion(
        skill_id="acme/tea",
        version="1.0.0",
        state=state,
        checksum=f"sha256:{hashlib.sha256(data).hexdigest()}",
        size=len(data),
        published_at="2026-01-01T00:00:00.000Z",
        record=record,
        skill_file="",
    )
    (folder / "package.zip").write_bytes(data)
    packages.store.put_new(version.key, folder / "package.zip")
    return packages, version


@pytest.mark.parametrize("data", [b"no zip", plain_zip({"SKILL.md": SKILL}), plain_zip({"README.md": b"hi"})])
def test_a_package_that_this_release_cannot_read_is_an_error_of_the_service(tmp_path: Path, data: bytes) -> None:
    packages, version = packages_with(tmp_path, data)
    with pytest.raises(RegistryError) as refused:
        packages.open_file(version, "notes.txt")
    assert refused.value.code == "SERVICE_UNAVAILABLE"
    with packages.open(version) as package:
        assert package.read() == data


def test_a_revoked_package_is_not_read(tmp_path: Path) -> None:
    packages, version = packages_with(tmp_path, plain_zip({"SKILL.md": SKILL}), state="revoked")
    reads: list[Callable[[], object]] = [
        lambda: packages.open(version),
        lambda: packages.open_file(version, "SKILL.md"),
    ]
    for read in reads:
        with pytest.raises(RegistryError) as refused:
            read()
        assert refused.value.code == "CONFLICT"
