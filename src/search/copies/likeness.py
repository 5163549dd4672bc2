"""How much alike the texts of two skills are: near-copies are told by a signature of 64 bytes a skill.

The signature has the lowest of 64 hashes over all sequences of three words in description and body (MinHash: Broder, On
the resemblance and containment of documents, 1997). The share of equal bytes estimates the share of sequences that both
texts have. Two skills are copies if that share is high and they have the same name or the same description: skills for
several systems or formats are made of one text too (`convert-word-to-md`, `convert-pdf-to-md`).
"""

import functools
import re
import zlib

import numpy as np
from numpy.typing import NDArray

from search.text import BODY_CHARACTERS, fold
from search.types import Document

Signatures = NDArray[np.uint64]
"""Shape (documents, SIGNATURE_WORDS). The first word is the hash of the name and of the description; 0 for no copy."""

_HASHES = 64
SIGNATURE_WORDS = 1 + _HASHES // 8

_SEQUENCE = 3
_LEAST_SEQUENCES = 16  # fewer say nothing: many short skills have the same few words
_SAME_NAME, _SAME_DESCRIPTION = 0.55, 0.75
_NO_WORD = re.compile(r"[^\w\x00-\x7f]+")
_NO_WORD_OF_ASCII = bytes(code if code > 127 or chr(code).isalnum() or code == ord("_") else 32 for code in range(256))
"""A table for `bytes.translate`: blanks for the characters of ASCII that are in no word."""

_HALF, _LOW = np.uint64(32), np.uint64(2**32 - 1)

_MULTIPLIERS = np.random.default_rng(20261125).integers(1, 2**63, _HASHES + _SEQUENCE, dtype=np.uint64) | np.uint64(1)
_MIXED, _LOWEST = _MULTIPLIERS[:_SEQUENCE], _MULTIPLIERS[_SEQUENCE:, None]


@functools.lru_cache(maxsize=2000)
def signature(document: Document) -> Signatures:
    """Return the signature of a document, shape (SIGNATURE_WORDS,).

    The documents of one sync are remembered, because two indexes use it: call `cache_clear` after it.
    """
    text = f"{document.description}\n{document.body[:BODY_CHARACTERS]}".casefold()
    words = np.fromiter(map(zlib.crc32, _words(text)), np.uint64)
    if len(words) < _LEAST_SEQUENCES + _SEQUENCE - 1:
        return np.zeros(SIGNATURE_WORDS, np.uint64)
    sequences = sum(words[at : len(words) - _SEQUENCE + 1 + at] * factor for at, factor in enumerate(_MIXED))
    sequences ^= sequences >> np.uint64(31)
    if np.count_nonzero(np.diff(np.sort(sequences))) + 1 < _LEAST_SEQUENCES:
        return np.zeros(SIGNATURE_WORDS, np.uint64)
    lowest = ((sequences * _LOWEST).min(1) >> _HALF).astype(np.uint8)
    same = zlib.crc32(fold(document.name).encode()) << 32 | zlib.crc32(" ".join(document.description.split()).encode())
    return np.concatenate((np.array([same], np.uint64), lowest.view(np.uint64)))


def _words(text: str) -> list[bytes]:
    r"""Return the words of a text, as `\w+` matches them, in UTF-8."""
    if not text.isascii():
        lines = text.split("\n")  # most are plain
        text = "\n".join(line if line.isascii() else _NO_WORD.sub(" ", line) for line in lines)
    return text.encode().translate(_NO_WORD_OF_ASCII).split()


def are_copies(signatures: Signatures, others: Signatures) -> NDArray[np.bool_]:
    """Return for each pair of documents whether they are copies. Both have the shape (pairs, SIGNATURE_WORDS)."""
    differs = others[:, 0] ^ signatures[:, 0]
    same_name, same_description = differs >> _HALF == 0, differs & _LOW == 0
    equal = np.count_nonzero(_hashes(signatures) == _hashes(others), axis=1) / _HASHES
    alike = (same_name & (equal >= _SAME_NAME)) | (same_description & (equal >= _SAME_DESCRIPTION))
    flags: NDArray[np.bool_] = alike & (signatures[:, 0] > 0) & (others[:, 0] > 0)
    return flags


def _hashes(signatures: Signatures) -> NDArray[np.uint8]:
    return np.ascontiguousarray(signatures).view(np.uint8)[:, -_HASHES:]


def name_hashes(signatures: Signatures) -> NDArray[np.int64]:
    """Return the hash of the name of each document."""
    return (signatures[:, 0] >> _HALF).astype(np.int64)


def description_hashes(signatures: Signatures) -> NDArray[np.int64]:
    """Return the hash of the description of each document."""
    return (signatures[:, 0] & _LOW).astype(np.int64)
