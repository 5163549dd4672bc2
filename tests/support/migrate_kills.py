"""`skill-registry migrate`, killed after one of its steps, and run again."""

import json
import os
from pathlib import Path
from typing import Any

from registry.database.sqlite import SqliteDatabase
from search.types import Embedded
from support.catalogs import HashingEmbedder, SkillCatalog
from support.killing import Steps, waiting
from support.servers import COMMAND

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
        self._command = (COMMAND, "migrate", "--from", f"sqlite:///{source}", "--json")

    def run(self, target: str) -> Tables:
        """Copy into a database and return its tables."""
        process = waiting(self._command, {**os.environ, "SKILL_REGISTRY_DATABASE_URL": target})
        output, errors = process.communicate(b"go\n")
        assert process.returncode == 0, errors.decode()
        tables: list[dict[str, Any]] = json.loads(output)["tables"]
        return {one["table"]: (one["rows"], one["digest"]) for one in tables}

    def steps(self, target: str, kill_at: int | None = None) -> int:
        """Copy into a database, killed after a step; return how many steps were taken."""
        process = waiting(self._command, {**os.environ, "SKILL_REGISTRY_DATABASE_URL": target})
        with Steps(process, kill_at, pause=0.1) as steps:
            process.communicate(b"go\n")
        return len(steps.taken)
