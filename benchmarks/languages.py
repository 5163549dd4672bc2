"""Search in other languages: nDCG@10 of queries in five languages, with and without the extra `languages`.

    python benchmarks/languages.py --data ../shared/data/eval/prompts [--part dev|train] [--json OUT]

DIR is the data set `prompts`, as `quality.py` takes it. `data/languages.jsonl` has 62 queries of the part `dev` of the
intents, each in German, Spanish, French, Chinese and Japanese, with the English original: 32 by which the constants
were chosen (`train`), and 30 of other skills (`dev`). The same skills are right in every language, so the English
figure is what the others are compared with. The two longest words of a query stand for what people type into a field.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from embeddings.base import Matrix
from embeddings.languages.reader import LanguageReader
from quality import fill, read_jsonl
from registry.evaluation.measures import DEPTH, ndcg
from results_file import keep
from search.engine import Engine
from search.prompt.language import is_foreign
from search.requests import SearchRequest
from search.vectors.query_vectors import QueryVectors

FILE = Path(__file__).parent / "data" / "languages.jsonl"


class _Without(LanguageReader):
    """What an installation without the extra has."""

    def queries(self, space: str, texts: Sequence[str]) -> Matrix | None:
        return None

    def load(self, space: str) -> None:
        self._is_settled = True


def by_language(rows: Sequence[dict[str, Any]]) -> dict[str, list[tuple[str, str]]]:
    """Return the queries of each language, each with the id of the right skill."""
    sets: dict[str, dict[tuple[str, str], None]] = {"en": {}}
    for row in rows:
        sets["en"][row["english"], row["skill"]] = None
        sets.setdefault(row["language"], {})[row["query"], row["skill"]] = None
    return {language: list(queries) for language, queries in sets.items()}


def keywords(queries: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return queries as people type them into a field: the two longest words, in their order."""
    texts = []
    for text, skill in queries:
        words = [word.strip(".,:;!?") for word in text.split()]
        longest = sorted(dict.fromkeys(words), key=len)[-2:]
        texts.append((" ".join(word for word in words if word in longest), skill))
    return texts


def measure(engine: Engine, keys: dict[int, str], queries: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return nDCG@10, the share of right first hits, wrong first hits by relevance, and the median time."""
    gains, first, seconds = [], 0, []
    wrong = dict.fromkeys(("high", "medium", "low"), 0)
    for text, skill in queries:
        started = time.perf_counter()
        hits = engine.search.search(SearchRequest(text, limit=DEPTH, mode="hybrid")).hits
        seconds.append(time.perf_counter() - started)
        ranking = [keys[hit.key] for hit in hits]
        gains.append(ndcg(ranking, {skill: 1.0}))
        if ranking[:1] == [skill]:
            first += 1
        elif hits:
            wrong[hits[0].relevance] += 1
    count = len(queries)
    return {
        "queries": count,
        "ndcg@10": round(statistics.fmean(gains), 4),
        "first": round(first / count, 4),
        "wrong first hits": wrong,
        "p50 ms": round(1000 * statistics.median(seconds), 2),
        "called foreign": sum(is_foreign(text) for text, _ in queries),
    }


def _english_of(name: str) -> str:
    return f"en{name[2:]}"


def main() -> None:
    """Measure each language."""
    parser = argparse.ArgumentParser(description="Measure search in other languages.")
    parser.add_argument("--data", type=Path, required=True, help="the data set prompts")
    parser.add_argument("--part", choices=["dev", "train"], default="dev")
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    corpus = read_jsonl(arguments.data / "corpus.jsonl")
    sets = by_language([row for row in read_jsonl(FILE) if row["part"] == arguments.part])
    sets |= {f"{language}, keywords": keywords(sets[language]) for language in ("en", "de", "es", "fr")}
    results: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        engine, keys = fill(corpus, Path(folder))
        for name, reader in (("without", _Without()), ("with", LanguageReader())):
            engine.search._query_vectors = QueryVectors(60, reader)
            engine.search.search(SearchRequest("wie schreibe ich einen Test", mode="hybrid"))  # loads the encoder
            results[name] = {language: measure(engine, keys, queries) for language, queries in sets.items()}
        engine.close()
    table = Table("", "without", "with", "of English", "first", "wrong first hits", title="nDCG@10, hybrid")
    for language, figures in results["with"].items():
        table.add_row(
            language,
            f"{100 * results['without'][language]['ndcg@10']:.1f}",
            f"{100 * figures['ndcg@10']:.1f}",
            f"{figures['ndcg@10'] / results['with'][_english_of(language)]['ndcg@10']:.2f}",
            f"{100 * figures['first']:.0f}",
            ", ".join(f"{count} {relevance}" for relevance, count in figures["wrong first hits"].items() if count),
        )
    Console().print(table)
    keep(
        arguments.json,
        {"data": arguments.data.name, "part": arguments.part, "documents": len(corpus), "results": results},
    )


if __name__ == "__main__":
    main()
