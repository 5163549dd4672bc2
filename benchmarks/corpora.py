"""Catalogs of any size for benchmarks, of real skills or generated ones and of perturbed copies."""

import itertools
import json
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from embeddings import Embedder
from embeddings.base import Matrix
from registry.catalog.documents import CatalogDocuments
from registry.catalog.store import Catalog
from registry.db import Database
from registry.domain.models import Skill, now
from registry.findings.engine import skill_findings
from search.engine import text_space
from search.types import Embedded, Keys

BODY_WORDS = 400
_BATCH = 2000
_KEPT = 0.7
"""The share of sentences (in a description: words) that a copy keeps; the others come from other skills."""

_NOISE = (0.2, 0.8)
"""The distance of a copy's vector from its original's: cosines from 0.97 to 0.66, as between real neighbours."""

_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")

TAGS = {"one-in-1000": 1000, "one-in-100": 100, "one-in-10": 10}
"""The tags of a large catalog: one in so many skills has each."""


class Entry(NamedTuple):
    """The text of one skill."""

    name: str
    description: str
    body: str


def entries(corpus: Path | None, seed: int = 1) -> list[Entry]:
    """Return the skills of a `corpus.jsonl`, or 2,000 generated ones with a Zipf distribution of words."""
    if corpus is not None:
        with corpus.open(encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        return [Entry(row["name"], row.get("description") or "", row.get("text") or "") for row in rows]
    rng = random.Random(seed)
    words = ["".join(rng.choices("aeiourstlnmdcpkg", k=rng.randint(3, 10))) for _ in range(20_000)]
    weights = [1 / (rank + 5) for rank in range(len(words))]

    def text(count: int) -> str:
        return " ".join(rng.choices(words, weights, k=count))

    return [Entry(f"{text(2)}-{number}", text(25), text(BODY_WORDS)) for number in range(2000)]


def grown(originals: Sequence[Entry], count: int, seed: int = 2) -> Iterator[tuple[int, Entry]]:
    """Yield `count` skills with the index of their original: the originals, then copies mixed with other sentences.

    Words therefore keep the distribution of real texts at any size.
    """
    rng = random.Random(seed)
    names = [entry.name.split("-") for entry in originals]
    sentences = [_SENTENCE.split(entry.body) for entry in originals]
    all_sentences = list(itertools.chain.from_iterable(sentences))
    words = [entry.description.split() for entry in originals]
    other_words = list(itertools.chain.from_iterable(words))
    for number in range(count):
        index = number % len(originals)
        entry = originals[index]
        if number >= len(originals):
            name = "-".join([*names[index][:2], rng.choice(names)[-1]])
            description = " ".join(_mixed(words[index], other_words, rng))
            entry = Entry(name, description, "\n".join(_mixed(sentences[index], all_sentences, rng)))
        yield index, entry


def _mixed(own: Sequence[str], others: Sequence[str], rng: random.Random) -> list[str]:
    return [part if rng.random() < _KEPT else rng.choice(others) for part in own]


def vectors_near(originals: Matrix, indexes: Sequence[int], seed: int) -> Matrix:
    """Return random unit vectors around those of the originals, shape (len(indexes), dimension).

    The noise consists of differences between originals, so it varies in the same directions as real vectors. Isotropic
    noise would make all distances similar, and every approximate index look broken.
    """
    rng = np.random.default_rng(seed)
    a, b, c, d = (originals[rng.integers(0, len(originals), len(indexes))] for _ in range(4))
    length = rng.uniform(*_NOISE, (len(indexes), 1)).astype(np.float32)
    moved = originals[list(indexes)] + length * (a - b + c - d) / np.float32(2**0.5)
    near: Matrix = moved / np.linalg.norm(moved, axis=1, keepdims=True)
    return near


def fill(
    database: Database, originals: Sequence[Entry], count: int, embedder: Embedder, of_originals: Matrix
) -> Iterator[tuple[Keys, Matrix]]:
    """Create a catalog of `count` skills with vectors in a database; yield the keys and vectors of each batch."""
    catalog, documents = Catalog(database, now), CatalogDocuments(database)
    space = text_space(embedder)
    skills = enumerate(grown(originals, count))
    while batch := list(itertools.islice(skills, _BATCH)):
        start = batch[0][0]
        with database.write() as transaction:
            for number, (_, entry) in batch:
                catalog.save(transaction, _skill(number, entry), entry.body)
        vectors = vectors_near(of_originals, [index for _, (index, _) in batch], seed=start)
        stale = documents.stale(space, len(batch), start)  # keys count from 1 in the order of creation
        embedded = [Embedded(key, text_hash, vectors[key - 1 - start]) for key, text_hash, *_ in stale]
        documents.put_vectors(space, embedded)
        yield np.array([document.key for document in stale], np.int64), vectors


def _skill(number: int, entry: Entry) -> Skill:
    return Skill(
        id=f"skill-{number}",
        name=entry.name,
        description=entry.description,
        version="1.0.0",
        tags=[tag for tag, share in TAGS.items() if number % share == 0],
        findings=skill_findings([]),  # without findings, the service would scan every skill during the measurement
    )
