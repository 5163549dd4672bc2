"""How well search finds the right skill in spite of one misspelled word, with and without spelling.

    python benchmarks/misspellings.py --eval DIR [--seed 7] [--json OUT]

DIR holds the data sets `prompts`, `toole` and so on, as `benchmarks/quality.py` reads them. One word of each query is
misspelled: two neighbouring letters are swapped, or a letter is left out, doubled or replaced. The queries are names of
one word, names of two to four words, two to four words of a description, and the queries of the data sets. Every query
is searched as it was before, as it is now, and without the mistake. A misspelled word may happen to be another word
that some skill contains; `known` counts these, which nothing corrects.
"""

import argparse
import random
import re
import statistics
import string
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import corpora
import quality
from results_file import keep
from search import service
from search.engine import Engine
from search.lexical.index import LexicalIndex
from search.lexical.reader import LexicalReader
from search.lexical.spelling import Spelling, spell
from search.requests import SearchRequest
from search.stop_words import STOP_WORDS
from search.text import fold
from search.types import Document, DocumentPut

PAGE = 10
SAMPLE = 400
SHORTEST = 4
DATA_SETS = ("prompts", "usewhen", "toole", "sealtools")
SIZES = (10_000, 100_000)
_WORD = re.compile(rf"(?<![^\W_])[A-Za-z]{{{SHORTEST},}}(?![^\W_])")
_BATCH = 5_000


class Case(NamedTuple):
    """A query with one misspelled word, the same query without the mistake, and the ids of the right skills."""

    misspelled: str
    correct: str
    right: frozenset[str]


def misspelled(word: str, rng: random.Random) -> str:
    """Return a word with one mistake."""
    while True:
        at = rng.randrange(len(word))
        letter = rng.choice(string.ascii_lowercase)
        other = rng.choice(
            (
                word[:at] + word[at + 1 : at + 2] + word[at] + word[at + 2 :],
                word[:at] + word[at + 1 :],
                word[:at] + word[at] + word[at:],
                word[:at] + letter + word[at + 1 :],
            )
        )
        if other != word:
            return other


def case(query: str, right: Sequence[str], rng: random.Random) -> Case | None:
    """Return a query with a mistake in one of its words; None if all words are short or stop words."""
    words = [match for match in _WORD.finditer(query) if match[0].lower() not in STOP_WORDS]
    if not words:
        return None
    word = rng.choice(words)
    changed = query[: word.start()] + misspelled(word[0], rng) + query[word.end() :]
    return Case(changed, query, frozenset(right))


def queries_of_skills(corpus: Sequence[dict[str, Any]]) -> dict[str, list[tuple[str, Sequence[str]]]]:
    """Return queries made from names and descriptions, with the ids of the skills that they mean."""
    named: dict[str, list[str]] = {}
    for entry in corpus:
        named.setdefault(fold(entry["name"]), []).append(entry["id"])
    lengths = {name: len(name.split()) for name in named}
    rng = random.Random(1)
    described = []
    for entry in corpus:
        words = [word for word in _WORD.findall(entry.get("description") or "") if word.lower() not in STOP_WORDS]
        count = rng.randint(2, 4)
        if len(words) >= count:
            start = rng.randint(0, len(words) - count)
            described.append((" ".join(words[start : start + count]), [entry["id"]]))
    return {
        "names of one word": [(name, ids) for name, ids in named.items() if lengths[name] == 1],
        "names of two to four words": [(name, ids) for name, ids in named.items() if 2 <= lengths[name] <= 4],
        "words of descriptions": described,
    }


def cases(queries: Sequence[tuple[str, Sequence[str]]], seed: int) -> list[Case]:
    """Return a sample of queries, each with a mistake."""
    rng = random.Random(seed)
    shuffled = rng.sample(queries, len(queries))
    made = (case(query, right, rng) for query, right in shuffled)
    return [each for each in made if each is not None][:SAMPLE]


def as_it_was(reader: LexicalReader, query: str) -> Spelling:
    """Return a query as it was searched before words were corrected."""
    terms = reader.terms(query)
    return Spelling(query, query, terms, terms)


class Found(NamedTuple):
    """The rank of the first right skill for each query, 0 for none on the first page.

    `relevant` is the number of queries of which the first hit has more than low relevance.
    """

    ranks: list[int]
    relevant: int

    def figures(self) -> dict[str, float]:
        """Return shares in percent."""
        count = len(self.ranks)
        return {
            "right first": round(100 * self.ranks.count(1) / count, 1),
            "in first ten": round(100 * sum(rank > 0 for rank in self.ranks) / count, 1),
            "first not low": round(100 * self.relevant / count, 1),
        }


def found(engine: Engine, keys: dict[int, str], queries: Sequence[tuple[str, frozenset[str]]]) -> Found:
    """Search for queries."""
    ranks, relevant = [], 0
    for query, right in queries:
        hits = engine.search.search(SearchRequest(query, limit=PAGE)).hits
        ranks.append(next((rank for rank, hit in enumerate(hits, 1) if keys[hit.key] in right), 0))
        relevant += bool(hits) and hits[0].relevance != "low"
    return Found(ranks, relevant)


def measured(engine: Engine, keys: dict[int, str], sample: Sequence[Case]) -> dict[str, Any]:
    """Return the figures of queries before and after, and without mistakes."""
    wrong = [(each.misspelled, each.right) for each in sample]
    with patch.object(service, "spell", as_it_was):
        before = found(engine, keys, wrong)
    reader = engine.index_sync.lexical.reader
    return {
        "queries": len(sample),
        "known": sum(all(map(reader.is_known, reader.terms(query))) for query, _ in wrong),
        "before": before.figures(),
        "after": found(engine, keys, wrong).figures(),
        "without mistakes": found(engine, keys, [(each.correct, each.right) for each in sample]).figures(),
    }


def labelled(data: Path) -> list[tuple[str, Sequence[str]]]:
    """Return the queries of a data set with their right documents."""
    queries, gains = quality.read_labelled(data)
    return [(query["text"], [key for key, gain in gains[query["id"]].items() if gain]) for query in queries]


def all_sets(root: Path, seed: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the figures of each kind of query."""
    for name in DATA_SETS:
        corpus = quality.read_jsonl(root / name / "corpus.jsonl")
        kinds = {f"queries of {name}": labelled(root / name)}
        if name == "prompts":
            kinds |= queries_of_skills(corpus)
        with tempfile.TemporaryDirectory() as folder:
            engine, keys = quality.fill(corpus, Path(folder))
            for kind, queries in kinds.items():
                yield kind, measured(engine, keys, cases(queries, seed))
            engine.close()


def _milliseconds(call: Callable[[], object], times: int = 5) -> float:
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        call()
        taken.append((time.perf_counter() - started) * 1000)
    return min(taken)


def spelling_times(originals: Sequence[corpora.Entry], size: int, sample: Sequence[Case]) -> dict[str, float]:
    """Return how many milliseconds spelling takes with `size` skills, without the terms that every search needs."""
    with tempfile.TemporaryDirectory() as folder:
        index = LexicalIndex(Path(folder), "benchmark")
        batch: list[DocumentPut] = []
        for number, (_, entry) in enumerate(corpora.grown(originals, size), 1):
            document = Document(
                key=number,
                id=f"skill-{number}",
                name=entry.name,
                description=entry.description,
                body=entry.body,
            )
            batch.append(DocumentPut(number, document))
            if len(batch) == _BATCH or number == size:
                index.apply(batch, number)
                batch = []
        reader = index.reader
        hostile = " ".join(f"zq{letter * 22}" for letter in "xyvw")
        unknown = " ".join(f"zq{'x' * (number % 20 + 3)}" for number in range(150))

        def extra(query: str) -> float:
            return _milliseconds(lambda: spell(reader, query)) - _milliseconds(lambda: reader.terms(query))

        wrong, right = [extra(each.misspelled) for each in sample], [extra(each.correct) for each in sample]
        times = {
            "all words known": statistics.median(right),
            "misspelled": statistics.median(wrong),
            "misspelled, slowest of a hundred": statistics.quantiles(wrong, n=100)[-1],
            "four long words that nothing is like": extra(hostile),
            "2,000 characters of unknown words": extra(unknown),
        }
        index.close()
    return {label: round(value, 3) for label, value in times.items()}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure search with misspelled words.")
    parser.add_argument("--eval", type=Path, required=True, help="folder of data sets")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    results: dict[str, Any] = {}
    for kind, figures in all_sets(arguments.eval, arguments.seed):
        results[kind] = figures
        print(kind, figures, flush=True)
    originals = corpora.entries(arguments.eval / "prompts" / "corpus.jsonl")
    corpus = quality.read_jsonl(arguments.eval / "prompts" / "corpus.jsonl")
    sample = cases(queries_of_skills(corpus)["names of two to four words"], arguments.seed)
    times = {f"{size:,} skills": spelling_times(originals, size, sample) for size in SIZES}
    print(times)
    keep(arguments.json, {"seed": arguments.seed, "found, percent": results, "spelling, ms": times})


if __name__ == "__main__":
    main()
