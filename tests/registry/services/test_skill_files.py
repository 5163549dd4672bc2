"""The files of a skill folder: what is served of it, and what is not."""

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from registry.config.settings import load_settings
from registry.errors import RegistryError
from registry.packages.limits import DEFAULT_LIMITS
from registry.services.container import Services
from support.servers import write_skill


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    flags = {"skills_dir": str(tmp_path / "skills"), "data_dir": str(tmp_path / "data"), "embedding.provider": "none"}
    opened = Services(load_settings(flags, {}))
    yield opened
    opened.close()


@pytest.fixture
def folder(services: Services, tmp_path: Path) -> Path:
    written = write_skill(tmp_path / "skills", "planes", "Planes boards with care.")
    (written / "scripts").mkdir()
    (written / "scripts/run.sh").write_bytes(b"#!/bin/sh\n")
    (written / "scripts/run.sh").chmod(0o755)
    services.scan()
    return written


def test_a_folder_is_its_files_and_a_zip_of_them(services: Services, folder: Path) -> None:
    package = services.skill_files.get("planes")
    assert {path: (file.data, file.executable) for path, file in package.files.items()} == {
        "SKILL.md": ((folder / "SKILL.md").read_bytes(), False),
        "scripts/run.sh": (b"#!/bin/sh\n", True),
    }
    with zipfile.ZipFile(io.BytesIO(package.archive)) as archive:
        assert [(info.filename, info.external_attr >> 16 & 0o777) for info in archive.infolist()] == [
            ("SKILL.md", 0o644),
            ("scripts/run.sh", 0o755),
        ]


def test_a_changed_file_is_served_at_once(services: Services, folder: Path) -> None:
    before = services.skill_files.get("planes")
    assert services.skill_files.get("planes") is before
    (folder / "scripts/run.sh").write_bytes(b"#!/bin/sh\necho changed\n")
    after = services.skill_files.get("planes")
    assert after.files["scripts/run.sh"].data == b"#!/bin/sh\necho changed\n"
    assert after.digest != before.digest


def test_links_and_odd_names_are_left_out_and_skills_within_are_material(
    services: Services, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("secret")
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "a\\b").write_text("x")
    (folder / "CON").write_text("x")
    write_skill(folder, "inner", "A skill within a skill.")
    assert set(services.skill_files.get("planes").files) == {
        "SKILL.md",
        "inner/SKILL.md",
        "scripts/run.sh",
    }


def test_a_folder_that_is_too_large_is_refused(services: Services, folder: Path) -> None:
    with (folder / "big").open("wb") as file:
        file.truncate(DEFAULT_LIMITS.file_bytes + 1)
    with pytest.raises(RegistryError, match="too large"):
        services.skill_files.get("planes")


def test_only_the_current_version_of_a_folder_has_files(services: Services, folder: Path) -> None:
    current = services.catalog.get("planes").version
    assert services.skill_files.get("planes", current).version == current
    with pytest.raises(RegistryError, match=r"9\.9\.9"):
        services.skill_files.get("planes", "9.9.9")


def test_a_folder_that_is_gone_is_not_found(services: Services, folder: Path) -> None:
    (folder / "SKILL.md").unlink()
    with pytest.raises(RegistryError) as raised:
        services.skill_files.get("planes")
    assert raised.value.code == "NOT_FOUND"
