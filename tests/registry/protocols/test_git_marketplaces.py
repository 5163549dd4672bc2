"""How marketplaces are built and kept: once for all who wait, from what is there already, within their limits."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from registry.config.settings import load_settings
from registry.errors import RegistryError
from registry.protocols.git import packs
from registry.protocols.git.marketplaces import ALL, Marketplaces
from registry.services.container import Services
from support.git_client import GitClient
from support.servers import write_skill

SKILLS = 4


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    for number in range(SKILLS):
        write_skill(tmp_path / "skills", f"planes-{number}", "Planes boards with care.", body=f"# {number}\n")
    flags = {"skills_dir": str(tmp_path / "skills"), "data_dir": str(tmp_path / "data"), "embedding.provider": "none"}
    opened = Services(load_settings(flags, {}))
    opened.scan()
    yield opened
    opened.close()


def checked(folder: Path, pack: packs.Pack) -> str:
    """Have git check a pack and all its objects; return what it prints."""
    git = GitClient(folder)
    git("init", "--quiet", "--bare", "repository")
    file = folder / "repository/objects/pack/pack-made.pack"
    file.write_bytes(pack.read(0, pack.size))
    return git("-C", "repository", "index-pack", "--strict", str(file))


def test_all_who_wait_get_the_same_one(services: Services) -> None:
    marketplaces = Marketplaces(services)

    async def ask() -> list[packs.Pack]:
        return [made.pack for made in await asyncio.gather(*(marketplaces.current(ALL) for _ in range(20)))]

    assert len({id(pack) for pack in asyncio.run(ask())}) == 1


def test_what_is_copied_from_the_former_one_is_what_a_new_build_has(services: Services, tmp_path: Path) -> None:
    marketplaces = Marketplaces(services)
    asyncio.run(marketplaces.current(ALL))
    write_skill(tmp_path / "skills", "planes-3", "Planes boards with care.", body="# Changed\n")
    services.scan()
    copied = asyncio.run(marketplaces.current(ALL))
    built = asyncio.run(Marketplaces(services).current(ALL))
    assert copied.head == built.head
    assert sorted(skill.version for skill in copied.skills.values()) == ["1.0.0"] * SKILLS
    assert checked(tmp_path / "copied", copied.pack) == checked(tmp_path / "built", built.pack)


def test_a_change_that_no_repository_shows_keeps_it(services: Services) -> None:
    marketplaces = Marketplaces(services)
    before = asyncio.run(marketplaces.current(ALL))
    with services.database.write() as transaction:
        transaction.next_revision()  # as a vector takes
    after = asyncio.run(marketplaces.current(ALL))
    assert (after.pack, after.revision) == (before.pack, before.revision + 1)


def test_packs_leave_no_files(services: Services, tmp_path: Path) -> None:
    before = sorted(path.name for path in (tmp_path / "data").iterdir())
    asyncio.run(Marketplaces(services).current(ALL))
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == before


def test_a_pack_that_is_too_large_is_refused(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packs, "LARGEST_BYTES", 2000)
    with pytest.raises(RegistryError, match="larger than 2,000 bytes"):
        asyncio.run(Marketplaces(services).current(ALL))
