"""Catalogs of any size for benchmarks: of real skills where a corpus is at hand, and of perturbed copies."""

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
"""Share of the sentences (of a description: words) that a copy has from its original; others are of other skills."""

_NOISE = (0.2, 0.8)
"""How far a copy's vector is from its original's: cosines from 0.97 to 0.66, as between real neighbours."""

_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")

TAGS = {"one-in-1000": 1000, "one-in-100": 100, "one-in-10": 10}
"""The tags of a large catalog, and which share of its skills has each."""


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
    """Yield `count` skills with the index of their original: the originals, then copies with others' sentences in them.

    So words keep the distribution they have in real texts, however many skills there are.
    """
    drawn = random.Random(seed)
    names = [entry.name.split("-") for entry in originals]
    sentences = [_SENTENCE.split(entry.body) for entry in originals]
    every = list(itertools.chain.from_iterable(sentences))
    words = [entry.description.split() for entry in originals]
    other_words = list(itertools.chain.from_iterable(words))
    for number in range(count):
        index = number % len(originals)
        entry = originals[index]
        if number >= len(originals):
            name = "-".join([*names[index][:2], drawn.choice(names)[-1]])
            description = " ".join(_mixed(words[index], other_words, drawn))
            entry = Entry(name, description, "\n".join(_mixed(sentences[index], every, drawn)))
        yield index, entry


def _mixed(own: Sequence[str], others: Sequence[str], drawn: random.Random) -> list[str]:
    return [one if drawn.random() < _KEPT else drawn.choice(others) for one in own]


def vectors_near(originals: Matrix, indexes: Sequence[int], seed: int) -> Matrix:
    """Return unit vectors drawn round those of the originals, shape (len(indexes), dimension).

    The noise is made of differences between originals, so it varies where real vectors do: noise that is the same in
    all directions makes distances alike, and every approximate index look broken.
    """
    drawn = np.random.default_rng(seed)
    one, two, three, four = (originals[drawn.integers(0, len(originals), len(indexes))] for _ in range(4))
    length = drawn.uniform(*_NOISE, (len(indexes), 1)).astype(np.float32)
    moved = originals[list(indexes)] + length * (one - two + three - four) / np.float32(2**0.5)
    near: Matrix = moved / np.linalg.norm(moved, axis=1, keepdims=True)
    return near


def fill(
    database: Database, originals: Sequence[Entry], count: int, embedder: Embedder, of_originals: Matrix
) -> Iterator[tuple[Keys, Matrix]]:
    """Make a catalog of `count` skills, with vectors, in a database; yield keys and vectors of every batch of it."""
    catalog, documents = Catalog(database, now), CatalogDocuments(database)
    space = text_space(embedder)
    made = enumerate(grown(originals, count))
    while batch := list(itertools.islice(made, _BATCH)):
        start = batch[0][0]
        with database.write() as transaction:
            for number, (_, entry) in batch:
                catalog.save(transaction, _skill(number, entry), entry.body)
        vectors = vectors_near(of_originals, [index for _, (index, _) in batch], seed=start)
        stale = documents.stale(space, len(batch), start)  # keys are counted from 1 in the order of making
        documents.put_vectors(space, [Embedded(one.key, one.text_hash, vectors[one.key - 1 - start]) for one in stale])
        yield np.array([one.key for one in stale], np.int64), vectors


def _skill(number: int, entry: Entry) -> Skill:
    return Skill(
        id=f"skill-{number}",
        name=entry.name,
        description=entry.description,
        version="1.0.0",
        tags=[tag for tag, share in TAGS.items() if number % share == 0],
        findings=skill_findings([]),  # without any, the service would look into every skill while it is measured
    )
