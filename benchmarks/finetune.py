"""Tunes the default encoder for skills: a low-rank adapter, trained on queries that people would ask.

    python benchmarks/finetune.py --corpus DIR/prompts --gate DIR/usewhen DIR/toole … --out ADAPTER [--json OUT]
    python benchmarks/finetune.py … --out ADAPTER --average data/skills-1.safetensors

The queries are those of the part `train` of `data/intents.jsonl`; DIR/prompts has the texts of their skills. Where an
author says when to use one of these skills, that clause is a query for the rest of the description. No labelled data
set is trained on. Hard negatives are what the plain engine finds for a query, without skills that may be
equally good answers. The encoder also learns to keep the vectors that it had for general texts.

The packaged adapter is the mean of two: `data/skills-1.safetensors` was trained on the first three queries of 1,925
skills, the other one on all queries of 2,457.

The adapter is written only if it passes the gate: on the part `dev` of the intents the vectors gain at least 4 points
of nDCG@10 and the hybrid at least 1, and on no data set either of the two loses more than 0.5.

An operator can tune on own queries: `--intents FILE` has lines {"skill": id, "part": "train" or "dev", "queries":
[text, …]}, with the latest queries as `dev`, and `--corpus` a folder with a `corpus.jsonl` of the catalog.
"""

import argparse
import random
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

import contrast
import intents
import quality
from low_rank import TunedEncoder, write_mean
from results_file import keep
from search.requests import SearchRequest
from search.text import embedded_text
from search.types import Document

FOUND = 50
ASKED = 4
"""How many queries of a skill look for skills that are easy to confuse with it."""

GENERAL_TEXTS = 4000
GATE = {"vectors": 4.0, "hybrid": 1.0}
TOLERATED_LOSS = 0.5
_SENTENCE = re.compile(r"[A-Z][^.!?\n#|`*]{30,200}[.!?]")

Entry = dict[str, Any]


def text_of(entry: Entry) -> str:
    """Return the text from which the service makes the vector of a skill."""
    return embedded_text(Document(key=0, id="", name=entry["name"], description=entry.get("description") or ""))


def general_texts(corpus: Sequence[Entry], chance: random.Random) -> list[str]:
    """Return descriptions and sentences of bodies, half of each."""
    sentences = [sentence for entry in corpus for sentence in _SENTENCE.findall(entry.get("text") or "")[:8]]
    descriptions = [entry["description"] for entry in corpus if entry.get("description")]
    half = GENERAL_TEXTS // 2
    return chance.sample(sentences, min(half, len(sentences))) + chance.sample(
        descriptions, min(half, len(descriptions))
    )


def found_by_engine(corpus: Sequence[Entry], queries: Sequence[intents.Intents]) -> list[list[int]]:
    """Return the numbers of the skills that the plain engine finds for the queries of each skill, best first."""
    number = {entry["id"]: index for index, entry in enumerate(corpus)}
    with tempfile.TemporaryDirectory() as folder:
        engine, keys = quality.fill(corpus, Path(folder), "none")
        found = []
        for entry in queries:
            ranked: dict[int, None] = {}
            for query in entry.queries[:ASKED]:
                hits = engine.search.search(SearchRequest(query, limit=FOUND)).hits
                ranked.update((number[keys[hit.key]], None) for hit in hits)
            found.append(list(ranked))
        engine.close()
    return found


def lesson(corpus: Sequence[Entry], rows: Path, encoder: TunedEncoder, chance: random.Random) -> contrast.Lesson:
    """Return what is learned: the queries of each skill, with its hard negatives."""
    train, dev = intents.read("train", rows), intents.read("dev", rows)
    number = {entry["id"]: index for index, entry in enumerate(corpus)}
    texts = [text_of(entry) for entry in corpus]
    vectors, runs = encoder.encode(texts), contrast.shingles(texts)
    allowed = {number[entry.skill] for entry in train}
    examples = []
    for entry, found in zip(train, found_by_engine(corpus, train), strict=True):
        skill = number[entry.skill]
        # Only skills of the training part are negatives: no skill that is measured is pushed away.
        others = contrast.confusable(skill, [other for other in found if other in allowed], vectors, runs)
        examples.append(contrast.Example(skill, entry.queries, others))
    held_out = [number[entry.skill] for entry in dev]
    examples = [example for example in examples if not _copied(example.skill, held_out, vectors, runs)]
    examples += author_examples(corpus, examples, texts)
    general = general_texts(corpus, chance)
    vectors = torch.cat([vectors, encoder.encode(texts[len(corpus) :])])
    return contrast.Lesson(texts, vectors, examples, general, encoder.encode(general))


def author_examples(
    corpus: Sequence[Entry], examples: Sequence[contrast.Example], texts: list[str]
) -> list[contrast.Example]:
    """Return an example for each skill whose author says when to use it: that clause finds the rest of the text.

    The rest is appended to `texts`.
    """
    found = []
    for example in examples:
        entry = corpus[example.skill]
        if trigger := intents.trigger(entry.get("description") or ""):
            found.append(contrast.Example(len(texts), [trigger.when], example.confusable))
            texts.append(text_of(entry | {"description": trigger.rest}))
    return found


def _copied(skill: int, held_out: Sequence[int], vectors: torch.Tensor, runs: Sequence[set[tuple[str, ...]]]) -> bool:
    """Return whether a skill of the part `dev` is nearly the same skill."""
    return len(contrast.confusable(skill, held_out, vectors, runs)) < len(held_out)


def gate(corpus: Path, rows: Path, folders: Sequence[Path], adapter: Path) -> dict[str, Any]:
    """Return the figures of the plain and of the tuned engine on all data sets, and whether the gate is passed."""
    figures: dict[str, Any] = {}
    for name in ("none", str(adapter)):
        column = "plain" if name == "none" else "tuned"
        entries = quality.read_jsonl(corpus / "corpus.jsonl")
        with tempfile.TemporaryDirectory() as folder:
            engine, keys = quality.fill(entries, Path(folder), name)
            figures.setdefault("intents", {})[column] = quality.measure(
                engine, keys, intents.labelled(intents.read("dev", rows))
            )
            if (corpus / "qrels.tsv").exists():
                figures.setdefault(corpus.name, {})[column] = quality.measure(
                    engine, keys, quality.read_labelled(corpus)
                )
            engine.close()
        for data in folders:
            with tempfile.TemporaryDirectory() as folder:
                engine, keys = quality.fill(quality.read_jsonl(data / "corpus.jsonl"), Path(folder), name)
                figures.setdefault(data.name, {})[column] = quality.measure(engine, keys, quality.read_labelled(data))
                engine.close()
    gains = {name: {mode: _gain(columns, mode) for mode in GATE} for name, columns in figures.items()}
    enough = all(gains["intents"][mode] >= least for mode, least in GATE.items())
    harmless = all(gain >= -TOLERATED_LOSS for modes in gains.values() for gain in modes.values())
    return {"figures": figures, "gains": gains, "passed": enough and harmless}


def _gain(columns: dict[str, dict[str, dict[str, float]]], mode: str) -> float:
    """Return the gain in points of nDCG@10."""
    return round(100 * (columns["tuned"][mode]["ndcg@10"] - columns["plain"][mode]["ndcg@10"]), 2)


def tune(arguments: argparse.Namespace) -> tuple[Path, dict[str, Any]]:
    """Train. Return the file of the candidate, and what was learned from in how many minutes."""
    torch.manual_seed(arguments.seed)
    torch.set_num_threads(arguments.threads)
    chance, started = random.Random(arguments.seed), time.monotonic()
    encoder = TunedEncoder(arguments.rank)
    taught = lesson(quality.read_jsonl(arguments.corpus / "corpus.jsonl"), arguments.intents, encoder, chance)
    print(f"{len(taught.examples)} examples, {time.monotonic() - started:.0f} s to prepare", flush=True)
    contrast.train(
        encoder, taught, arguments.steps, arguments.rate, arguments.seed, lambda line: print(line, flush=True)
    )
    candidate = arguments.out.with_suffix(".candidate.safetensors")
    encoder.save(candidate)
    if arguments.average:
        write_mean([candidate, *arguments.average], candidate)
    return candidate, {"examples": len(taught.examples), "minutes": round((time.monotonic() - started) / 60, 1)}


def main() -> None:
    """Train, measure, and write the adapter if it is better."""
    parser = argparse.ArgumentParser(description="Tune the default encoder for skills.")
    parser.add_argument("--corpus", type=Path, required=True, help="folder with the corpus.jsonl of the skills")
    parser.add_argument("--intents", type=Path, default=intents.FILE, help="queries by skill")
    parser.add_argument("--gate", type=Path, nargs="*", default=[], help="data sets that must not lose")
    parser.add_argument("--out", type=Path, required=True, help="file of the adapter")
    parser.add_argument(
        "--average", type=Path, nargs="*", default=[], help="adapters whose mean with the new one counts"
    )
    parser.add_argument("--measure-only", action="store_true", help="measure the adapter in --out, without training")
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--steps", type=int, default=330, help="batches of 16 skills with three queries each")
    parser.add_argument("--rate", type=float, default=5e-4, help="learning rate")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", type=Path, help="file for the figures")
    arguments = parser.parse_args()
    candidate, training = (arguments.out, {}) if arguments.measure_only else tune(arguments)
    result = gate(arguments.corpus, arguments.intents, arguments.gate, candidate)
    print(result["gains"])
    keep(arguments.json, training | result)
    if not result["passed"]:
        sys.exit(f"The gate is not passed by {candidate}.")
    candidate.replace(arguments.out)


if __name__ == "__main__":
    main()
