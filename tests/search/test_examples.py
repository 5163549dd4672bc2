"""What examples do to a vector, to the keyword score, and to the z-score of a cosine."""

import random
from pathlib import Path

import numpy as np
import pytest

from search.examples import ExampleIndex, match_examples, vector_with_examples
from search.fusion import Gains
from search.lexical.concurrent_query import LexicalQuery
from search.lexical.index import LexicalIndex
from search.lexical.spelled_prompt import spell_prompt
from search.types import Document, DocumentGone, DocumentPut, Example, Filter

WORDS = ["photo", "poem", "crop", "write", "edit", "paint", "sing", "dance"]


def used(key: int, *queries: str, weight: float = 1.0) -> Document:
    return Document(key=key, id=f"skill-{key}", name="s", examples=tuple(Example(query, weight) for query in queries))


def gains(index: ExampleIndex, shares: dict[str, float], *keys: int) -> Gains:
    return index.match(shares).gains(np.array(keys))


def test_a_vector_moves_towards_its_examples_and_stays_a_unit_vector() -> None:
    axes = np.eye(3, dtype=np.float32)
    few = vector_with_examples(axes[0], axes[[1]], [3.0])
    many = vector_with_examples(axes[0], axes[[1, 1, 1, 1]], [3.0] * 4)
    assert few[0] == pytest.approx(few[1])
    assert many[1] == pytest.approx(4 * many[0])
    assert np.linalg.norm(few) == pytest.approx(1.0)
    assert np.linalg.norm(many) == pytest.approx(1.0)


def test_words_of_examples_count_for_their_document_only() -> None:
    index = ExampleIndex([used(1, "edit a photo", "crop a photo"), used(2, "write a poem")])
    added = gains(index, {"photo": 0.6, "poem": 0.4}, 1, 2, 3)
    assert added.coverage[0] > added.coverage[1]
    assert added.coverage[2] == added.z[2] == 0


def test_the_example_that_is_most_like_the_query_votes() -> None:
    index = ExampleIndex([used(1, "crop photo", "write poem"), used(2, "crop poem", "write photo")])
    added = gains(index, {"crop": 0.5, "photo": 0.5}, 1, 2)
    assert added.coverage[0] > added.coverage[1] + 0.1


def test_a_vote_is_bounded_and_weighs_as_much_as_its_example() -> None:
    shares = {"crop": 0.5, "photo": 0.5}
    coverage = [
        gains(ExampleIndex([used(1, "crop photo", weight=weight)]), shares, 1).coverage[0] for weight in (0.5, 1.0, 3.0)
    ]
    assert coverage[0] < coverage[1] < coverage[2] < 0.55


def test_a_skill_sinks_by_the_agreement_of_its_examples_and_not_by_the_use_itself() -> None:
    queries = "crop a photo", "crop the photo please", "crop my photo"
    index = ExampleIndex([used(1, *queries), used(2, "crop a photo", "sing a song", "write a poem")])
    alike, different = gains(index, {"car": 1.0}, 1, 2).coverage
    assert alike < -0.2
    assert -0.03 < different < 0
    assert (gains(index, {"car": 1.0}, 1, 2).z == 4 * gains(index, {"car": 1.0}, 1, 2).coverage).all()


def test_a_change_replaces_the_examples_of_a_document() -> None:
    index = ExampleIndex([used(1, "edit a photo")])
    index.apply([DocumentPut(2, used(1, "write a poem"))])
    assert index.match({"photo": 1.0}).best(10) == []
    assert index.match({"poem": 1.0}).best(10) == [1]
    index.apply([DocumentPut(3, used(1))])
    assert len(index) == 0
    index.apply([DocumentPut(4, used(2, "write a poem")), DocumentGone(5, 2)])
    assert (len(index), index.match({"poem": 1.0}).best(10)) == (0, [])


def test_an_index_after_many_changes_equals_a_new_one() -> None:
    dice = random.Random(7)
    current: dict[int, Document] = {}
    changing = ExampleIndex()
    for revision in range(1500):
        key = dice.randrange(20)
        queries = (" ".join(dice.sample(WORDS, 3)) for _ in range(dice.randrange(4)))
        current[key] = used(key, *queries, weight=dice.choice((0.5, 1.0, 2.0)))
        is_gone = dice.random() < 0.1
        if is_gone:
            del current[key]
        changing.apply([DocumentGone(revision, key) if is_gone else DocumentPut(revision, current[key])])
    new = ExampleIndex(current.values())
    for _ in range(50):
        shares = dict.fromkeys(dice.sample([*WORDS, "unknown"], 3), 1 / 3)
        for ours, theirs in zip(gains(changing, shares, *range(20)), gains(new, shares, *range(20)), strict=True):
            assert ours == pytest.approx(theirs)
        assert sorted(changing.match(shares).best(30)) == sorted(new.match(shares).best(30))
    assert len(changing) == len(new)


def test_an_example_is_found_by_the_misspelled_word_that_it_has_and_by_the_right_one(tmp_path: Path) -> None:
    index = LexicalIndex(tmp_path, "catalog")
    documents = (used(1, "kuberntes"), used(2, "kubernetes"), Document(key=3, id="kubernetes", name="kubernetes"))
    index.apply([DocumentPut(document.key, document) for document in documents], 3)
    query = LexicalQuery(index.reader, spell_prompt(index.reader, "kuberntes"), 10, Filter())
    matched = match_examples(ExampleIndex(documents), query)
    assert matched is not None
    assert (matched.evidence > 0.2).tolist() == [True, True]
    index.close()
