"""Search quality: nDCG@10, recall and MRR over a labelled data set, with the engine of the service.

    python benchmarks/quality.py --data DIR [--json OUT]

DIR holds `corpus.jsonl` {id, name, description, tags?, text?}, `queries.jsonl` {id, text} and `qrels.tsv`
(query id, document id, gain; tab-separated). Three rankings are measured: keyword, vectors and hybrid.
"""

import argparse
import json
import math
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from embeddings import EmbeddingSettings, choose
from registry.catalog.documents import CatalogDocuments
from registry.catalog.store import Catalog
from registry.database.sqlite import SqliteDatabase
from registry.domain.models import Skill, now
from results_file import keep
from search.engine import Engine
from search.modes import Mode
from search.service import SearchRequest

DEPTH = 10
MODES: dict[str, Mode] = {"words": "keyword", "vectors": "semantic", "hybrid": "hybrid"}
Gains = dict[str, float]
Measure = Callable[[Sequence[str], Gains], float]


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a file with one object per line."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def read_qrels(path: Path) -> dict[str, Gains]:
    """Return the gain of each relevant document, by query."""
    gains: dict[str, Gains] = {}
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            query, document, gain = line.rstrip("\n").split("\t")
            if float(gain) > 0:
                gains.setdefault(query, {})[document] = float(gain)
    return gains


def ndcg(ranking: Sequence[str], gains: Gains) -> float:
    """Return nDCG@10 with linear gains and log2 discounts (Järvelin and Kekäläinen, 2002)."""
    found = sum(gains.get(document, 0.0) / math.log2(rank + 2) for rank, document in enumerate(ranking[:DEPTH]))
    best = sorted(gains.values(), reverse=True)[:DEPTH]
    return found / sum(gain / math.log2(rank + 2) for rank, gain in enumerate(best))


def recall(depth: int) -> Measure:
    """Return a measure: the share of relevant documents that are among the first `depth`."""
    return lambda ranking, gains: len(set(ranking[:depth]) & gains.keys()) / len(gains)


def first_right(ranking: Sequence[str], gains: Gains) -> float:
    """Return 1 if the first document is relevant, else 0."""
    return float(bool(ranking) and ranking[0] in gains)


def reciprocal_rank(ranking: Sequence[str], gains: Gains) -> float:
    """Return 1 / the rank of the first relevant document within 10, else 0."""
    return next((1 / (rank + 1) for rank, document in enumerate(ranking[:DEPTH]) if document in gains), 0.0)


MEASURES: dict[str, Measure] = {
    "ndcg@10": ndcg,
    "hit@1": first_right,
    "recall@1": recall(1),
    "recall@5": recall(5),
    "recall@10": recall(10),
    "mrr@10": reciprocal_rank,
}


def fill(corpus: Sequence[dict[str, Any]], folder: Path) -> tuple[Engine, dict[int, str]]:
    """Return an engine over a catalog of the corpus, and the corpus id by document key."""
    database = SqliteDatabase(folder / "quality.db")
    catalog, documents = Catalog(database, now), CatalogDocuments(database)
    with database.write() as transaction:
        for number, entry in enumerate(corpus):
            skill = Skill(
                id=f"skill-{number}",
                name=entry["name"],
                description=entry.get("description") or "",
                tags=entry.get("tags") or [],
                version="1.0.0",
            )
            catalog.save(transaction, skill, entry.get("text") or "")
    keys = {
        key: corpus[int(skill_id.removeprefix("skill-"))]["id"]
        for skill_id, key in database.read("select id, key from skills")
    }
    settings = EmbeddingSettings(provider="local", cache_dir=Path(tempfile.gettempdir()) / "skill-registry-models")
    engine = Engine(documents, folder / "indexes", choose(settings), fallback_seconds=60)
    engine.start()
    engine.wait_until_embedded(24 * 3600)
    return engine, keys


def measure(engine: Engine, keys: dict[int, str], data: Path) -> dict[str, dict[str, float]]:
    """Return the mean of each measure over the labelled queries, by ranking."""
    gains = read_qrels(data / "qrels.tsv")
    queries = [query for query in read_jsonl(data / "queries.jsonl") if query["id"] in gains]
    results = {}
    for name, mode in MODES.items():
        sums = dict.fromkeys(MEASURES, 0.0)
        for query in queries:
            hits = engine.search.search(SearchRequest(query["text"], limit=DEPTH, mode=mode)).hits
            ranking = [keys[hit.key] for hit in hits]
            for measure_name, function in MEASURES.items():
                sums[measure_name] += function(ranking, gains[query["id"]])
        results[name] = {key: round(total / len(queries), 4) for key, total in sums.items()}
    return results


def main() -> None:
    """Measure one labelled set."""
    parser = argparse.ArgumentParser(description="Measure search quality on a labelled set.")
    parser.add_argument("--data", type=Path, required=True, help="folder with corpus, queries and qrels")
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    corpus = read_jsonl(arguments.data / "corpus.jsonl")
    with tempfile.TemporaryDirectory() as folder:
        engine, keys = fill(corpus, Path(folder))
        results = measure(engine, keys, arguments.data)
        engine.close()
    table = Table("", *MEASURES, title=f"{arguments.data.name}: {len(corpus)} documents")
    for name, values in results.items():
        table.add_row(name, *(f"{100 * value:.1f}" for value in values.values()))
    Console().print(table)
    keep(arguments.json, {"data": arguments.data.name, "documents": len(corpus), "results": results})


if __name__ == "__main__":
    main()
