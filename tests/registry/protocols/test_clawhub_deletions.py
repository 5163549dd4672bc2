"""Lists and searches of the ClawHub protocol while a skill or a version in them is deleted: the others are shown."""

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.changing_catalog import ChangingCatalog, changing_catalog
from support.servers import write_skill

KEPT, DOOMED = "planes", "planes-doomed"
SKILLS = "/clawhub/api/v1/skills"


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChangingCatalog]:
    folder: Path = tmp_path_factory.mktemp("changing")
    write(folder, KEPT)
    with changing_catalog(folder) as made:
        yield made


def write(folder: Path, name: str, version: str = "1.0.0") -> None:
    write_skill(folder / "skills", name, "Planes boards with care.", version=version)


def answers(catalog: ChangingCatalog, path: str, prepare: Any, change: Any) -> list[Any]:
    """Return the answers to a request with a change before each of its reads, in turn, all prepared for alike."""

    async def asked() -> list[Any]:
        found = []
        await asyncio.to_thread(prepare)
        async for answer in catalog.interrupted(path, change):
            assert answer.status == 200, answer.body
            found.append(answer.json)
            await asyncio.to_thread(prepare)
        return found

    return asyncio.run(asked())


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("/clawhub/api/v1/search?q=planes+boards", "results"),
        (f"/clawhub/api/v1/search?q={DOOMED}&mode=exact", "results"),
        (SKILLS, "items"),
        (f"{SKILLS}?prefix=planes", "items"),
        ("/clawhub/api/v1/trending", "items"),
    ],
)
def test_a_skill_that_is_deleted_meanwhile_is_left_out(catalog: ChangingCatalog, path: str, part: str) -> None:
    services = catalog.services
    folder = services.settings.skills_dir.parent

    def prepare() -> None:
        write(folder, DOOMED)
        services.scan()

    def delete() -> None:
        shutil.rmtree(folder / "skills" / DOOMED)
        services.scan()

    shown = [{skill["slug"] for skill in answer[part]} for answer in answers(catalog, path, prepare, delete)]
    others = set() if "exact" in path else {KEPT}
    assert all(slugs - {DOOMED} == others for slugs in shown)
    assert any(DOOMED not in slugs for slugs in shown)


def test_a_version_that_is_deleted_meanwhile_is_left_out(catalog: ChangingCatalog) -> None:
    services = catalog.services
    folder = services.settings.skills_dir.parent
    minor = 0

    def prepare() -> None:
        nonlocal minor
        minor += 1
        write(folder, KEPT, f"1.{minor}.0")
        services.scan()

    def delete() -> None:
        services.versions.delete(KEPT, f"1.{minor - 1}.0")

    found = answers(catalog, f"{SKILLS}/{KEPT}/versions", prepare, delete)
    shown = [[version["version"] for version in answer["items"]] for answer in found]
    assert all(f"1.{number}.0" in versions for number, versions in enumerate(shown, 1))
    assert shown[0] == ["1.1.0"]
