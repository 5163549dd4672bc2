"""The hosted embedder against a real server: its requests, and the validation of responses."""

import base64
import gzip
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from embeddings import EmbeddingError, EmbeddingUnavailable
from embeddings.hosted import HostedEmbedder
from support.embedding_server import Answer, EmbeddingServer, Request, body, edited, every, flood, hang_up, honest
from support.slow_answers import drip, drip_header, silence
from support.threads import no_new_threads
from support.waiting import PATIENCE_SECONDS

Make = Callable[..., HostedEmbedder]
GOOD = [0.1] * 1536


def test_a_request_is_that_of_the_openai_api(server: EmbeddingServer, hosted: Make) -> None:
    hosted().documents(["one", "two"])
    expected = {"model": "text-embedding-3-small", "input": ["one", "two"], "encoding_format": "base64"}
    assert server.requests == [expected]
    assert server.keys == ["Bearer sk-canary"]


def test_a_call_is_answered_once_a_thread_can_be_started(server: EmbeddingServer, hosted: Make) -> None:
    embedder = hosted()
    with no_new_threads(), pytest.raises(EmbeddingError, match="no thread can be started"):
        embedder.queries(["x"])
    assert len(embedder.queries(["x"])) == 1


def test_the_dimension_is_sent_only_when_configured(server: EmbeddingServer, hosted: Make) -> None:
    assert hosted(dimension=256).queries(["x"])[0].shape == (256,)
    assert server.requests[0]["dimensions"] == 256


def test_azure_openai_is_addressed_as_its_sdk_does(server: EmbeddingServer, hosted: Make) -> None:
    resource = server.url.removesuffix("/v1")
    hosted(base_url=resource, api_version="2024-10-21").queries(["x"])
    (path,) = server.paths
    assert path == "/openai/deployments/text-embedding-3-small/embeddings?api-version=2024-10-21"
    assert server.headers[0]["api-key"] == "sk-canary"


def test_azure_openai_needs_the_endpoint_of_a_resource(hosted: Make) -> None:
    with pytest.raises(EmbeddingUnavailable, match=r"set embedding\.base_url"):
        hosted(base_url=None, api_version="2024-10-21")


def test_the_variables_of_the_sdk_have_their_meaning(
    server: EmbeddingServer, hosted: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-tea")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-tea")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")  # the setting wins
    hosted().queries(["x"])
    headers = server.headers[0]
    assert (headers["OpenAI-Organization"], headers["OpenAI-Project"]) == ("org-tea", "proj-tea")


def test_a_compressed_response_is_not_unpacked(server: EmbeddingServer, hosted: Make) -> None:
    server.answer = body(gzip.compress(b" " * 100_000_000), Content_Encoding="gzip")
    with pytest.raises(EmbeddingError, match="not the JSON"):
        hosted().queries(["x"])
    assert server.headers[0]["Accept-Encoding"] == "identity"


def test_numbers_are_accepted_as_well_as_base64(server: EmbeddingServer, hosted: Make) -> None:
    server.answer = every([3.0, 4.0])
    assert hosted(dimension=2).queries(["x"])[0] == pytest.approx([0.6, 0.8])


def test_items_are_placed_by_their_index(server: EmbeddingServer, hosted: Make) -> None:
    straight = hosted().documents(["one", "two", "three"])
    server.answer = edited(lambda items: items[::-1])
    assert np.array_equal(hosted().documents(["one", "two", "three"]), straight)


def test_batches_are_bounded_by_count_and_characters(server: EmbeddingServer, hosted: Make) -> None:
    hosted().documents(["short"] * 100 + ["x" * 5000] * 40)
    assert len(server.requests) > 3
    assert all(len(request["input"]) <= 64 for request in server.requests)
    assert all(sum(map(len, request["input"])) <= 60_000 for request in server.requests)


INVALID: dict[str, tuple[Answer, str]] = {
    "dimension 7": (every([0.5] * 7), "7 dimensions, not 1536"),
    "fewer": (edited(lambda items: items[:-1]), "1 vectors with wrong indexes for 2"),
    "more": (edited(lambda items: [*items, {**items[0], "index": 2}]), "3 vectors with wrong indexes for 2"),
    "same index twice": (edited(lambda items: [items[0], items[0]]), "wrong indexes"),
    "negative index": (edited(lambda items: [items[0], {**items[1], "index": -1}]), "wrong indexes"),
    "huge index": (edited(lambda items: [items[0], {**items[1], "index": 10**30}]), "wrong indexes"),
    "no index": (edited(lambda items: [{"embedding": item["embedding"]} for item in items]), "not the JSON"),
    "no embedding": (edited(lambda items: [{"index": item["index"]} for item in items]), "not the JSON"),
    "null": (every(None), "not the JSON"),
    "NaN": (every([*GOOD[1:], float("nan")]), "not the JSON"),
    "NaN in base64": (every("AADAfw==" * 1536), "base64 of float32"),
    "infinity": (every([*GOOD[1:], float("inf")]), "not the JSON"),
    "zero": (every([0.0] * 1536), "cannot be normalised"),
    "not base64": (every("!!!"), "base64 of float32"),
    "three bytes": (every("AAAA"), "base64 of float32"),
    "HTML": (body(b"<!doctype html><title>Sign in</title>", kind="text/html"), "not the JSON"),
    "nothing": (body(b""), "not the JSON"),
    "an array": (body(b"[]"), "not the JSON"),
    "deep nesting": (body(b"[" * 60_000), "not the JSON"),
    "not UTF-8": (body(b'{"data": "\xff"}'), "not the JSON"),
    "100 MB": (flood(), "too large"),
}


@pytest.mark.parametrize(("answer", "message"), INVALID.values(), ids=INVALID)
def test_an_invalid_response_is_an_error(server: EmbeddingServer, hosted: Make, answer: Answer, message: str) -> None:
    server.answer = answer
    with pytest.raises(EmbeddingError, match=message):
        hosted().documents(["one", "two"])
    assert len(server.requests) == 1


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_base64_with_nan_or_infinity_is_an_error(server: EmbeddingServer, hosted: Make, number: float) -> None:
    server.answer = every(base64.b64encode(struct.pack("<2f", 1.0, number)).decode())
    with pytest.raises(EmbeddingError, match="NaN or infinity"):
        hosted(dimension=2).queries(["x"])[0]


REFUSALS: list[tuple[int, int, bool]] = [
    (400, 1, True),
    (401, 1, False),
    (404, 1, False),
    (422, 1, True),
    (429, 1, False),
    (301, 1, False),
    (500, 2, False),
    (503, 2, False),
]


@pytest.mark.parametrize(("status", "calls", "permanent"), REFUSALS)
def test_a_refusal_is_explained(
    server: EmbeddingServer, hosted: Make, status: int, calls: int, permanent: bool
) -> None:
    server.answer = body(b'{"error": {"message": "your key sk-canary is odd"}}', status, Location="http://[::1]:1/")
    with pytest.raises(EmbeddingError, match=f"status {status}") as caught:
        hosted().queries(["x"])[0]
    assert len(server.requests) == calls
    assert caught.value.permanent is permanent
    assert "sk-canary" not in str(caught.value)


def test_the_body_of_a_refusal_is_not_read(server: EmbeddingServer, hosted: Make) -> None:
    server.answer = flood(status=400)
    with pytest.raises(EmbeddingError, match="status 400"):
        hosted().queries(["x"])[0]


def test_a_retry_recovers_from_one_failure(server: EmbeddingServer, hosted: Make) -> None:
    def once(request: Request) -> None:
        server.answer = honest
        request.reply(b"", status=500)

    server.answer = once
    assert hosted().queries(["x"])[0].shape == (1536,)
    assert len(server.requests) == 2


@pytest.mark.parametrize("answer", [silence, drip, drip_header])
def test_a_slow_server_is_cut_off(server: EmbeddingServer, hosted: Make, answer: Answer) -> None:
    server.answer = answer
    started = time.monotonic()
    with pytest.raises(EmbeddingError, match=r"no complete response within 0\.3 s"):
        hosted(total_timeout=0.3).queries(["x"])[0]
    assert time.monotonic() - started < 60  # not as long as the answer takes, which is half an hour


def test_a_closed_connection_is_retried_once(server: EmbeddingServer, hosted: Make) -> None:
    server.answer = hang_up
    with pytest.raises(EmbeddingError, match="cannot be reached"):
        hosted().queries(["x"])[0]
    assert len(server.requests) == 2


def test_an_interrupted_response_is_an_error(server: EmbeddingServer, hosted: Make) -> None:
    def half(request: Request) -> None:
        request.send_response(200)
        request.send_header("Content-Length", "1000")
        request.end_headers()
        request.wfile.write(b'{"data": [')
        request.close_connection = True

    server.answer = half
    with pytest.raises(EmbeddingError, match="interrupted"):
        hosted().queries(["x"])[0]


@pytest.fixture
def dead_port() -> Iterator[int]:
    """A port that is bound but refuses connections."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


def test_a_refused_connection_is_an_error(hosted: Make, dead_port: int) -> None:
    with pytest.raises(EmbeddingError, match="cannot be reached"):
        hosted(base_url=f"http://127.0.0.1:{dead_port}/v1").queries(["x"])[0]


def test_a_closed_embedder_can_be_used_again(server: EmbeddingServer, hosted: Make) -> None:
    embedder = hosted()
    first = embedder.queries(["x"])[0]
    embedder.close()
    assert np.array_equal(embedder.queries(["x"])[0], first)


def test_closing_ends_a_waiting_call(server: EmbeddingServer, hosted: Make) -> None:
    embedder, caught = hosted(total_timeout=10 * PATIENCE_SECONDS), []
    arrived = threading.Event()

    def wait(request: Request) -> None:
        arrived.set()
        silence(request)

    def call() -> None:
        with pytest.raises(EmbeddingError) as fault:
            embedder.queries(["x"])[0]
        caught.append(fault.value)

    server.answer = wait
    caller = threading.Thread(target=call)
    caller.start()
    assert arrived.wait(PATIENCE_SECONDS)
    embedder.close()
    caller.join(PATIENCE_SECONDS)
    assert len(caught) == 1


def test_a_space_is_identified_by_model_and_dimension(hosted: Make) -> None:
    spaces = {
        hosted().space,
        hosted(dimension=256).space,
        hosted(model="text-embedding-ada-002").space,
        hosted(model="text-embedding-3-large").space,
    }
    assert len(spaces) == 4
    assert hosted().space == hosted(api_key="other").space
