"""An entity tag never promises more than its content: whoever sends it back gets what has changed meanwhile."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from registry.config.settings import load_settings
from registry.server.app import create_app
from registry.server.run import wrapped
from registry.services.container import Services
from support.asgi import ask
from support.raw_http import RawAnswer
from support.servers import write_skill

WELL_KNOWN = ".well-known/agent-skills/index.json"
PATHS = [
    *("/api/v1/skills?limit=100", "/api/v1/skills/pdf-forms", "/api/v1/skills/pdf-forms/versions"),
    *("/api/code/v1/skills?limit=100", "/api/code/v1/skills/pdf-forms/versions/1.0.0"),
    *("/v1/skills?limit=100", "/v1/skills/pdf-forms", "/index/pdf-forms", "/feed.atom"),
    *("/tree/index.json", "/tree/pdf-forms/index.json", f"/s/pdf-forms/{WELL_KNOWN}", f"/{WELL_KNOWN}"),
]
MOST_READS = 30


class Changing:
    """A service whose catalog changes before any one of the reads of a request that the test picks."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._changes = 0
        self._reads_left = -1
        self._write()
        flags = {
            "skills_dir": str(folder / "skills"),
            "data_dir": str(folder / "data"),
            "profile": "registry",
            "auth.anonymous_read": True,
            "embedding.provider": "none",
            "limits.reads_per_minute": 1_000_000,
            "protocols.root_skills": ["pdf-forms"],
        }
        self.services = Services(load_settings(flags, {}))
        self.site = wrapped(create_app(self.services), self.services)
        self.services.begin()
        assert self.services.ready.wait(60)
        database: Any = self.services.database
        database.read = self._changing_before(database.read)

    def _changing_before(self, read: Callable[..., Any]) -> Callable[..., Any]:
        def read_later(*arguments: Any, **options: Any) -> Any:
            self._reads_left -= 1
            if self._reads_left == -1:
                self._write()
                self.services.scan()
            return read(*arguments, **options)

        return read_later

    def _write(self) -> None:
        self._changes += 1
        skills, text = self._folder / "skills", f"Fills in form {self._changes}."
        write_skill(skills, f"made-{self._changes}", text)
        (write_skill(skills, "pdf-forms", text) / f"{self._changes}.md").write_text(text)

    async def ask(self, path: str, **headers: str) -> RawAnswer:
        """Return the answer while nothing changes."""
        self._reads_left = -1
        return await ask(self.site, "GET", path, headers=headers)

    async def ask_while_it_changes(self, path: str, reads: int) -> RawAnswer | None:
        """Return the answer if the catalog changes after this number of reads; None if the request reads less."""
        self._reads_left = reads
        answer = await ask(self.site, "GET", path)
        return answer if self._reads_left < 0 else None


@pytest.fixture(scope="module")
def changing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Changing]:
    made = Changing(tmp_path_factory.mktemp("changing"))
    yield made
    made.services.close()


@pytest.mark.parametrize("path", PATHS)
def test_a_change_during_the_reads_is_never_hidden_by_304(changing: Changing, path: str) -> None:
    async def check() -> int:
        for reads in range(MOST_READS):
            held = await changing.ask_while_it_changes(path, reads)
            if held is None:
                return reads
            now = await changing.ask(path)
            again = await changing.ask(path, **{"If-None-Match": held.headers["etag"]})
            assert (held.status, now.status) == (200, 200)
            assert again.status == (304 if again.headers["etag"] == held.headers["etag"] else 200)
            assert again.status == 200 or held.body == now.body, f"stale after {reads} reads"
        raise AssertionError("the request reads without end")

    assert asyncio.run(check()) > 0
