"""Queries of several sentences: what is searched, and that a local model reads each word once."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from embeddings import Embedder
from embeddings.base import Matrix
from embeddings.hosted import HostedEmbedder
from search.text import QUERY_SENTENCES, split_sentences
from search.vectors.query_vectors import embed_query

SENTENCES = ["Merge the PDF files of last month.", "Then send them to the accountant by mail!", "What is the weather?"]
QUERY = " ".join([*SENTENCES, "Thanks."])


class Noted:
    """An embedder that notes the texts it embeds."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.provider, self.model, self.space, self.dim = (
            embedder.provider,
            embedder.model,
            embedder.space,
            embedder.dim,
        )
        self.texts: list[str] = []
        self.documents, self.close = embedder.documents, embedder.close

    def queries(self, texts: Sequence[str]) -> Matrix:
        self.texts += texts
        return self._embedder.queries(texts)


@pytest.mark.parametrize(
    ("query", "sentences", "rest"),
    [
        (QUERY, SENTENCES, "Thanks."),
        ("first do this thing\n\nthen do the other", ["first do this thing", "then do the other"], ""),
        ("one two three; four five six", ["one two three;", "four five six"], ""),
    ],
)
def test_a_query_of_several_sentences_is_split(query: str, sentences: list[str], rest: str) -> None:
    assert split_sentences(query) == (sentences, rest)


@pytest.mark.parametrize("query", ["", "pdf", "merge two pdf files.", "Hello! Merge two pdf files. Thanks.", "\n\n"])
def test_a_query_of_one_sentence_is_not_split(query: str) -> None:
    assert split_sentences(query) is None


def test_only_some_sentences_are_searched_on_their_own(local: Embedder) -> None:
    query = " ".join(f"This is sentence number {number}." for number in range(QUERY_SENTENCES + 3))
    parts = split_sentences(query)
    assert parts is not None
    assert len(parts.sentences) == QUERY_SENTENCES
    assert parts.rest == " ".join(f"This is sentence number {QUERY_SENTENCES + n}." for n in range(3))
    assert embed_query(local, query).shape == (1 + QUERY_SENTENCES, local.dim)


def test_a_local_model_reads_each_word_once(local: Embedder) -> None:
    noted = Noted(local)
    vectors = embed_query(noted, QUERY)
    assert sorted(" ".join(noted.texts).split()) == sorted(QUERY.split())
    assert np.allclose(vectors[1:], local.queries(SENTENCES))
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert vectors[0] @ local.queries([QUERY])[0] > 0.8


def test_a_query_of_one_sentence_has_one_vector(local: Embedder) -> None:
    assert np.array_equal(embed_query(local, SENTENCES[0]), local.queries([SENTENCES[0]]))


def test_a_hosted_provider_embeds_the_whole_query_in_the_same_request(hosted: Callable[..., HostedEmbedder]) -> None:
    noted = Noted(hosted())
    vectors = embed_query(noted, QUERY)
    assert noted.texts == [QUERY, *SENTENCES]
    assert np.allclose(vectors, hosted().queries([QUERY, *SENTENCES]))
