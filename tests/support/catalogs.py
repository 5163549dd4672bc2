"""Catalogs with skills in them, for tests of what reads them."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from embeddings.base import EmbeddingError, Matrix, Vector
from registry.catalog.documents import CatalogDocuments
from registry.catalog.local_skills import LocalSkills
from registry.catalog.record_skills import RecordSkills
from registry.catalog.skill_rows import FolderState
from registry.catalog.store import Catalog, Clock
from registry.db import Database
from registry.domain.models import NewSkill, Skill, now


class HashingEmbedder:
    """A real, if simple, embedder: a text's vector is the sum of random directions of its words (feature hashing).

    `refuses` is a word no text may hold; `down` makes every call fail, as a provider that is out does.
    """

    provider = "local"
    dim = 64

    def __init__(self, model: str = "hashing", refuses: str | None = None) -> None:
        self.model = model
        self.space = f"local/{model}/64"
        self.refuses = refuses
        self.down = False
        self.embedded: list[str] = []

    def documents(self, texts: Sequence[str]) -> Matrix:
        """Return the vectors of texts, shape (len(texts), 64)."""
        if self.down:
            raise EmbeddingError("the provider is down")
        if self.refuses and any(self.refuses in text for text in texts):
            raise EmbeddingError("a text was refused", permanent=True)
        self.embedded += texts
        return np.stack([self._vector(text) for text in texts])

    def queries(self, texts: Sequence[str]) -> Matrix:
        """Return the vectors of queries, shape (len(texts), 64)."""
        if self.down:
            raise EmbeddingError("the provider is down")
        return np.stack([self._vector(text) for text in texts])

    def close(self) -> None:
        """There is nothing to let go."""

    def _vector(self, text: str) -> Vector:
        words = "".join(sign if sign.isalnum() else " " for sign in text.lower()).split() or ["nothing"]
        total = np.sum([self._direction(word) for word in words], axis=0)
        unit: Vector = (total / np.linalg.norm(total)).astype(np.float32)
        return unit

    def _direction(self, word: str) -> Vector:
        seed = int.from_bytes(hashlib.sha256(f"{self.model} {word}".encode()).digest()[:8], "big")
        return np.random.default_rng(seed).normal(size=self.dim).astype(np.float32)


class SkillCatalog:
    """A catalog in a database, with short ways to put skills into it."""

    def __init__(self, database: Database, clock: Clock = now) -> None:
        self.database = database
        self.catalog = Catalog(self.database, clock)
        self.documents = CatalogDocuments(self.database)

    def put(self, skill_id: str, description: str = "", body: str = "", **fields: Any) -> Skill:
        """Create or replace a skill."""
        required = {"id": skill_id, "name": skill_id, "description": description, "version": "1.0.0"}
        skill = Skill(**{**required, **fields})
        with self.database.write() as transaction:
            return self.catalog.save(transaction, skill, body, FolderState(f"folders/{skill_id}", "seen"))

    def put_many(self, skills: Iterable[tuple[str, str, str]]) -> None:
        """Create skills of (id, description, body) in one transaction."""
        with self.database.write() as transaction:
            for skill_id, description, body in skills:
                skill = Skill(id=skill_id, name=skill_id, description=description, version="1.0.0")
                self.catalog.save(transaction, skill, body, FolderState(f"folders/{skill_id}", "seen"))

    def remove(self, skill_id: str) -> None:
        """Delete a skill."""
        with self.database.write() as transaction:
            stored = self.catalog.find(transaction, skill_id)
            assert stored is not None
            self.catalog.delete(transaction, stored.key)


def created(backend: LocalSkills | RecordSkills, new: NewSkill) -> Skill:
    """Create one skill in a backend, and return it."""
    (made,) = backend.create_all([new])
    assert isinstance(made, Skill), made
    return made
