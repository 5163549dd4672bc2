"""A receiver of traces over OTLP/HTTP on this machine, which parses what it gets with the official messages."""

import gzip
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple, Self, cast

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from support.waiting import wait_until


class ReceivedSpan(NamedTuple):
    """A span as it was sent. Ids are in hexadecimal digits."""

    name: str
    trace: str
    id: str
    parent: str
    attributes: Mapping[str, object]
    is_error: bool
    events: int


class TraceReceiver:
    """Listens while the `with` block runs. `answer` says what each request gets; by default it is accepted.

    Attributes:
        spans: The spans so far.
        paths: The path of each request.
        headers: The headers of each request.
        bodies: The decoded bodies.
    """

    def __init__(self, answer: Callable[[Any], None] | None = None) -> None:
        self.spans: list[ReceivedSpan] = []
        self.paths: list[str] = []
        self.headers: list[Mapping[str, str]] = []
        self.bodies: list[bytes] = []
        self.stopping = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        cast(Any, self._server).receiver = self
        self.answer = answer or _accept
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    def take(self, body: bytes) -> None:
        """Keep the spans of a request."""
        self.bodies.append(body)
        sent = ExportTraceServiceRequest.FromString(body)
        self.spans += [
            ReceivedSpan(
                span.name,
                span.trace_id.hex(),
                span.span_id.hex(),
                span.parent_span_id.hex(),
                {each.key: getattr(each.value, str(each.value.WhichOneof("value"))) for each in span.attributes},
                span.status.code == span.status.STATUS_CODE_ERROR,
                len(span.events),
            )
            for resource in sent.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def of_trace(self, trace: str, count: int) -> list[ReceivedSpan]:
        """Wait for the spans of a trace, and return them."""
        wait_until(lambda: sum(span.trace == trace for span in self.spans) >= count, why=lambda: self.spans)
        return [span for span in self.spans if span.trace == trace]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    @property
    def owner(self) -> TraceReceiver:
        return cast(TraceReceiver, cast(Any, self.server).receiver)

    def do_POST(self) -> None:
        self.owner.paths.append(self.path)
        self.owner.headers.append({name.lower(): value for name, value in self.headers.items()})
        self.body = self.rfile.read(int(self.headers["Content-Length"]))
        self.owner.answer(self)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _accept(request: _Handler) -> None:
    is_packed = request.headers["Content-Encoding"] == "gzip"
    request.owner.take(gzip.decompress(request.body) if is_packed else request.body)
    request.send_response(200)
    request.send_header("Content-Length", "0")
    request.end_headers()
