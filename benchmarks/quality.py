"""Search quality: nDCG@10, recall and MRR over a labelled data set, with the engine of the service.

    python benchmarks/quality.py --data DIR [--intents] [--adapter auto|none|FILE] [--json OUT]

DIR holds `corpus.jsonl` {id, name, description, tags?, text?}, `queries.jsonl` {id, text} and `qrels.tsv`
(query id, document id, gain; tab-separated). Three rankings are measured: keyword, vectors and hybrid. `--intents`
takes the queries of the part `dev` of `data/intents.jsonl` instead; DIR is then the data set `prompts`.
"""

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import intents
from embeddings import EmbeddingSettings, choose
from registry.catalog.documents import CatalogDocuments
from registry.catalog.store import Catalog
from registry.database.sqlite import SqliteDatabase
from registry.domain.models import Skill, now
from registry.evaluation.dataset import read_qrels
from registry.evaluation.measures import DEPTH, MEASURES, Gains
from results_file import keep
from search.engine import Engine
from search.modes import Mode
from search.requests import SearchRequest

MODES: dict[str, Mode] = {"words": "keyword", "vectors": "semantic", "hybrid": "hybrid"}
Labelled = tuple[list[dict[str, Any]], dict[str, Gains]]


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a file with one object per line."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def fill(corpus: Sequence[dict[str, Any]], folder: Path, adapter: str = "auto") -> tuple[Engine, dict[int, str]]:
    """Return an engine over a catalog of the corpus, and the corpus id by document key.

    Raises SystemExit if a document has no vector: a half-filled index gives figures that are wrong.
    """
    database = SqliteDatabase(folder / "quality.db")
    catalog, documents = Catalog(database, now), CatalogDocuments(database)
    with database.write() as transaction:
        for number, entry in enumerate(corpus):
            skill = Skill(
                id=f"skill-{number}",
                name=entry["name"],
                description=entry.get("description") or "",
                tags=entry.get("tags") or [],
                triggers=entry.get("triggers") or [],
                version="1.0.0",
            )
            catalog.save(transaction, skill, entry.get("text") or "")
    keys = {
        key: corpus[int(skill_id.removeprefix("skill-"))]["id"]
        for skill_id, key in database.read("select id, key from skills")
    }
    models = Path(tempfile.gettempdir()) / "skill-registry-models"
    settings = EmbeddingSettings(provider="local", adapter=adapter, cache_dir=models)
    engine = Engine(documents, folder / "indexes", choose(settings), fallback_seconds=60)
    engine.start()
    engine.wait_until_embedded(24 * 3600)
    check_complete(engine)
    return engine, keys


def check_complete(engine: Engine) -> None:
    """Raise SystemExit if a document has no vector."""
    if pending := engine.status().pending:
        raise SystemExit(f"{pending} documents have no vector, so the figures would be wrong. The log has the reason.")


def read_labelled(data: Path) -> Labelled:
    """Return the queries of a data set that have a right answer, and the gains of their documents."""
    gains = read_qrels(data / "qrels.tsv")
    return [query for query in read_jsonl(data / "queries.jsonl") if query["id"] in gains], gains


def measure(engine: Engine, keys: dict[int, str], labelled: Labelled) -> dict[str, dict[str, float]]:
    """Return the mean of each measure over the labelled queries, by ranking."""
    queries, gains = labelled
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
    parser.add_argument("--intents", action="store_true", help="measure the queries of data/intents.jsonl")
    parser.add_argument("--adapter", default="auto", help="auto, none or the path of an adapter")
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    corpus = read_jsonl(arguments.data / "corpus.jsonl")
    labelled = intents.labelled(intents.read("dev")) if arguments.intents else read_labelled(arguments.data)
    name = "intents" if arguments.intents else arguments.data.name
    with tempfile.TemporaryDirectory() as folder:
        engine, keys = fill(corpus, Path(folder), arguments.adapter)
        results = measure(engine, keys, labelled)
        engine.close()
    table = Table("", *MEASURES, title=f"{name}: {len(corpus)} documents")
    for ranking, values in results.items():
        table.add_row(ranking, *(f"{100 * value:.1f}" for value in values.values()))
    Console().print(table)
    keep(arguments.json, {"data": name, "adapter": arguments.adapter, "documents": len(corpus), "results": results})


if __name__ == "__main__":
    main()
