"""Distils a smaller query encoder: three layers that make the vectors which the six of the tuned encoder make.

    python benchmarks/distill.py --corpus DIR/prompts --out STUDENT [--start STUDENT] [--steps 1600]
    python benchmarks/distill.py --measure STUDENT --data DIR/prompts DIR/usewhen … [--json OUT]

Documents keep their vectors and only queries would use the student, so it has to meet the same space. It learns from
the queries of the part `train` of `data/intents.jsonl` and from sentences of their skills: the vector of a text, the
vector of each token (Jiao et al. 2020, TinyBERT, arXiv:1909.10351), and how similar the text is to each skill. No
labelled data set is trained on.

The second form measures nDCG@10 with queries of the tuned encoder and of the student, over the same documents, and the
time of one encoder divided by that of the other. With the data set `prompts`, the queries of the part `dev` of the
intents are measured too.
"""

import argparse
import copy
import dataclasses
import itertools
import json
import math
import random
import re
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import load_file
from safetensors.torch import load_file as load_tensors
from safetensors.torch import save_file
from torch import Tensor, nn

import intents
import quality
from embeddings import adapter, converted
from embeddings.base import Matrix, Vector
from embeddings.encoder import Encoder
from embeddings.models import default_model
from finetune import text_of
from low_rank import TunedEncoder, pooled
from results_file import keep
from search.requests import SearchRequest

LAYERS = (0, 2, 5)
"""The layers of the encoder from which those of the student start."""

MAX_TOKENS = 64
BATCH = 64
TIMED = 300
_WINDOW = 16  # batches that are sorted by length together
_QUERY_SHARE = 0.3
_PART_SHARE = 0.3  # parts of sentences, as bare search words are
_SENTENCES = 200  # of a skill
_TEMPERATURE = 0.05
_WARM_UP = 0.05
_DISTANCE_WEIGHT = 10
_SENTENCE = re.compile(r"[^.!?\n#|`*]{12,240}")


def texts_to_learn(corpus: Sequence[dict[str, Any]], chance: random.Random) -> Iterator[str]:
    """Yield queries and sentences for ever."""
    written = [query for entry in intents.read("train") for query in entry.queries]
    sentences = []
    for entry in corpus:
        found = (part.strip() for part in _SENTENCE.findall(entry.get("text") or ""))
        sentences += [part for part in found if len(part.split()) >= 3][:_SENTENCES]
        sentences += [entry["name"], text_of(entry)]
    while True:
        text = chance.choice(written if chance.random() < _QUERY_SHARE else sentences)
        words = text.split()
        if chance.random() < _PART_SHARE and len(words) > 5:
            start = chance.randrange(len(words) - 3)
            text = " ".join(words[start : start + chance.randint(3, 12)])
        yield text


def batches(texts: Iterator[str], chance: random.Random) -> Iterator[list[str]]:
    """Yield batches of texts of similar length."""
    while True:
        window = sorted(itertools.islice(texts, BATCH * _WINDOW), key=len)
        parts = [window[start : start + BATCH] for start in range(0, len(window), BATCH)]
        chance.shuffle(parts)
        yield from parts


def make_student(teacher: nn.Module, start: Path | None) -> nn.Module:
    """Return a student with the embeddings and some of the layers of the teacher."""
    student = copy.deepcopy(teacher)
    student.encoder.layer = nn.ModuleList(student.encoder.layer[number] for number in LAYERS)
    if start:
        student.encoder.load_state_dict({name: tensor.float() for name, tensor in load_tensors(start).items()})
    student.requires_grad_(requires_grad=False)
    student.encoder.requires_grad_(requires_grad=True)
    return student


def losses(teacher: nn.Module, student: nn.Module, batch: Any, skills: Tensor) -> Tensor:
    """Return how far the student is from the teacher: in the cosine, in tokens, and in the ranking of the skills."""
    mask = batch["attention_mask"][..., None].float()
    with torch.no_grad():
        wanted = teacher(**batch).last_hidden_state
    made = student(**batch).last_hidden_state
    wanted_vector, vector = (pooled(tokens, batch["attention_mask"]) for tokens in (wanted, made))
    ranking, wanted_ranking = ((one @ skills.T / _TEMPERATURE).log_softmax(1) for one in (vector, wanted_vector))
    distance = 1 - (wanted_vector * vector).sum(1).mean()
    tokens = ((wanted - made) ** 2 * mask).sum() / (wanted**2 * mask).sum()
    apart = nn.functional.kl_div(ranking, wanted_ranking, log_target=True, reduction="batchmean")
    return torch.stack((distance, tokens, apart))


def train(arguments: argparse.Namespace) -> None:
    """Train the student and write it."""
    torch.manual_seed(arguments.seed)
    torch.set_num_threads(arguments.threads)
    chance, started = random.Random(arguments.seed), time.monotonic()
    known = {entry.skill for entry in intents.read("train")}
    corpus = [entry for entry in quality.read_jsonl(arguments.corpus / "corpus.jsonl") if entry["id"] in known]
    encoder = TunedEncoder(1)
    teacher = encoder.merged(arguments.adapter)
    skills = encoder.encode([text_of(entry) for entry in corpus])
    student = make_student(teacher, arguments.start)
    parameters = [parameter for parameter in student.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=arguments.rate, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _rate_factor((step + 1) / arguments.steps))
    weights, total = torch.tensor([_DISTANCE_WEIGHT, 1.0, 1.0]), torch.zeros(3)
    learned = itertools.islice(batches(texts_to_learn(corpus, chance), chance), arguments.steps)
    for step, texts in enumerate(learned, 1):
        parts = losses(teacher, student, encoder.tokens(texts, MAX_TOKENS), skills)
        optimizer.zero_grad()
        (parts * weights).sum().backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        schedule.step()
        total += parts.detach()
        if step % 50 == 0:
            shown = ", ".join(f"{value:.4f}" for value in (total / 50).tolist())
            print(f"step {step} of {arguments.steps}, {time.monotonic() - started:.0f} s: {shown}", flush=True)
            total = torch.zeros(3)
    kept = {name: tensor.half().contiguous() for name, tensor in student.encoder.state_dict().items()}
    save_file(kept, arguments.out)


def _rate_factor(progress: float) -> float:
    return min(1.0, progress / _WARM_UP) * 0.5 * (1 + math.cos(math.pi * min(1.0, progress)))


class StudentLayers(adapter.Adapter):
    """The layers of a student, in place of those of the checkpoint."""

    def corrected(self, weights: adapter.Weights) -> adapter.Weights:
        """Return a function that returns tensors of the student, else of the checkpoint."""
        layers = {f"encoder.{name}": tensor.astype("float32") for name, tensor in load_file(self.path).items()}
        return lambda name: layers[name] if name in layers else weights(name)


def converted_student(path: Path) -> Encoder:
    """Return the student as the service would run it."""
    plain = default_model()
    source = plain.checkpoint()
    smaller = dataclasses.replace(source, shape=dataclasses.replace(source.shape, num_hidden_layers=len(LAYERS)))
    model = dataclasses.replace(plain, checkpoint=lambda: smaller, adapter=StudentLayers(path, path.stem))
    return Encoder(converted.convert(model), threads=1)


def gains(data: Path, student: Encoder) -> dict[str, dict[str, Any]]:
    """Return nDCG@10 of each set of queries by ranking, of the encoder and of the student, and the points between."""
    sets = {data.name: quality.read_labelled(data)}
    if data.name == "prompts":
        sets["intents"] = intents.labelled(intents.read("dev"))
    rows: dict[str, dict[str, Any]] = {name: {} for name in sets}
    for column, encode in (("encoder", None), ("student", student.encode)):
        with tempfile.TemporaryDirectory() as folder:
            engine, keys = quality.fill(quality.read_jsonl(data / "corpus.jsonl"), Path(folder))
            if encode:
                _answer_with(engine, encode)
            for name, labelled in sets.items():
                figures = quality.measure(engine, keys, labelled)
                rows[name][column] = {mode: figures[mode]["ndcg@10"] for mode in ("vectors", "hybrid")}
            engine.close()
    for row in rows.values():
        row["points"] = {mode: round(100 * (row["student"][mode] - row["encoder"][mode]), 2) for mode in row["encoder"]}
    return rows


def _answer_with(engine: Any, encode: Any) -> None:
    """Let the engine embed queries with another encoder."""
    engine.search.search(SearchRequest("the model is loaded"))

    def queries(texts: Sequence[str]) -> Matrix:
        vectors: list[Vector] = [encode(text) for text in texts]
        return np.stack(vectors)

    engine.search._semantic().embedder.queries = queries


def time_ratio(data: Path, student: Encoder) -> float:
    """Return the median of the student's time divided by the encoder's, asked in turns."""
    full = Encoder(converted.convert(default_model(adapter.find(adapter.AUTO, is_default_model=True))), threads=1)
    ratios = []
    for query in quality.read_jsonl(data / "queries.jsonl")[:TIMED]:
        times = []
        for encoder in (student, full):
            started = time.perf_counter()
            encoder.encode(query["text"])
            times.append(time.perf_counter() - started)
        ratios.append(times[0] / times[1])
    return round(statistics.median(ratios), 3)


def measure(arguments: argparse.Namespace) -> None:
    """Measure a student."""
    student = converted_student(arguments.measure)
    results: dict[str, Any] = {"time, student / encoder": time_ratio(arguments.data[0], student)}
    for data in arguments.data:
        for name, row in gains(data, student).items():
            results[name] = row
            print(name, json.dumps(row), flush=True)
    keep(arguments.json, results)


def main() -> None:
    """Train or measure."""
    parser = argparse.ArgumentParser(description="Distil a smaller query encoder.")
    parser.add_argument("--corpus", type=Path, help="folder with the corpus.jsonl of the skills")
    parser.add_argument("--adapter", type=Path, default=adapter.find(adapter.AUTO, is_default_model=True).path)
    parser.add_argument("--out", type=Path, help="file of the student")
    parser.add_argument("--start", type=Path, help="a student to go on from")
    parser.add_argument("--steps", type=int, default=1600, help="batches of 64 texts")
    parser.add_argument("--rate", type=float, default=4e-4, help="learning rate")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--measure", type=Path, help="a student to measure")
    parser.add_argument("--data", type=Path, nargs="*", default=[], help="labelled data sets")
    parser.add_argument("--json", type=Path, help="file for the figures")
    arguments = parser.parse_args()
    if arguments.measure:
        measure(arguments)
    else:
        train(arguments)


if __name__ == "__main__":
    main()
