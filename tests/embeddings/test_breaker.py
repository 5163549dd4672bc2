"""The circuit breaker: failing providers are not called, and tried again later. Uses a fake clock."""

import time
from collections.abc import Callable
from email.utils import formatdate

import pytest

from embeddings import EmbeddingError
from embeddings.hosted import HostedEmbedder
from support.clock import Clock
from support.embedding_server import EmbeddingServer, body, honest

Make = Callable[..., HostedEmbedder]


def fail(embedder: HostedEmbedder, times: int = 1) -> EmbeddingError:
    for _ in range(times):
        with pytest.raises(EmbeddingError) as caught:
            embedder.queries(["x"])[0]
    return caught.value


def test_opens_after_five_failures_and_closes_after_a_successful_call(server: EmbeddingServer, hosted: Make) -> None:
    clock = Clock()
    embedder = hosted(clock=clock)
    server.answer = body(b"<html>")
    fail(embedder, times=5)
    assert "not called" in str(fail(embedder, times=3))
    assert len(server.requests) == 5
    clock.forward(30.1)
    server.answer = honest
    embedder.documents(["a", "b"])
    embedder.queries(["c"])[0]
    assert len(server.requests) == 7


def test_stays_open_when_the_trial_fails(server: EmbeddingServer, hosted: Make) -> None:
    clock = Clock()
    embedder = hosted(clock=clock)
    server.answer = body(b"<html>")
    fail(embedder, times=5)
    clock.forward(30.1)
    fail(embedder, times=4)
    assert len(server.requests) == 6


def test_a_success_resets_the_count(server: EmbeddingServer, hosted: Make) -> None:
    embedder = hosted(clock=Clock())
    for _ in range(3):
        server.answer = body(b"<html>")
        fail(embedder, times=4)
        server.answer = honest
        embedder.queries(["x"])[0]
    assert len(server.requests) == 15


def test_refused_texts_do_not_open_it(server: EmbeddingServer, hosted: Make) -> None:
    embedder = hosted(clock=Clock())
    server.answer = body(b"{}", status=400)
    fail(embedder, times=8)
    assert len(server.requests) == 8


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_is_respected(server: EmbeddingServer, hosted: Make, status: int) -> None:
    clock = Clock()
    embedder = hosted(clock=clock)
    server.answer = body(b"{}", status=status, Retry_After="60")
    assert fail(embedder).retry_after == 60
    clock.forward(59)
    assert fail(embedder).retry_after == pytest.approx(1)
    assert len(server.requests) == 1
    clock.forward(1.5)
    server.answer = honest
    embedder.queries(["x"])[0]


IN_TEN_MINUTES = "in ten minutes, as a date"
WAITS = {
    "a date": (IN_TEN_MINUTES, 500, 601),
    "the past": (formatdate(0, usegmt=True), 1, 1),
    "nonsense": ("soon", 5, 5),
    "negative": ("-5", 1, 1),
    "for ever": ("1e300", 3600, 3600),
    "infinity": ("inf", 5, 5),
    "nan": ("nan", 5, 5),
}


@pytest.mark.parametrize(("header", "least", "most"), WAITS.values(), ids=WAITS)
def test_any_retry_after_is_parsed(
    server: EmbeddingServer, hosted: Make, header: str, least: float, most: float
) -> None:
    if header == IN_TEN_MINUTES:  # from now, not from test collection
        header = formatdate(time.time() + 600, usegmt=True)
    server.answer = body(b"{}", status=429, Retry_After=header)
    wait = fail(hosted(clock=Clock())).retry_after
    assert wait is not None
    assert least <= wait <= most
