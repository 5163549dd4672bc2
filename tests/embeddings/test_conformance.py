"""Conformance of every implementation of the Embedder protocol."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from embeddings import Embedder

TEXTS = ["merge two pdf files", "plan a trip to Rome", "resize images", "merge two pdf files", "x"]
HOSTILE = {
    "empty": "",
    "spaces": " \t\r\n " * 50,
    "nul": "a\0b",
    "megabyte": "word " * 200_000,
    "one long word": "a" * 1_000_000,
    "emoji": "\N{GRINNING FACE}",
    "cjk": "合并两个文件",
    "lone surrogate": "a\ud800b",
    "right to left": "\u202eabc\u202c",
    "special tokens": "[CLS] [SEP] [PAD] [MASK]",
}


@pytest.fixture(params=["local", "hosted"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    fixture = request.getfixturevalue(request.param)
    embedder: Embedder = fixture if request.param == "local" else fixture()
    return embedder


def test_vectors_have_unit_length_and_the_stated_dimension(embedder: Embedder) -> None:
    vectors = embedder.documents(TEXTS)
    assert vectors.shape == (len(TEXTS), embedder.dim)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_a_query_is_one_vector(embedder: Embedder) -> None:
    vector = embedder.queries(["merge pdfs"])[0]
    assert vector.shape == (embedder.dim,)
    assert vector.dtype == np.float32
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_vectors_come_in_the_order_of_the_texts(embedder: Embedder) -> None:
    together = embedder.documents(TEXTS)
    assert np.allclose(together, [embedder.documents([text])[0] for text in TEXTS], atol=1e-6)
    assert np.array_equal(together[0], together[3])


def test_no_texts_give_no_vectors(embedder: Embedder) -> None:
    assert embedder.documents([]).shape == (0, embedder.dim)


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_any_string_gets_a_vector(embedder: Embedder, text: str) -> None:
    for vector in (embedder.queries([text])[0], *embedder.documents([text, "fine"])):
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_more_texts_than_fit_one_batch(embedder: Embedder) -> None:
    texts = [f"text number {n} " + "long " * (40 * (n % 7)) for n in range(150)]
    vectors = embedder.documents(texts)
    assert np.allclose(vectors[[0, 77, 149]], [embedder.queries([texts[n]])[0] for n in (0, 77, 149)], atol=1e-6)


def test_threads_get_the_same_vectors(embedder: Embedder) -> None:
    alone = [embedder.queries([text])[0] for text in TEXTS]
    with ThreadPoolExecutor(8) as pool:
        many = list(pool.map(lambda text: embedder.queries([text])[0], TEXTS * 8))
    assert all(np.allclose(vector, alone[n % len(TEXTS)], atol=1e-6) for n, vector in enumerate(many))


def test_related_texts_are_near(embedder: Embedder) -> None:
    query = embedder.queries(["join pdf files"])[0]
    pdf, trip = embedder.documents(["merge two pdf files", "plan a trip to Rome"])
    assert query @ pdf > query @ trip + 0.2
