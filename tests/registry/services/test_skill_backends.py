"""What every skill backend guarantees: folders, records and published packages alike."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from registry.blobs import BlobStore, FolderStore, put_checked
from registry.catalog.conditions import Conditions
from registry.catalog.local_skills import LocalSkills
from registry.catalog.record_skills import RecordSkills
from registry.catalog.skill_backend import SkillBackend
from registry.config.groups import LimitsSettings
from registry.db import Database
from registry.domain.models import NewSkill, now
from registry.errors import RegistryError
from registry.inspection.inspector import Inspector
from registry.publish.published import PublishedVersions
from registry.publish.published_version import PublishedRecord, PublishedVersion
from registry.publish.skills import PublishedSkills
from registry.publish.stored_packages import StoredPackages
from registry.services.skill_backends import SkillBackends
from registry.transparency.log import TransparencyLog
from support.catalogs import SkillCatalog, created
from support.publishing import skill_package

BODY = "# Brew\n\nBoil the water.\n"


class Stored(NamedTuple):
    """A backend with one skill in it."""

    backend: SkillBackend
    skill_id: str
    catalog: SkillCatalog
    chooser: SkillBackends


def new(skill_id: str) -> NewSkill:
    return NewSkill(id=skill_id, name=skill_id, description="Brews tea with great care.", version="1.0.0", content=BODY)


@pytest.fixture(params=["folder", "record", "published"])
def stored(
    request: pytest.FixtureRequest, catalog: SkillCatalog, database: Database, tmp_path: Path
) -> Iterator[Stored]:
    root = tmp_path / "skills"
    root.mkdir()
    inspector = Inspector(LimitsSettings())
    local, records = LocalSkills(root, catalog.catalog, inspector), RecordSkills(root, catalog.catalog, inspector)
    versions = PublishedVersions(database, catalog.catalog, TransparencyLog(database, now))
    (tmp_path / "blobs").mkdir()
    packages = StoredPackages(FolderStore(tmp_path / "blobs"), tmp_path / "copies")
    chooser = SkillBackends(catalog.catalog, local, records, versions, packages, makes_folders=True)

    def folder() -> tuple[SkillBackend, str]:
        return local, created(local, new("tea")).id

    def record() -> tuple[SkillBackend, str]:
        return records, created(records, new("tea")).id

    def published() -> tuple[SkillBackend, str]:
        publish(versions, database, inspector, tmp_path, packages.store)
        return PublishedSkills(catalog.catalog, versions, packages), "acme/tea"

    makers: Mapping[str, Callable[[], tuple[SkillBackend, str]]] = {
        "folder": folder,
        "record": record,
        "published": published,
    }
    backend, skill_id = makers[request.param]()
    yield Stored(backend, skill_id, catalog, chooser)
    inspector.close()


def publish(
    versions: PublishedVersions, database: Database, inspector: Inspector, folder: Path, store: BlobStore
) -> None:
    package = skill_package("tea", body=BODY)
    (folder / "package.zip").write_bytes(package)
    inspected = inspector.read_package(folder / "package.zip", folder / "package")
    version = PublishedVersion(
        skill_id="acme/tea",
        version="1.0.0",
        checksum=f"sha256:{hashlib.sha256(package).hexdigest()}",
        size=len(package),
        published_at="2026-01-01T00:00:00.000Z",
        record=PublishedRecord.of(inspected),
        skill_file=(folder / "package/SKILL.md").read_text(encoding="utf-8"),
    )
    put_checked(store, version.key, folder / "package.zip")
    with database.write() as transaction:
        versions.add(transaction, version)


def code(error: pytest.ExceptionInfo[RegistryError]) -> str:
    return error.value.code


def test_the_chooser_knows_the_backend_of_a_skill(stored: Stored) -> None:
    assert type(stored.chooser.of(stored.skill_id)) is type(stored.backend)
    with pytest.raises(RegistryError) as error:
        stored.chooser.of("nobody")
    assert code(error) == "SKILL_NOT_FOUND"


def test_the_text_of_a_skill_is_what_its_author_wrote(stored: Stored) -> None:
    assert "Boil the water." in stored.backend.text(stored.skill_id)


def test_the_files_of_a_skill_are_what_their_author_wrote(stored: Stored) -> None:
    for entry in stored.backend.files(stored.skill_id):
        file = stored.backend.file(stored.skill_id, entry.path)
        with file.content:
            content = file.content.read()
        assert (file.name, file.size) == (entry.path, len(content))
        assert content.decode() == stored.backend.text(stored.skill_id)
        assert (file.etag.startswith('"'), file.modified_at > 0) == (True, True)


def test_an_update_is_in_the_catalog_when_it_returns(stored: Stored) -> None:
    skill = stored.backend.update(stored.skill_id, {"enabled": False})
    assert skill.enabled is False
    assert stored.catalog.catalog.get(stored.skill_id) == skill


def test_a_stale_etag_changes_nothing(stored: Stored) -> None:
    before = stored.catalog.catalog.get(stored.skill_id)
    with pytest.raises(RegistryError) as error:
        stored.backend.update(stored.skill_id, {"enabled": False}, Conditions({'"stale"'}))
    assert code(error) == "PRECONDITION_FAILED"
    with pytest.raises(RegistryError) as error:
        stored.backend.delete(stored.skill_id, Conditions({'"stale"'}))
    assert code(error) == "PRECONDITION_FAILED"
    assert stored.catalog.catalog.get(stored.skill_id) == before


def test_a_deleted_skill_is_gone_from_the_catalog(stored: Stored) -> None:
    etag = stored.catalog.catalog.get(stored.skill_id).etag
    stored.backend.delete(stored.skill_id, Conditions({etag}))
    with pytest.raises(RegistryError) as error:
        stored.catalog.catalog.get(stored.skill_id)
    assert code(error) == "SKILL_NOT_FOUND"


def test_a_version_is_set_whole_or_refused(stored: Stored) -> None:
    catalog, database = stored.catalog.catalog, stored.catalog.database
    refused: list[str] = []
    try:
        with ExitStack() as undo, database.write() as transaction:
            found = catalog.get_for_update(transaction, stored.skill_id)
            stored.backend.set_version(transaction, undo, found, "1.1.0")
    except RegistryError as error:
        refused.append(error.code)
    assert (refused, catalog.get(stored.skill_id).version) in [([], "1.1.0"), (["CONFLICT"], "1.0.0")]


def test_a_version_that_is_not_committed_leaves_no_trace(stored: Stored) -> None:
    catalog, database = stored.catalog.catalog, stored.catalog.database
    text = stored.backend.text(stored.skill_id)
    with pytest.raises((KeyboardInterrupt, RegistryError)), ExitStack() as undo, database.write() as transaction:
        found = catalog.get_for_update(transaction, stored.skill_id)
        stored.backend.set_version(transaction, undo, found, "1.1.0")
        raise KeyboardInterrupt
    assert catalog.get(stored.skill_id).version == "1.0.0"
    assert stored.backend.text(stored.skill_id) == text


@pytest.mark.parametrize("path", ["../outside", "/etc/passwd", "no/such/file.txt"])
def test_no_path_leads_out_of_a_skill(stored: Stored, path: str) -> None:
    with pytest.raises(RegistryError) as error:
        stored.backend.file(stored.skill_id, path)
    assert code(error) in {"VALIDATION_ERROR", "NOT_FOUND"}


def test_nothing_is_known_of_a_skill_that_is_not_there(stored: Stored) -> None:
    for call in (stored.backend.files, stored.backend.text):
        with pytest.raises(RegistryError) as error:
            call("nobody")
        assert code(error) == "SKILL_NOT_FOUND"
    with pytest.raises(RegistryError) as error:
        stored.backend.update("nobody", {"enabled": False})
    assert code(error) == "SKILL_NOT_FOUND"
    with pytest.raises(RegistryError) as error:
        stored.backend.delete("nobody")
    assert code(error) == "SKILL_NOT_FOUND"
