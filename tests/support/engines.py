"""Engines over a few skills, with vectors of words."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from registry.database.sqlite import SqliteDatabase
from search.engine import Engine
from search.requests import Hit, SearchRequest
from support.catalogs import HashingEmbedder, SkillCatalog
from support.waiting import PATIENCE_SECONDS


@contextmanager
def engine_over(skills: Iterable[tuple[str, str, str]], folder: Path) -> Iterator[Engine]:
    """Yield an engine over skills of (id, description, body)."""
    catalog = SkillCatalog(SqliteDatabase(folder / "skills.db"))
    catalog.put_many(skills)
    engine = Engine(catalog.documents, folder / "indexes", HashingEmbedder())
    engine.start()
    engine.wait_until_embedded(PATIENCE_SECONDS)
    yield engine
    engine.close()


def page(engine: Engine, query: str, **options: Any) -> list[Hit]:
    """Return the first page of hits."""
    return engine.search.search(SearchRequest(query, **options)).hits
