"""Near-copies: which skills are copies of which, in whatever order they come, change and go."""

import random
from collections.abc import Sequence

import numpy as np
import pytest

from search.copies.index import CopyIndex
from search.copies.likeness import SIGNATURE_WORDS, are_copies, signature
from search.types import Document, DocumentGone, DocumentPut

_WORDS = [f"word{number}" for number in range(400)]


def text(seed: int, count: int = 300) -> str:
    return " ".join(random.Random(seed).choices(_WORDS, k=count))


def edited(body: str, share: float, seed: int = 9) -> str:
    """Return a text of which a share of the words is replaced, in one piece."""
    words = body.split()
    count = int(len(words) * share)
    return " ".join([*words[count:], *text(seed, count).split()])


def document(key: int, body: str, name: str = "backup", description: str = "Back up a folder.") -> Document:
    return Document(key=key, id=f"skill-{key}", name=name, description=description, body=body)


def empty() -> CopyIndex:
    return CopyIndex(np.empty(0, np.int64), np.empty((0, SIGNATURE_WORDS), np.uint64))


def index_of(documents: Sequence[Document]) -> CopyIndex:
    index = empty()
    index.apply([DocumentPut(each.key, each) for each in documents])
    return index


def families(index: CopyIndex, keys: Sequence[int]) -> set[tuple[int, ...]]:
    return {tuple(family) for family in index.families(keys).values()}


@pytest.mark.parametrize(
    ("name", "description", "share", "is_copy"),
    [
        ("backup", "Back up a folder.", 0.0, True),
        ("Backup", "Saves your files.", 0.2, True),
        ("backup", "Saves your files.", 0.7, False),
        ("saver", "Back  up a folder.", 0.05, True),
        ("saver", "Back up a folder.", 0.3, False),
        ("saver", "Saves your files.", 0.0, False),  # made of one text for another purpose
    ],
)
def test_copies_have_one_text_and_one_name_or_description(
    name: str, description: str, share: float, *, is_copy: bool
) -> None:
    one = document(1, text(1))
    other = document(2, edited(one.body, share), name, description)
    assert are_copies(signature(one)[None], signature(other)[None]).tolist() == [is_copy]


def test_skills_of_a_few_words_are_no_copies() -> None:
    assert families(index_of([document(key, "# Body") for key in (1, 2)]), [1, 2]) == set()


def test_the_oldest_is_the_original_in_whatever_order_they_come() -> None:
    documents = [document(key, edited(text(key // 10), 0.01 * (key % 10))) for key in (11, 12, 13, 21, 22, 31)]
    keys = [each.key for each in documents]
    for seed in range(5):
        shuffled = random.Random(seed).sample(documents, len(documents))
        assert families(index_of(shuffled), keys) == {(11, 12, 13), (21, 22)}
    one_by_one = empty()
    for each in documents:
        one_by_one.apply([DocumentPut(each.key, each)])
    assert families(one_by_one, keys) == {(11, 12, 13), (21, 22)}
    assert len(one_by_one) == 3
    assert one_by_one.originals(np.array([13, 31, 99], np.int64)).tolist() == [11, 31, 99]
    assert sorted(one_by_one.ranks(np.array([22, 31, 13, 12], np.int64))) == [[0], [2, 3]]


def test_a_catalog_of_many_is_read_like_single_changes() -> None:
    documents = [document(key, text(key % 60), name=f"name {key % 60}") for key in range(1, 181)]
    keys, signatures = [each.key for each in documents], [signature(each) for each in documents]
    index = CopyIndex(np.array(keys[::-1], np.int64), np.stack(signatures[::-1]))
    assert families(index, keys) == {(key, key + 60, key + 120) for key in range(1, 61)}


def test_copies_of_what_changes_or_goes_stay_together() -> None:
    index = index_of([document(key, text(1)) for key in (1, 2, 3)])
    index.apply([DocumentGone(9, 1)])
    assert families(index, [1, 2, 3]) == {(2, 3)}
    index.apply([DocumentPut(10, document(2, text(2)))])
    assert families(index, [1, 2, 3]) == set()
    index.apply([DocumentPut(11, document(1, text(2)))])
    assert families(index, [1, 2, 3]) == {(1, 2)}


def test_thousands_of_one_name_take_no_quadratic_time() -> None:
    count = 3000
    signatures = np.tile(signature(document(1, text(1))), (count, 1))
    signatures[:, 1:] = np.random.default_rng(0).integers(0, 2**63, (count, SIGNATURE_WORDS - 1))
    assert len(CopyIndex(np.arange(count), signatures)) == 0
