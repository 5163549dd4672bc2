"""English words for words of other languages: those whose vectors of the multilingual encoder are nearest.

The file has the vectors of 5,000 English words of skills, made by `benchmarks/glossary.py`. Words that say nothing are
among them, and words that are near to any fragment of a word: what is nearest to one of these has no translation.
"""

import hashlib
import io
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from numpy.lib.npyio import NpzFile

from embeddings.base import EmbeddingError, Matrix

FILE = Path(__file__).parent / "glossary.npz"
_SHA256 = "51eb32adcaec7ea2243999a352fca802357f2468b9fafd80d65350a46a0d5763"

NEAREST = 16
"""The English words that are looked at for a word."""

_LONGEST = 4
_LEAST_COSINE, _OF_ONE_SIGN = 0.55, 0.15
"""The characters of a word without spaces around it, the cosine from which it counts, and more for a single sign."""

_SHORTEST_PART = 4
_LINKS = ("", "s", "n", "en", "es")
_WHOLE, _PART = 0.7, 0.72
"""The cosine of a compound and its parts together, and of a part and its translation, at least."""


class Encoder(Protocol):
    """The multilingual encoder."""

    def encode(self, texts: list[str]) -> Matrix:
        """Return the vectors of texts, shape (len(texts), 512) and unit length."""
        ...


class Meaning(NamedTuple):
    """An English word for another one, the cosine of both, and whether it says anything."""

    word: str
    cosine: float
    tells: bool


def packaged_arrays(path: Path, sha256: str, name: str) -> NpzFile:
    """Open the arrays of a file of the package, which messages call `name`.

    Raises EmbeddingError if the file is missing or is not the one with that SHA-256.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise EmbeddingError(f"{name} {path} cannot be read: {error.strerror}") from error
    if hashlib.sha256(content).hexdigest() != sha256:
        raise EmbeddingError(f"{name} {path.name} is damaged: wrong sha256; install the package again")
    opened: NpzFile = np.load(io.BytesIO(content), allow_pickle=False)
    return opened


class Glossary:
    """Translates words. Safe to use from any thread."""

    def __init__(self, encoder: Encoder, path: Path = FILE, sha256: str = _SHA256) -> None:
        """Read the file. Raises EmbeddingError if it is missing or is not the one with that SHA-256."""
        with packaged_arrays(path, sha256, "the glossary") as arrays:
            self._words = bytes(arrays["words"]).decode().split("\n")
            self._vectors = arrays["vectors"].astype(np.float32) * float(arrays["scale"])
            self._tells = arrays["tells"].tolist()
        self._known = frozenset(self._words)
        self._encoder = encoder

    def __contains__(self, word: str) -> bool:
        """Return whether a word in lower case is one of the English words."""
        return word in self._known

    def meanings(self, words: Sequence[str]) -> list[list[Meaning]]:
        """Return the nearest English words of each word, nearest first."""
        return self._nearest(self._encode(words)) if words else []

    def _encode(self, words: Sequence[str]) -> Matrix:
        return np.asarray(self._encoder.encode(list(words)), np.float32)

    def _nearest(self, vectors: Matrix) -> list[list[Meaning]]:
        cosines = vectors @ self._vectors.T
        columns = np.argpartition(-cosines, NEAREST, axis=1)[:, :NEAREST]
        meanings = []
        for row, near in zip(cosines, columns, strict=True):
            best = near[np.argsort(-row[near], kind="stable")].tolist()
            meanings.append([Meaning(self._words[each], float(row[each]), self._tells[each]) for each in best])
        return meanings

    def divided(self, text: str) -> list[str]:
        """Return the words of a text that is written without spaces: those that are nearest to English words."""
        ends = range(1, len(text) + 1)
        spans = [(start, end) for end in ends for start in range(max(0, end - _LONGEST), end)]
        pieces = list(dict.fromkeys(text[start:end] for start, end in spans))
        nearest = dict(zip(pieces, (self._encode(pieces) @ self._vectors.T).max(axis=1).tolist(), strict=True))
        best, before = [0.0] + [-1.0] * len(text), [0] * (len(text) + 1)
        for start, end in spans:
            least = _LEAST_COSINE + (_OF_ONE_SIGN if end - start == 1 else 0)
            gained = best[start] + max(0.0, nearest[text[start:end]] - least) * (end - start)
            if gained > best[end]:
                best[end], before[end] = gained, start
        words, end = [], len(text)
        while end:
            words.append(text[before[end] : end])
            end = before[end]
        return words[::-1]

    def parts(self, compound: str) -> tuple[str, str] | None:
        """Return the two words of a compound such as `Zahlungslink`; None if it is none, or of more."""
        capital = compound[0].isupper()
        pairs = [
            (compound[: cut - len(link)], compound[cut:].title() if capital else compound[cut:])
            for cut in range(_SHORTEST_PART, len(compound) - _SHORTEST_PART + 1)
            for link in _LINKS
            if compound[:cut].endswith(link) and cut - len(link) >= _SHORTEST_PART
        ]
        if not pairs:
            return None
        pieces = list(dict.fromkeys(piece for pair in pairs for piece in pair))
        whole, *vectors = self._encode([compound, *pieces])
        vector, meaning = (
            dict(zip(pieces, vectors, strict=True)),
            dict(zip(pieces, (near[0] for near in self._nearest(np.stack(vectors))), strict=True)),
        )
        best, best_pair = 0.0, None
        for first, second in pairs:
            together = vector[first] + vector[second]
            cosine = float(together @ whole / np.linalg.norm(together))
            weaker = min(meaning[first].cosine, meaning[second].cosine)
            tells = meaning[first].tells and meaning[second].tells
            if tells and cosine >= _WHOLE and weaker >= _PART and cosine * weaker > best:
                best, best_pair = cosine * weaker, (first, second)
        return best_pair
