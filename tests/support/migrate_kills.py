"""`skill-registry admin migrate`, killed after one of its steps, and run again."""

from pathlib import Path

from registry.database.sqlite import SqliteDatabase
from search.types import Embedded
from support.catalogs import HashingEmbedder, SkillCatalog
from support.commands import Done, steps

Tables = dict[str, tuple[int, str]]
"""How many rows each table has, and their digest, by its name."""


def write_catalog(path: Path, skills: int) -> None:
    """Write a SQLite catalog with vectors, in several batches of a copy."""
    database = SqliteDatabase(path)
    catalog, embedder = SkillCatalog(database), HashingEmbedder()
    catalog.put_many((f"skill-{number}", f"does thing {number}", "a body\0 with NUL" * 3) for number in range(skills))
    catalog.remove("skill-7")
    stale = catalog.documents.stale("space", skills)
    vectors = embedder.documents([one.text for one in stale])
    catalog.documents.put_vectors(
        "space", [Embedded(one.key, one.text_hash, vector) for one, vector in zip(stale, vectors, strict=True)]
    )
    database.close()


class Migration:
    """Copies of one SQLite catalog."""

    def __init__(self, source: Path) -> None:
        self._folder = source.parent
        self._arguments = ("migrate", "--from", f"sqlite:///{source}", "--json")

    def run(self, target: str) -> Tables:
        """Copy into a database and return its tables."""
        done = Done(self._folder, *self._arguments, SKILL_REGISTRY_DATABASE_URL=target)
        assert done.code == 0, done.error
        return {one["table"]: (one["rows"], one["digest"]) for one in done.json["tables"]}

    def steps(self, target: str, kill_at: int | None = None) -> int:
        """Copy into a database, killed after a step; return how many steps were taken."""
        env = {"SKILL_REGISTRY_DATABASE_URL": target}
        return steps(self._folder, *self._arguments, kill_at=kill_at, env=env)
