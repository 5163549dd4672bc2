"""The index of copies over many batches: it knows what a plain model knows, and a write works on what it changes."""

import random
import threading
import tracemalloc
from collections.abc import Iterable, Sequence

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from search.copies.index import CopyIndex
from search.copies.likeness import SIGNATURE_WORDS, Signatures, are_copies, description_hashes, name_hashes, signature
from search.copies.originals import MOST_COMPARED
from search.types import Document, DocumentGone, DocumentPut

_NO_COPY = np.zeros(SIGNATURE_WORDS, np.uint64)
_WORDS = [f"word{number}" for number in range(200)]


def _texts() -> list[str]:
    """Return chains of texts, where neighbours are copies and others are not, and some texts of too few words."""
    chains = []
    for chain in range(100):
        words = random.Random(chain).choices(_WORDS, k=90)
        chains += [" ".join(words[12 * step : 12 * step + 50]) for step in range(4 if chain < 6 else 1)]
    return [*chains, "# Body", "# Title"]


TEXTS = _texts()


def document(key: int, choice: int) -> Document:
    """Return one of some hundred different documents: of three names and three descriptions, half of few texts."""
    chosen = random.Random(choice)
    body = chosen.choice(TEXTS if choice % 2 else [*TEXTS[:12], *TEXTS[-2:]])
    name, description = f"name {chosen.randrange(3)}", f"Does {chosen.choice('abc')}."
    return Document(key=key, id=f"skill-{key}", name=name, description=description, body=body)


SIGNATURES = np.stack([signature(document(0, choice)) for choice in range(400)])


class Model:
    """What each document is a copy of, by the rules alone: all of them are looked at for each change."""

    def __init__(self) -> None:
        self.signatures: dict[int, Signatures] = {}
        self.originals: dict[int, int] = {}

    def apply(self, latest: dict[int, Signatures]) -> None:
        known = {key: self.signatures.get(key, _NO_COPY) for key in latest}
        changed = {key: new for key, new in latest.items() if (new != known[key]).any()}
        loose = {key for key, original in self.originals.items() if original in changed} | changed.keys()
        self.signatures |= changed
        self.originals |= {key: key for key in loose}
        settled = sorted(
            key
            for key, original in self.originals.items()
            if key == original and key not in loose and self.signatures[key][0]
        )
        for key in sorted(key for key in loose if self.signatures[key][0]):
            self.originals[key] = self._first(key, settled)
            settled += [key] * (self.originals[key] == key)

    def _first(self, key: int, settled: Sequence[int]) -> int:
        if not settled:
            return key
        one, others = self.signatures[key], np.stack([self.signatures[other] for other in settled])
        same_name = name_hashes(others) == name_hashes(one[None])
        same_description = description_hashes(others) == description_hashes(one[None])
        compared = np.union1d(
            np.flatnonzero(same_name)[:MOST_COMPARED], np.flatnonzero(same_description)[:MOST_COMPARED]
        )
        alike = compared[are_copies(np.tile(one, (len(compared), 1)), others[compared])]
        return min((settled[row] for row in alike.tolist()), default=key)

    def families(self) -> dict[int, list[int]]:
        members: dict[int, list[int]] = {}
        for key, original in sorted(self.originals.items()):
            members.setdefault(original, []).append(key)
        return {key: members[own] for key, own in self.originals.items() if len(members[own]) > 1}


def empty() -> CopyIndex:
    return CopyIndex(np.empty(0, np.int64), np.empty((0, SIGNATURE_WORDS), np.uint64))


def apply(index: CopyIndex, choices: dict[int, int | None]) -> None:
    """Apply a batch: the document that each key has from now on, None for none."""
    index.apply(
        DocumentGone(1, key) if choice is None else DocumentPut(1, document(key, choice))
        for key, choice in choices.items()
    )


def signatures_of(choices: dict[int, int | None]) -> dict[int, Signatures]:
    return {key: _NO_COPY if choice is None else SIGNATURES[choice] for key, choice in choices.items()}


def batch(seed: int, keys: Iterable[int], count: int) -> dict[int, int | None]:
    """Return changes of some of the keys: a fifth of them go."""
    drawn = random.Random(seed)
    chosen = drawn.sample(list(keys), count)
    return {key: drawn.randrange(len(SIGNATURES)) if drawn.random() < 0.8 else None for key in chosen}


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from([0, 30, 700]),
    st.lists(st.tuples(st.integers(0, 2**32), st.sampled_from([1, 1, 4, 30, 600])), min_size=1, max_size=8),
)
def test_batches_of_any_sizes_give_what_the_rules_say(begun: int, batches: list[tuple[int, int]]) -> None:
    keys = range(1, max(begun, 600) + 20)
    first = signatures_of(batch(begun, keys, begun))
    index = CopyIndex(
        np.array(list(first), np.int64), np.stack([*first.values()]) if first else np.empty((0, 9), np.uint64)
    )
    model = Model()
    model.apply(first)
    for seed, count in batches:
        changes = batch(seed, keys, count)
        apply(index, changes)
        model.apply(signatures_of(changes))
    families = model.families()
    assert index.families(list(keys)) == families
    assert index.originals(np.array(keys, np.int64)).tolist() == [model.originals.get(key, key) for key in keys]
    assert len(index) == sum(key != original for key, original in model.originals.items())
    page = random.Random(len(batches)).sample(list(keys), 200)
    ranked = sorted(ranks for ranks in index.ranks(np.array(page, np.int64)) if len(ranks) > 1)
    places = {own[0]: [page.index(key) for key in own if key in page] for own in families.values()}
    assert ranked == sorted(sorted(ranks) for ranks in places.values() if len(ranks) > 1)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 399), min_size=1, max_size=60), st.integers(1, 7))
def test_new_documents_in_their_order_are_read_like_all_at_once(choices: list[int], size: int) -> None:
    all_of_them = dict(enumerate(choices, 1))
    whole, parts = empty(), empty()
    apply(whole, dict(all_of_them))
    for start in range(1, len(choices) + 1, size):
        apply(parts, {key: all_of_them[key] for key in range(start, min(start + size, len(choices) + 1))})
    assert parts.families(list(all_of_them)) == whole.families(list(all_of_them))
    assert len(parts) == len(whole)


def most_memory_of_a_write(documents: int) -> int:
    """Return the most bytes that one of some writes takes, in a catalog where every other skill is a copy."""
    signatures = np.random.default_rng(0).integers(1, 2**63, (documents // 2, SIGNATURE_WORDS), dtype=np.uint64)
    index = CopyIndex(np.arange(1, documents + 1), np.concatenate((signatures, signatures)))
    assert len(index) == documents // 2
    signature(document(0, 1))
    peaks = []
    for key, choice in [(1, 1), (documents, 2), (documents + 1, 3), (5, None), (documents + 1, 4), (documents + 2, 3)]:
        tracemalloc.start()
        apply(index, {key: choice})
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    return max(peaks)


def test_a_write_works_on_what_it_changes_and_not_on_the_catalog() -> None:
    assert most_memory_of_a_write(64_000) < 2 * most_memory_of_a_write(2_000)


@pytest.mark.parametrize("count", [300, 1_000])
def test_a_search_sees_all_of_a_batch_or_none(count: int) -> None:
    index, keys = empty(), np.arange(1, count + 1)
    seen, ended = [], threading.Event()

    def search() -> None:
        while not ended.is_set():
            seen.append((index.families([1]), index.originals(keys)))

    thread = threading.Thread(target=search)
    thread.start()
    for choice in [1, None] * 5:
        apply(index, dict.fromkeys(keys.tolist(), choice))
    ended.set()
    thread.join()
    assert {len(family) for families, _ in seen for family in families.values()} <= {count}
    assert {int(np.count_nonzero(originals == 1)) for _, originals in seen} <= {1, count}
