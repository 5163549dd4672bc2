"""A real HTTP server on loopback that speaks OpenAI's POST /embeddings, and misbehaves when told to."""

import base64
import hashlib
import json
import re
import threading
from collections.abc import Callable, Sequence
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
from numpy.typing import NDArray

Item = dict[str, Any]
Answer = Callable[["Request"], None]


class Request(BaseHTTPRequestHandler):
    """One request; an `Answer` writes the response to it."""

    protocol_version = "HTTP/1.1"
    server: "_Server"

    def do_POST(self) -> None:
        self.json = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.owner.requests.append(self.json)
        self.owner.keys.append(self.headers["Authorization"])
        self.owner.paths.append(self.path)
        self.owner.headers.append(self.headers)
        try:
            self.owner.answer(self)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    @property
    def owner(self) -> "EmbeddingServer":
        return self.server.owner

    @property
    def texts(self) -> list[str]:
        given = self.json["input"]
        return [given] if isinstance(given, str) else given

    def reply(self, body: bytes, status: int = 200, kind: str = "application/json", **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Keep quiet."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    owner: "EmbeddingServer"

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that cut a connection are what the tests are about."""


class EmbeddingServer:
    """Answers vectors that share direction where texts share words; `answer` may be replaced at any time.

    `requests` holds the JSON bodies in the order they came, `keys` their Authorization headers, `paths` their targets
    and `headers` all headers.
    """

    def __init__(self, dimension: int = 1536) -> None:
        self.dimension = dimension
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.paths: list[str] = []
        self.headers: list[Message] = []
        self.answer: Answer = honest
        self.stopping = threading.Event()
        self._server = _Server(("127.0.0.1", 0), Request)
        self._server.owner = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> "EmbeddingServer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def vector(text: str, dimension: int) -> NDArray[np.float32]:
    """Return the sum of one pseudo-random vector a word."""
    words = re.findall(r"\w+", text.lower()) or [text]
    total: NDArray[np.float32] = np.sum([_word_vector(word, dimension) for word in words], axis=0, dtype=np.float32)
    return total


def _word_vector(word: str, dimension: int) -> NDArray[np.float32]:
    seed = int.from_bytes(hashlib.sha256(word.encode("utf-8", "replace")).digest()[:8])
    return np.random.default_rng(seed).standard_normal(dimension).astype(np.float32)


def items(request: Request) -> list[Item]:
    """Return the honest items for a request, base64 where that was asked for, as the real API does."""
    size = request.json.get("dimensions", request.owner.dimension)
    made = [vector(text, size) for text in request.texts]
    if request.json.get("encoding_format") == "base64":
        shown: Sequence[object] = [base64.b64encode(one.astype("<f4").tobytes()).decode() for one in made]
    else:
        shown = [one.tolist() for one in made]
    return [{"object": "embedding", "index": n, "embedding": one} for n, one in enumerate(shown)]


def honest(request: Request) -> None:
    edited(lambda made: made)(request)


def edited(change: Callable[[list[Item]], list[Item]]) -> Answer:
    """Answer honest items after `change`."""

    def answer(request: Request) -> None:
        data = change(items(request))
        body = {"object": "list", "data": data, "model": request.json["model"], "usage": {"total_tokens": 1}}
        request.reply(json.dumps(body).encode())

    return answer


def every(embedding: object) -> Answer:
    """Answer this one vector for every text."""
    return edited(lambda made: [{**item, "embedding": embedding} for item in made])


def body(content: bytes, status: int = 200, kind: str = "application/json", **headers: str) -> Answer:
    return lambda request: request.reply(content, status, kind, **headers)


def flood(status: int = 200) -> Answer:
    """Send 100 MB of spaces."""

    def answer(request: Request) -> None:
        request.send_response(status)
        request.send_header("Content-Length", str(100 << 20))
        request.end_headers()
        for _ in range(100):
            request.wfile.write(b" " * (1 << 20))

    return answer


def hang_up(request: Request) -> None:
    """Close the connection without a word."""
    request.close_connection = True
