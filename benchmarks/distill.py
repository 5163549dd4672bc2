"""Makes a smaller query encoder: the tuned encoder, pruned, and taught to make the vectors that the whole one makes.

    python benchmarks/distill.py --corpus DIR/prompts --texts FILE … --out STUDENT [--share 0.45] [--steps 4000]
    python benchmarks/distill.py --measure STUDENT --data DIR/prompts DIR/usewhen … [--json OUT]

Documents keep their vectors and only queries use the student, so it has to meet the same space. It has all layers, and
in each of them only the heads and neurons that matter most (`pruning.py`). It learns from the queries of the part
`train` of `data/intents.jsonl`, from sentences of their skills, and from the lines of `--texts`, which `other_texts.py`
makes: the vector of a text, the vector of each token after each layer (Jiao et al. 2020, TinyBERT, arXiv:1909.10351),
and how similar the text is to each skill. No labelled data set is trained on.

The second form measures nDCG@10 with queries of the tuned encoder and of the student, over the same documents, and the
time of one encoder divided by that of the other. With the data set `prompts`, the queries of the part `dev` of the
intents are measured too.
"""

import argparse
import functools
import itertools
import json
import random
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from safetensors.numpy import load_file
from safetensors.torch import save_file
from torch import Tensor, nn

import intents
import pruning
import quality
from contrast import rate_factor
from embeddings import adapter, converted
from embeddings.base import Vector
from embeddings.encoder import Encoder
from embeddings.models import default_model
from finetune import text_of
from low_rank import TunedEncoder, pooled
from results_file import keep
from search.engine import Engine
from search.requests import SearchRequest
from search.vectors.query_vectors import QueryVectors

MAX_TOKENS = 64
BATCH = 64
TIMED = 300
_WINDOW = 16  # batches that are sorted by length together
_PART_SHARE = 0.25  # parts of texts, as bare search words are
_SENTENCES = 200  # of a skill
_CALIBRATION = 2300  # texts that say what to prune
_HELD_OUT = 280  # texts that say how much of each layer
_TEMPERATURE = 0.05
_WEIGHTS = (10.0, 1.0, 1.0, 1.0)
"""Of the distance of vectors, of tokens, of the similarities to skills, and of tokens after earlier layers."""
_SENTENCE = re.compile(r"[^.!?\n#|`*]{12,240}")


class Texts(NamedTuple):
    """Texts to learn from, by where they come from."""

    queries: list[str]
    sentences: list[str]
    others: list[str]

    @classmethod
    def read(cls, corpus: Sequence[dict[str, Any]], files: Sequence[Path]) -> Self:
        """Return the texts of intents, of their skills, and of files with one text a line."""
        queries = [query for entry in intents.read("train") for query in entry.queries]
        sentences = []
        for entry in corpus:
            found = (part.strip() for part in _SENTENCE.findall(entry.get("text") or ""))
            sentences += [part for part in found if len(part.split()) >= 3][:_SENTENCES]
            sentences += [entry["name"], text_of(entry)]
        others = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
        return cls(queries, sentences, others or sentences)

    def drawn(self, chance: random.Random) -> Iterator[str]:
        """Yield whole texts for ever."""
        while True:
            [source] = chance.choices(self, (0.3, 0.25, 0.45))
            yield chance.choice(source)


def shortened(texts: Iterator[str], chance: random.Random) -> Iterator[str]:
    """Yield the texts, some of them cut to a few words."""
    for text in texts:
        words = text.split()
        if chance.random() < _PART_SHARE and len(words) > 5:
            start = chance.randrange(len(words) - 3)
            yield " ".join(words[start : start + chance.randint(3, 12)])
        else:
            yield text


def batches(texts: Iterator[str], chance: random.Random) -> Iterator[list[str]]:
    """Yield batches of texts of similar length."""
    while True:
        window = sorted(itertools.islice(texts, BATCH * _WINDOW), key=len)
        parts = [window[start : start + BATCH] for start in range(0, len(window), BATCH)]
        chance.shuffle(parts)
        yield from parts


def make_student(encoder: TunedEncoder, teacher: nn.Module, texts: Iterator[str], share: float) -> nn.Module:
    """Return the teacher with a share of the parameters of its layers, ready to be trained."""

    def drawn(count: int) -> list[Any]:
        ordered = sorted(itertools.islice(texts, count), key=len)
        return [encoder.tokens(ordered[start : start + BATCH], MAX_TOKENS) for start in range(0, count, BATCH)]

    student = pruning.prune(teacher, drawn(_CALIBRATION), drawn(_HELD_OUT), share)
    student.requires_grad_(requires_grad=False)
    student.encoder.requires_grad_(requires_grad=True)
    return student


def losses(teacher: nn.Module, student: nn.Module, batch: Any, skills: Tensor) -> Tensor:
    """Return how far the student is from the teacher: in the four ways that have `_WEIGHTS`."""
    mask = batch["attention_mask"][..., None].float()

    def apart(made: Tensor, wanted: Tensor) -> Tensor:
        return ((wanted - made) ** 2 * mask).sum() / (wanted**2 * mask).sum()

    with torch.no_grad():
        wanted = teacher(**batch, output_hidden_states=True).hidden_states
    made = student(**batch, output_hidden_states=True).hidden_states
    wanted_vector, vector = (pooled(tokens[-1], batch["attention_mask"]) for tokens in (wanted, made))
    ranking, wanted_ranking = ((one @ skills.T / _TEMPERATURE).log_softmax(1) for one in (vector, wanted_vector))
    distance = 1 - (wanted_vector * vector).sum(1).mean()
    similarities = nn.functional.kl_div(ranking, wanted_ranking, log_target=True, reduction="batchmean")
    earlier = [apart(*pair) for pair in zip(made[1:-1], wanted[1:-1], strict=True)]
    return torch.stack((distance, apart(made[-1], wanted[-1]), similarities, torch.stack(earlier).mean()))


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
    texts = Texts.read(corpus, arguments.texts).drawn(chance)
    student = make_student(encoder, teacher, texts, arguments.share)
    parameters = list(student.encoder.parameters())
    optimizer = torch.optim.AdamW(parameters, lr=arguments.rate, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: rate_factor(step / arguments.steps))
    weights, total = torch.tensor(_WEIGHTS), torch.zeros(len(_WEIGHTS))
    learned = itertools.islice(batches(shortened(texts, chance), chance), arguments.steps)
    for step, batch in enumerate(learned, 1):
        parts = losses(teacher, student, encoder.tokens(batch, MAX_TOKENS), skills)
        optimizer.zero_grad()
        (parts * weights).sum().backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        schedule.step()
        total += parts.detach()
        if step % 50 == 0:
            shown = ", ".join(f"{value:.4f}" for value in (total / 50).tolist())
            print(f"step {step} of {arguments.steps}, {time.monotonic() - started:.0f} s: {shown}", flush=True)
            total.zero_()
    kept = {f"encoder.{name}": tensor.half().contiguous() for name, tensor in student.encoder.state_dict().items()}
    save_file(kept, arguments.out)


def gains(data: Path, student: Encoder) -> dict[str, dict[str, Any]]:
    """Return nDCG@10 of each set of queries by ranking, of the encoder and of the student, and the points between."""
    sets = {data.name: quality.read_labelled(data)}
    if data.name == "prompts":
        sets["intents"] = intents.labelled(intents.read("dev"))
    with tempfile.TemporaryDirectory() as folder:
        engine, keys = quality.fill(quality.read_jsonl(data / "corpus.jsonl"), Path(folder))
        rows: dict[str, dict[str, Any]] = {name: {} for name in sets}
        for column, encoder in (("encoder", whole_encoder()), ("student", student)):
            _answer_with(engine, encoder.encode)
            for name, labelled in sets.items():
                figures = quality.measure(engine, keys, labelled)
                rows[name][column] = {mode: figures[mode]["ndcg@10"] for mode in ("vectors", "hybrid")}
        engine.close()
    for row in rows.values():
        row["points"] = {mode: round(100 * (row["student"][mode] - row["encoder"][mode]), 2) for mode in row["encoder"]}
    return rows


def _answer_with(engine: Engine, encode: Callable[[str], Vector]) -> None:
    """Let the engine embed queries with an encoder. Vectors that it remembers are forgotten."""
    engine.search.search(SearchRequest("the model is loaded"))
    engine.search._query_vectors = QueryVectors(60)
    engine.search._semantic().embedder.queries = lambda texts: np.stack([encode(text) for text in texts])


@functools.cache
def whole_encoder() -> Encoder:
    """Return the tuned encoder as the service runs it."""
    return Encoder(converted.convert(default_model(adapter.find(adapter.AUTO, is_default_model=True))), threads=1)


class StudentLayers(adapter.Adapter):
    """The layers of a student, in place of those of the checkpoint."""

    def corrected(self, weights: adapter.Weights) -> adapter.Weights:
        """Return a function that returns tensors of the student, else of the checkpoint."""
        layers = {name: tensor.astype("float32") for name, tensor in load_file(self.path).items()}
        return lambda name: layers[name] if name in layers else weights(name)


def converted_student(path: Path) -> Encoder:
    """Return the student as the service would run it."""
    return Encoder(converted.convert(default_model(StudentLayers(path, path.stem))), threads=1)


def time_ratio(data: Path, student: Encoder) -> float:
    """Return the median of the student's time divided by the encoder's, asked in turns."""
    whole, ratios = whole_encoder(), []
    for query in quality.read_jsonl(data / "queries.jsonl")[:TIMED]:
        times = []
        for encoder in (student, whole):
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
    parser = argparse.ArgumentParser(description="Make a smaller query encoder.")
    parser.add_argument("--corpus", type=Path, help="folder with the corpus.jsonl of the skills")
    parser.add_argument("--adapter", type=Path, default=adapter.find(adapter.AUTO, is_default_model=True).path)
    parser.add_argument("--out", type=Path, help="file of the student")
    parser.add_argument("--texts", type=Path, nargs="*", default=[], help="files with one text a line")
    parser.add_argument("--share", type=float, default=0.45, help="of the parameters of the layers that stay")
    parser.add_argument("--steps", type=int, default=4000, help="batches of 64 texts")
    parser.add_argument("--rate", type=float, default=3e-4, help="learning rate")
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
