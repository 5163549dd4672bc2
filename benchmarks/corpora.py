"""Catalogs of any size for benchmarks: of real skills where a corpus is at hand, and of perturbed copies."""

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from embeddings import Embedder
from embeddings.base import Matrix
from registry.catalog import Catalog
from registry.database.sqlite import SqliteDatabase
from registry.documents import CatalogDocuments
from registry.models import Skill, now
from search.engine import text_space
from search.types import Embedded

BODY_WORDS = 400
_BATCH = 2000
_NOISE = 0.25
"""Length of the random vector added to a copy's: its cosine to the original is about 0.97."""


class Entry(NamedTuple):
    """The text of one skill."""

    name: str
    description: str
    body: str


def entries(corpus: Path | None, seed: int = 1) -> list[Entry]:
    """Return the skills of a `corpus.jsonl`, or 2,000 made-up ones with a natural (Zipf) distribution of words."""
    if corpus is not None:
        with corpus.open(encoding="utf-8") as lines:
            found = [json.loads(line) for line in lines]
        return [Entry(one["name"], one.get("description") or "", one.get("text") or "") for one in found]
    drawn = random.Random(seed)
    words = ["".join(drawn.choices("aeiourstlnmdcpkg", k=drawn.randint(3, 10))) for _ in range(20_000)]
    weights = [1 / (rank + 5) for rank in range(len(words))]

    def some(count: int) -> str:
        return " ".join(drawn.choices(words, weights, k=count))

    return [Entry(f"{some(2)}-{number}", some(25), some(BODY_WORDS)) for number in range(2000)]


def grown(originals: Sequence[Entry], count: int, seed: int = 2) -> Iterator[tuple[int, Entry]]:
    """Yield `count` skills with the index of their original: the originals, then copies with other words in them."""
    drawn = random.Random(seed)
    for number in range(count):
        index = number % len(originals)
        entry = originals[index]
        if number >= len(originals):
            entry = Entry(f"{entry.name}-{number}", _perturbed(entry.description, originals, drawn), entry.body)
        yield index, entry


def _perturbed(text: str, originals: Sequence[Entry], drawn: random.Random) -> str:
    words = text.split()
    others = drawn.choice(originals).description.split() or ["skill"]
    return " ".join(drawn.choice(others) if drawn.random() < 0.2 else word for word in words)


def vectors_near(originals: Matrix, indexes: Sequence[int], seed: int = 3) -> Matrix:
    """Return unit vectors drawn round those of the originals, shape (len(indexes), dimension)."""
    dim = originals.shape[1]
    noise = np.random.default_rng(seed).normal(size=(len(indexes), dim)).astype(np.float32) * (_NOISE / dim**0.5)
    drawn = originals[list(indexes)] + noise
    near: Matrix = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    return near


def fill(path: Path, originals: Sequence[Entry], count: int, embedder: Embedder, of_originals: Matrix) -> None:
    """Make a catalog of `count` skills, with vectors, in the database file `path`."""
    database = SqliteDatabase(path)
    catalog, documents = Catalog(database, now), CatalogDocuments(database)
    indexes = []
    batch: list[Entry] = []
    for index, entry in grown(originals, count):
        indexes.append(index)
        batch.append(entry)
        if len(batch) == _BATCH or len(indexes) == count:
            _save(catalog, batch, len(indexes) - len(batch))
            batch = []
    space, after = text_space(embedder), 0
    vectors = vectors_near(of_originals, indexes)
    while stale := documents.stale(space, _BATCH, after):
        after = stale[-1].key
        documents.put_vectors(space, [Embedded(one.key, one.text_hash, vectors[one.key - 1]) for one in stale])
    database.close()


def _save(catalog: Catalog, batch: Sequence[Entry], start: int) -> None:
    with catalog.database.write() as transaction:
        for number, entry in enumerate(batch, start):
            skill = Skill(id=f"skill-{number}", name=entry.name, description=entry.description, version="1.0.0")
            catalog.save(transaction, skill, entry.body)
