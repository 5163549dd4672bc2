"""Training by contrast for `finetune.py`: batches of queries, their skills, and skills that are easy to confuse."""

import itertools
import math
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from low_rank import TunedEncoder

SKILLS_PER_BATCH = 16
QUERIES_OF_SKILL = 3
"""How many queries of a skill are in a batch, drawn again each time, so that each epoch has others."""

HARD_NEGATIVES = 2
GENERAL_TEXTS = 16
TEMPERATURE = 0.05
DISTILLATION_WEIGHT = 2.0
_EQUAL_COSINE = 0.8  # skills this near may be equally good answers, so they are no negatives
_SHINGLE = 5  # words; skills that share a run of this many words may be copies of each other
_PHRASE = 10  # a run of words in this many skills is a phrase of the trade, such as "use this skill when the"
_WARM_UP = 0.1
_WORDS = re.compile(r"\w+")


class Example(NamedTuple):
    """A skill with its queries. `confusable` are the numbers of other skills that are wrong answers."""

    skill: int
    queries: list[str]
    confusable: list[int]


class Lesson(NamedTuple):
    """What is learned from. `texts[n]` is the embedded text of skill n. `general` are texts of any kind.

    `plain` and `plain_general` are the vectors of both before the training, of shape (texts, dimension).
    """

    texts: list[str]
    plain: Tensor
    examples: list[Example]
    general: list[str]
    plain_general: Tensor


def shingles(texts: Sequence[str]) -> list[set[tuple[str, ...]]]:
    """Return the runs of five words in each text, without those that many texts have."""
    runs = []
    for text in texts:
        words = _WORDS.findall(text.lower())
        runs.append({tuple(words[start : start + _SHINGLE]) for start in range(len(words) - _SHINGLE + 1)})
    counts = Counter(run for text in runs for run in text)
    return [{run for run in text if counts[run] < _PHRASE} for text in runs]


def confusable(skill: int, found: Sequence[int], vectors: Tensor, runs: Sequence[set[tuple[str, ...]]]) -> list[int]:
    """Return those of the `found` skills that are wrong answers: neither near to the skill nor sharing a run of words.

    `vectors` has shape (skills, dimension), `runs` the shingles of each skill.
    """
    near = (vectors[list(found)] @ vectors[skill]).tolist()
    return [
        other
        for other, cosine in zip(found, near, strict=True)
        if other != skill and cosine < _EQUAL_COSINE and not runs[other] & runs[skill]
    ]


def train(
    encoder: TunedEncoder, lesson: Lesson, steps: int, rate: float, seed: int, report: Callable[[str], None]
) -> None:
    """Train the corrections of the encoder: contrast of queries and skills, and distillation of the plain model.

    A step learns from one batch.
    """
    chance = random.Random(seed)
    optimizer = torch.optim.AdamW(encoder.corrections(), lr=rate, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: rate_factor(step / steps))
    total = 0.0
    for step, batch in enumerate(itertools.islice(_batches(lesson.examples, chance), steps), 1):
        general = chance.sample(range(len(lesson.general)), GENERAL_TEXTS)
        loss = _contrast(encoder, lesson, batch, chance)
        kept = encoder([lesson.general[row] for row in general])
        loss = loss + DISTILLATION_WEIGHT * (1 - (kept * lesson.plain_general[general]).sum(1)).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(encoder.corrections(), 1.0)
        optimizer.step()
        schedule.step()
        total += loss.item()
        if step % 20 == 0:
            report(f"step {step} of {steps}: loss {total / 20:.3f}")
            total = 0.0


def _batches(examples: Sequence[Example], chance: random.Random) -> Iterator[list[Example]]:
    while True:
        shuffled = chance.sample(list(examples), len(examples))
        for start in range(0, len(shuffled), SKILLS_PER_BATCH):
            yield [_with_some_queries(example, chance) for example in shuffled[start : start + SKILLS_PER_BATCH]]


def _with_some_queries(example: Example, chance: random.Random) -> Example:
    count = min(QUERIES_OF_SKILL, len(example.queries))
    return example._replace(queries=chance.sample(example.queries, count))


def _contrast(encoder: TunedEncoder, lesson: Lesson, batch: Sequence[Example], chance: random.Random) -> Tensor:
    """Return the cross entropy of each query's skill against the other skills of the batch (van den Oord 2018)."""
    queries = [(example.skill, query) for example in batch for query in example.queries]
    skills = [example.skill for example in batch]
    for example in batch:
        skills += chance.sample(example.confusable, min(HARD_NEGATIVES, len(example.confusable)))
    skills = list(dict.fromkeys(skills))
    right = torch.tensor([skills.index(skill) for skill, _ in queries])
    logits = (
        encoder([query for _, query in queries]) @ encoder([lesson.texts[skill] for skill in skills]).T / TEMPERATURE
    )
    # Another skill that may be an equally good answer is no negative.
    near = lesson.plain[[skill for skill, _ in queries]] @ lesson.plain[skills].T >= _EQUAL_COSINE
    near[torch.arange(len(queries)), right] = False
    return nn.functional.cross_entropy(logits.masked_fill(near, float("-inf")), right)


def rate_factor(progress: float) -> float:
    """Return the factor on the learning rate: linear warm-up, then a cosine."""
    if progress < _WARM_UP:
        return progress / _WARM_UP + 0.01
    return 0.5 * (1 + math.cos(math.pi * min(1.0, progress)))
