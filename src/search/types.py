"""The data that search works on, and the `Documents` protocol through which it reads the catalog."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from embeddings.base import Vector


class Example(NamedTuple):
    """A query for which a user chose a skill. `weight` is above 0: 1 for one recent choice."""

    text: str
    weight: float


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """The searchable data of one skill: `key` is its integer in the catalog, `labels` are the values filters match.

    `triggers` say when to use it, beside its description. `files` are the paths of its files, one a line.
    """

    key: int
    id: str
    name: str
    description: str = ""
    tags: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    compatibility: str = ""
    triggers: tuple[str, ...] = ()
    body: str = ""
    files: str = ""
    labels: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()


class Described(msgspec.Struct):
    """What a card says of its document in short. A card has more, which search does not read."""

    name: str
    description: str = ""


class DocumentPut(NamedTuple):
    """A document was added or replaced."""

    revision: int
    document: Document


class DocumentGone(NamedTuple):
    """A document was deleted."""

    revision: int
    key: int


class VectorPut(NamedTuple):
    """A document's vector was added or replaced."""

    revision: int
    key: int
    vector: Vector


class Stale(NamedTuple):
    """A document without a current vector: the text and the examples to embed, and the hash of both."""

    key: int
    text_hash: str
    text: str
    examples: tuple[Example, ...] = ()


class Claimed(NamedTuple):
    """Stale documents that only the holder of the claim embeds.

    `last_key` is the highest key that was examined, None if nothing was stale. `has_others` is true if other
    processes hold claims on some of the examined documents.
    """

    stale: Sequence[Stale]
    last_key: int | None
    has_others: bool


class Embedded(NamedTuple):
    """A new vector, for the text with this hash."""

    key: int
    text_hash: str
    vector: Vector


Keys = NDArray[np.int64]
"""Document keys, shape (documents,)."""

_Number = TypeVar("_Number", np.int64, np.intp, np.uint64)

Flags = NDArray[np.bool_]
"""One flag for each document, shape (documents,)."""


def among(keys: Keys, others: Keys | Sequence[int]) -> Flags:
    """Return which of `keys` are among `others`.

    numpy's `isin` takes ten times as long for some hundred keys, and 0.4 s for none of them among a million others.
    """
    if not len(others) or not len(keys):
        return np.zeros(len(keys), np.bool_)
    ascending = np.sort(np.asarray(others, np.int64))
    flags: Flags = ascending.take(ascending.searchsorted(keys), mode="clip") == keys
    return flags


def distinct(values: NDArray[_Number]) -> NDArray[_Number]:
    """Return each of some numbers once, ascending. numpy's `unique` takes eight times as long for a million of them."""
    ascending = np.sort(values)
    return ascending[np.concatenate(([True], ascending[1:] != ascending[:-1]))] if len(ascending) else ascending


class Match(NamedTuple):
    """Documents that an index returned, with their scores: parallel arrays of shape (documents,).

    `total` is the number of all documents that match, None where it was not counted.
    """

    keys: Keys
    scores: NDArray[np.float32]
    total: int | None = None

    @classmethod
    def empty(cls) -> "Match":
        """Return a match without documents."""
        return cls(np.empty(0, np.int64), np.empty(0, np.float32))

    @classmethod
    def joined(cls, matches: Sequence["Match"]) -> "Match":
        """Return the documents of at least one match, one match after the other."""
        keys, scores = [match.keys for match in matches], [match.scores for match in matches]
        return cls(np.concatenate(keys), np.concatenate(scores))

    def only(self, allowed: Keys) -> "Match":
        """Return the documents whose keys are among `allowed`, in order."""
        return self.at(among(self.keys, allowed))

    def at(self, places: Flags | NDArray[np.intp]) -> "Match":
        """Return some of the documents, by flags or places."""
        return Match(self.keys[places], self.scores[places])

    def first(self, limit: int) -> "Match":
        """Return the first `limit` documents."""
        return Match(self.keys[:limit], self.scores[:limit])

    def best(self, limit: int) -> "Match":
        """Return the `limit` documents with the highest scores, best first."""
        return self.at(np.argsort(-self.scores, kind="stable")[:limit])


class Filter(NamedTuple):
    """A filter by labels: a document passes with at least one label of every group and no excluded label."""

    groups: tuple[tuple[str, ...], ...] = ()
    excluded: tuple[str, ...] = ()

    def within(self, other: "Filter") -> "Filter":
        """Return the filter that passes what both do."""
        return Filter((*self.groups, *other.groups), (*self.excluded, *other.excluded))


class Named(NamedTuple):
    """Documents that a query names by where they are: those that pass a filter, or of them those with a folded name.

    If none of them has one of the names, all are meant.
    """

    place: Filter
    names: Sequence[str] = ()


class Documents(Protocol):
    """The catalog as search sees it: a change feed to read, and vectors to write. Safe to call from several threads.

    Every change of a document or a vector has a revision. Revisions increase in commit order and are never reused.
    """

    @property
    def catalog_id(self) -> str:
        """The random id of this catalog. Index files of another catalog are recognised by it."""
        ...

    def revision(self) -> int:
        """Return the revision of the latest change."""
        ...

    def document_changes(self, since: int, limit: int) -> Sequence[DocumentPut | DocumentGone]:
        """Return at most `limit` document changes after revision `since`, in order, only the latest of each key."""
        ...

    def documents_with_examples(self) -> Sequence[Document]:
        """Return the documents that have examples. Their bodies may be missing."""
        ...

    def vector_changes(self, space: str, since: int, limit: int) -> Sequence[VectorPut | DocumentGone]:
        """Return at most `limit` changes to the vectors of `space` after revision `since`, in order."""
        ...

    def stale(self, space: str, limit: int, after: int = 0, since: int = 0) -> Sequence[Stale]:
        """Return at most `limit` documents whose current text has no vector in `space`, by ascending key.

        Only keys above `after` count. With `since`, only documents count that changed or became stale after that
        revision.
        """
        ...

    def claim(self, space: str, limit: int, after: int = 0, since: int = 0) -> AbstractContextManager[Claimed]:
        """Claim at most `limit` of the documents that `stale` returns, for the duration of the block."""
        ...

    def stale_count(self, space: str, keys: Sequence[int] | None = None) -> int:
        """Count the documents without a current vector in `space`: of `keys`, or all, which takes constant time."""
        ...

    def count(self) -> int:
        """Return the number of documents."""
        ...

    def vector_count(self, space: str) -> int:
        """Return the number of stored vectors of `space`."""
        ...

    def spaces(self) -> Sequence[str]:
        """Return the spaces that have stored vectors."""
        ...

    def put_vectors(self, space: str, vectors: Iterable[Embedded]) -> int:
        """Store the vectors whose text hash is still that of their document, and return their number. Idempotent."""
        ...

    def forget_vectors(self, space: str, keys: Sequence[int] | None = None) -> None:
        """Mark the vectors of `space` (of `keys`, or all) as stale. They stay in use until new ones replace them."""
        ...

    def drop_other_spaces(self, spaces: Sequence[str]) -> int:
        """Delete the vectors of all spaces except `spaces` and the one being filled; return the number deleted."""
        ...

    def read(self, keys: Sequence[int]) -> Mapping[int, Document]:
        """Return each of these documents that still exists."""
        ...

    def cards(self, keys: Sequence[int]) -> Mapping[int, tuple[str, bytes]]:
        """Return the id and the payload of each of these documents that still exists."""
        ...
