"""A registry with a bit of everything in its stores, stopped: copied for every test that damages it."""

import functools
import shutil
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from registry.config.settings import Settings, load_settings
from registry.database import open_database
from registry.db import Database, DatabaseUnusable
from registry.domain.models import now
from registry.ops.fsck import Parts, Report, inspect, inspect_unreadable
from support.bert_folder import write_bert_folder
from support.postgres_server import PostgresServer
from support.publishing import Registry, skill_package
from support.servers import new_skill, write_skill


class KeptRegistry:
    """The stores below `folder`, of a SQLite database there or the PostgreSQL one at `url`."""

    def __init__(self, folder: Path, url: str | None = None) -> None:
        self.folder = folder
        self.url = url
        self.data_dir = folder / "data"
        self.blobs = folder / "blobs" / "skills"

    def flags(self) -> list[str]:
        """Return the flags that lead a command to these stores."""
        return [
            *("--data-dir", str(self.data_dir), "--skills-dir", str(self.folder / "skills")),
            *("--blobs-dir", str(self.folder / "blobs"), "--registry-index-url", str(self.folder / "index.git")),
            *("--embedding-model", str(self.folder / "model")),
        ]

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment of such a command."""
        return {"SKILL_REGISTRY_EMBEDDING_PROVIDER": "local"} | (
            {"SKILL_REGISTRY_DATABASE_URL": self.url} if self.url else {}
        )

    def _values(self) -> dict[str, str]:
        database = {"database.url": self.url} if self.url else {}
        return {
            "data_dir": str(self.data_dir),
            "skills_dir": str(self.folder / "skills"),
            "blobs.dir": str(self.folder / "blobs"),
            "registryIndex.url": str(self.folder / "index.git"),
            "embedding.provider": "local",
            "embedding.model": str(self.folder / "model"),
            **database,
        }

    def settings(self, **changes: Any) -> Settings:
        """Return the settings of the service."""
        return load_settings({**self._values(), **changes}, {})

    def server(self) -> Registry:
        """Return the service, to be started."""
        env = {"SKILL_REGISTRY_DATABASE_URL": self.url} if self.url else {}
        model = ("--embedding-provider", "local", "--embedding-model", str(self.folder / "model"))
        return Registry(self.folder, *model, env=env)

    @functools.cached_property
    def database(self) -> Database:
        """The database, with nothing that guards it."""
        return open_database(self.settings())

    def close(self) -> None:
        """Let the database go."""
        if "database" in self.__dict__:
            self.database.close()
            del self.database

    def run(self, *statements: str) -> None:
        """Damage the rows."""
        with self.database.write() as transaction:
            if self.url is None:
                transaction.execute("pragma defer_foreign_keys = on")
            for statement in statements:
                transaction.execute(statement)

    def set_vector(self, skill_id: str, vector: NDArray[np.float32]) -> None:
        """Damage the vector of a skill."""
        sql = "update vectors set vector = ? where key = (select key from skills where id = ?)"
        with self.database.write() as transaction:
            transaction.execute(sql, (vector, skill_id))

    def value(self, sql: str) -> Any:
        """Return the first value of a query."""
        return self.database.read(sql)[0][0]

    def inspect(self, changes: Mapping[str, Any] | None = None, *, repair: bool = False, alone: bool = True) -> Report:
        """Run every check, as the command does; `alone` says that no service runs."""
        settings = self.settings(**(changes or {}))
        try:
            with closing(Parts(settings, self.database, now, alone=alone)) as parts:
                return inspect(parts, repair=repair, recheck_seconds=0 if alone else 0.3)
        except DatabaseUnusable as reason:
            return inspect_unreadable(settings, reason)

    def copy(self, folder: Path, postgres: PostgresServer | None) -> "KeptRegistry":
        """Return a copy of all of it."""
        shutil.copytree(self.folder, folder, symlinks=True)
        return KeptRegistry(folder, postgres.copy_of(self.url) if postgres and self.url else None)


def fill(folder: Path, url: str | None) -> KeptRegistry:
    """Make a registry: skills that are folders, records, listed by a source, published, yanked and revoked."""
    kept = KeptRegistry(folder, url)
    write_bert_folder(folder / "model")
    write_skill(folder / "skills", "local-one", "Comes from a folder below the skills directory.")
    write_skill(folder / "listed", "listed-one", "Is listed by a source and installed by nobody.")
    with kept.server() as server:
        server.sign_in("admin", "root")
        server.api("POST", "/skills", json=new_skill("record-one")).raise_for_status()
        source = {"name": "near", "type": "local", "path": str(folder / "listed")}
        server.api("POST", "/registry/sources", json=source).raise_for_status()
        for name, version in (("pdf", "1.9.0"), ("pdf", "1.10.0"), ("ocr", "1.0.0"), ("bad", "1.0.0")):
            server.finished(server.publish(skill_package(name, version)))
        server.api("POST", "/registry/skills/acme/pdf/1.9.0/yank").raise_for_status()
        note = {"reason": "it reads keys", "replacement": "acme/pdf@^1.10"}
        server.api("POST", "/registry/skills/acme/ocr/deprecate", json=note).raise_for_status()
        server.api("POST", "/registry/skills/acme/bad/1.0.0/revoke", json=note).raise_for_status()
        server.wait_for(lambda: server.status()["pending"] == 0)
        server.wait_for(lambda: not kept.database.read("select 1 from index_files where pushed < wanted"))
    kept.close()
    return kept
