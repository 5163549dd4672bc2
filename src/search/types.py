"""What search is about: documents, changes to them, queries and hits. Search knows nothing of HTTP or skills' life."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Literal, NamedTuple, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from embeddings.base import Vector

Mode = Literal["auto", "hybrid", "semantic", "keyword"]
RanMode = Literal["hybrid", "semantic", "keyword"]
Relevance = Literal["high", "medium", "low", "keyword"]
MatchedBy = Literal["name", "keyword", "semantic"]


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """What is searched of one skill: `key` is the catalog's small integer for it, `labels` what filters test."""

    key: int
    id: str
    name: str
    description: str = ""
    tags: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    body: str = ""
    labels: tuple[str, ...] = ()


class DocumentPut(NamedTuple):
    """A document was added or replaced."""

    number: int
    document: Document


class DocumentGone(NamedTuple):
    """A document left the catalog."""

    number: int
    key: int


class VectorPut(NamedTuple):
    """A document's vector was stored or replaced."""

    number: int
    key: int
    vector: Vector


Change = DocumentPut | DocumentGone | VectorPut


class Stale(NamedTuple):
    """A document with no current vector: the text to embed and its hash."""

    key: int
    text_hash: str
    text: str


class Claimed(NamedTuple):
    """Documents to embed that nobody else embeds meanwhile.

    `last` is the key up to which was looked, None where nothing was left; `elsewhere` says that others are at some.
    """

    stale: Sequence[Stale]
    last: int | None
    elsewhere: bool


class Embedded(NamedTuple):
    """A vector made for the text with this hash."""

    key: int
    text_hash: str
    vector: Vector


Keys = NDArray[np.int64]
"""Keys of documents, shape (documents,)."""


class Match(NamedTuple):
    """Documents an index found, with the score it gave each; parallel arrays of shape (documents,)."""

    keys: Keys
    scores: NDArray[np.float32]

    @classmethod
    def nothing(cls) -> "Match":
        """Return no documents."""
        return cls(np.empty(0, np.int64), np.empty(0, np.float32))


class Filter(NamedTuple):
    """Which documents may be found: those with at least one label of every group and none of `without`."""

    groups: tuple[tuple[str, ...], ...] = ()
    without: tuple[str, ...] = ()


class Documents(Protocol):
    """What search reads of the catalog, and the one thing it writes: vectors. Safe to call from several threads.

    Every change of a document or a vector has a number; numbers only grow, in commit order, and are never reused.
    """

    @property
    def catalog_id(self) -> str:
        """A random name given to this catalog when it was made: index files of another catalog are recognised."""
        ...

    def number(self) -> int:
        """Return the number of the latest change."""
        ...

    def document_changes(self, since: int, limit: int) -> Sequence[DocumentPut | DocumentGone]:
        """Return at most `limit` document changes numbered above `since`, in order; only the latest of each key."""
        ...

    def vector_changes(self, space: str, since: int, limit: int) -> Sequence[VectorPut | DocumentGone]:
        """Return at most `limit` changes to the vectors of `space` numbered above `since`, in order."""
        ...

    def stale(self, space: str, limit: int, after: int = 0, since: int = 0) -> Sequence[Stale]:
        """Return documents (key above `after`, ascending) whose current text has no vector in `space`.

        With `since` only those changed, or made stale, after this number are looked at.
        """
        ...

    def claim(self, space: str, limit: int, after: int = 0, since: int = 0) -> AbstractContextManager[Claimed]:
        """Claim at most `limit` of what `stale` returns, for the block."""
        ...

    def stale_count(self, space: str, keys: Sequence[int] | None = None, since: int = 0) -> int:
        """Return how many documents (of `keys`, or all, changed after `since`) have no current vector in `space`."""
        ...

    def count(self) -> int:
        """Return how many documents there are."""
        ...

    def vector_count(self, space: str) -> int:
        """Return how many vectors of `space` are stored."""
        ...

    def spaces(self) -> Sequence[str]:
        """Return the spaces there are vectors of."""
        ...

    def put_vectors(self, space: str, vectors: Iterable[Embedded]) -> int:
        """Store vectors and return how many were kept: those whose text hash is still the document's. Idempotent."""
        ...

    def forget_vectors(self, space: str, keys: Sequence[int] | None = None) -> None:
        """Make the vectors of `space` (of some keys, or all) stale; they answer until new ones take their place."""
        ...

    def drop_other_spaces(self, spaces: Sequence[str]) -> int:
        """Delete the vectors of every space but `spaces` and the one being filled; return how many there were."""
        ...

    def cards(self, keys: Sequence[int]) -> Mapping[int, tuple[str, bytes]]:
        """Return id and payload of each of these documents that is still there."""
        ...
