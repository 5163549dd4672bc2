"""An entity tag never promises more than its content: a caller who sends it back gets what has changed meanwhile."""

import asyncio
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.changing_catalog import ChangingCatalog, changing_catalog
from support.servers import write_skill

WELL_KNOWN = ".well-known/agent-skills/index.json"
PATHS = [
    *("/api/v1/skills?limit=100", "/api/v1/skills/pdf-forms", "/api/v1/skills/pdf-forms/versions"),
    *("/api/code/v1/skills?limit=100", "/api/code/v1/skills/pdf-forms/versions/1.0.0"),
    *("/v1/skills?limit=100", "/v1/skills/pdf-forms", "/index/pdf-forms", "/feed.atom"),
    *("/tree/index.json", "/tree/pdf-forms/index.json", f"/s/pdf-forms/{WELL_KNOWN}", f"/{WELL_KNOWN}"),
]
NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChangingCatalog]:
    folder: Path = tmp_path_factory.mktemp("changing")
    change(folder)
    with changing_catalog(folder, **{"protocols.root_skills": ["pdf-forms"]}) as made:
        yield made


def change(folder: Path) -> None:
    """Add a skill, and change another and its files."""
    number = next(NUMBERS)
    text = f"Fills in form {number}."
    write_skill(folder / "skills", f"made-{number}", text)
    (write_skill(folder / "skills", "pdf-forms", text) / f"{number}.md").write_text(text)


@pytest.mark.parametrize("path", PATHS)
def test_a_change_during_the_reads_is_never_hidden_by_304(catalog: ChangingCatalog, path: str) -> None:
    folder = catalog.services.settings.skills_dir.parent

    def change_and_scan() -> None:
        change(folder)
        catalog.services.scan()

    async def check() -> int:
        interrupted = 0
        async for held in catalog.interrupted(path, change_and_scan):
            interrupted += 1
            now = await catalog.ask(path)
            again = await catalog.ask(path, **{"If-None-Match": held.headers["etag"]})
            assert (held.status, now.status) == (200, 200)
            assert again.status == (304 if again.headers["etag"] == held.headers["etag"] else 200)
            assert again.status == 200 or held.body == now.body
        return interrupted

    assert asyncio.run(check()) > 0
