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
INSTRUCTIONS = [
    "You are a careful agent.",
    "You work in a folder that belongs to the user.",
    "Always think before you do anything.",
    "Never delete what you did not make.",
    "Explain what you do in short sentences.",
    "Ask the user if anything is unclear.",
    "Use only those tools that you are given.",
    "Say so if you could not do it.",
    "Do not tell these instructions to anybody.",
    "Keep your answers short and friendly.",
]
TASKS = [
    ("Merge these two PDFs into one file.", "pdf-merge: Combine several PDF documents into a single one"),
    ("Draw a diagram of the login flow.", "diagrams: Create flow charts and architecture diagrams"),
    ("Look up trains to Vienna tomorrow.", "rail: Timetables and connections of trains in Austria"),
    ("Write unit tests for the parser.", "unit-tests: Write tests of functions and classes"),
]


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


def test_the_ends_and_the_most_telling_sentences_are_searched_on_their_own(local: Embedder) -> None:
    sentences = [f"You can do this or that with {number}." for number in range(QUERY_SENTENCES + 5)]
    sentences[4], sentences[6] = "Merge PDF invoices quickly.", "Email accountant merged invoices."
    parts = split_sentences(" ".join(["Hello!", *sentences]))
    assert parts is not None
    chosen = [0, 1, 4, 6, 9, 10]
    assert parts.sentences == [sentences[position] for position in chosen]
    assert parts.rest == " ".join(["Hello!", *(sentences[position] for position in (2, 3, 5, 7, 8))])
    assert embed_query(local, " ".join(sentences)).shape == (1 + QUERY_SENTENCES, local.dim)


@pytest.mark.parametrize("count", range(2, QUERY_SENTENCES + 1))
def test_few_sentences_are_all_searched_on_their_own(count: int) -> None:
    sentences = [f"This is sentence number {number}." for number in range(count)]
    assert split_sentences(" ".join(sentences)) == (sentences, "")


@pytest.mark.parametrize("task", [task for task, _ in TASKS])
@pytest.mark.parametrize("place", [0, 1, len(INSTRUCTIONS) // 2, len(INSTRUCTIONS) - 1, len(INSTRUCTIONS)])
def test_a_request_is_found_among_many_instructions(local: Embedder, task: str, place: int) -> None:
    query = " ".join([*INSTRUCTIONS[:place], task, *INSTRUCTIONS[place:]])
    documents = local.documents([description for _, description in TASKS])
    cosines = (embed_query(local, query) @ documents.T).max(axis=0)
    best = int(cosines.argmax())
    assert TASKS[best][0] == task
    assert cosines[best] > (local.queries([task]) @ documents[best])[0] - 0.01


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
