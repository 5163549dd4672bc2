"""What examples do to a vector and to the keyword score."""

import numpy as np
import pytest

from search.examples import ExampleIndex, vector_with_examples
from search.types import Document, DocumentGone, DocumentPut, Example


def used(key: int, *queries: str) -> Document:
    return Document(key=key, id=f"skill-{key}", name="s", examples=tuple(Example(query, 1.0) for query in queries))


def test_a_vector_moves_towards_its_examples_and_becomes_shorter() -> None:
    axes = np.eye(3, dtype=np.float32)
    one = vector_with_examples(axes[0], axes[[1]], [1.0])
    many = vector_with_examples(axes[0], axes[[1, 1, 1, 1]], [1.0] * 4)
    assert one[0] == pytest.approx(one[1])
    assert many[1] > 2 * many[0]
    assert np.linalg.norm(one) == pytest.approx(2**-0.25)
    assert np.linalg.norm(vector_with_examples(axes[0], axes[[0]], [1.0])) == pytest.approx(1.0)


def test_words_of_examples_count_for_their_document_only() -> None:
    index = ExampleIndex([used(1, "edit a photo", "crop a photo"), used(2, "write a poem")])
    matched = index.match({"photo": 0.6, "poem": 0.4})
    gains = index.gains(np.array([1, 2, 3]), matched)
    assert gains[0] > gains[1]
    assert gains[2] == 0
    assert index.gains(np.array([1]), {})[0] < 0  # a use alone moves no skill upwards


def test_a_change_replaces_the_examples_of_a_document() -> None:
    index = ExampleIndex([used(1, "edit a photo")])
    index.apply([DocumentPut(2, used(1, "write a poem"))])
    assert index.match({"photo": 1.0}) == {}
    assert list(index.match({"poem": 1.0})) == [1]
    index.apply([DocumentPut(3, used(1))])
    assert len(index) == 0
    index.apply([DocumentPut(4, used(2, "write a poem")), DocumentGone(5, 2)])
    assert (len(index), index.match({"poem": 1.0})) == (0, {})
