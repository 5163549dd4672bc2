"""Traces of requests, sent over OTLP/HTTP by the packages of OpenTelemetry: the extra `otel`.

Import this module only where `telemetry.endpoint` is set. A span has the method, the route, the status and the id of a
request, or the name of a step. It never has a path, a query, a header or a caller. The packages read variables of the
environment too; what decides where something is sent, and with which headers, comes from the settings alone.
"""

import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, cast

import requests
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from registry import __version__
from registry.config.groups import OutboundSettings, TelemetrySettings
from search.steps import UNRECORDED, recorder

_log = logging.getLogger("registry.runtime")

_PACKAGES = "opentelemetry"
"""Its loggers say each attempt that fails, which is said once here."""

_PATH = "/v1/traces"
_SEND_SECONDS = 5.0
"""How long sending one batch may take with its retries. Meanwhile new spans wait; of too many, the oldest go."""

_WAITING_SPANS, _BATCH_SPANS = 2_048, 512
_PAUSE_MILLISECONDS = 2_000.0
_STOP_SECONDS = 2.0
"""How long the last spans may delay the stop."""

_MOST_STEPS = 200
"""Steps of one request that are recorded, so that a batch of skills does not displace the spans of others."""

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_FIRST_SERVER_ERROR = 500


class RequestSpan:
    """The span of one request.

    Attributes:
        status: The status of the response; 0 until it begins.
    """

    def __init__(self, span: Span, method: str) -> None:
        self._span = span
        self._method = method
        self.status = 0

    def end(self, route: str | None, request_id: str) -> None:
        """Say what became of the request. `route` is the template of its path, None where it has no handler."""
        self._span.set_attribute("skill_registry.request_id", request_id)
        if route is not None:
            self._span.update_name(f"{self._method} {route}")
            self._span.set_attribute("http.route", route)
        status = self.status or _FIRST_SERVER_ERROR
        self._span.set_attribute("http.response.status_code", status)
        if status >= _FIRST_SERVER_ERROR:
            self._span.set_status(StatusCode.ERROR)


class Tracing:
    """Makes the spans of a process, and sends them in a thread of its own. It drops what it cannot send."""

    def __init__(self, settings: TelemetrySettings, outbound: OutboundSettings) -> None:
        logging.getLogger(_PACKAGES).setLevel(logging.CRITICAL)
        names = {"service.name": settings.service_name, "service.version": __version__}
        self._exporter = _exporter(settings, outbound)
        self._provider = TracerProvider(
            sampler=ParentBased(TraceIdRatioBased(settings.sample_ratio)),
            resource=Resource(names),
            shutdown_on_exit=False,
        )
        self._provider.add_span_processor(
            BatchSpanProcessor(self._exporter, _WAITING_SPANS, _PAUSE_MILLISECONDS, _BATCH_SPANS)
        )
        self._tracer = self._provider.get_tracer("skill-registry", __version__)
        self._propagator = TraceContextTextMapPropagator()

    @contextmanager
    def request(self, method: str, trace: Mapping[str, str]) -> Iterator[RequestSpan]:
        """Make the block the span of a request, and its steps those of the block.

        `trace` has the headers `traceparent` and `tracestate` of the request, which name the parent.
        """
        method = method if method in _METHODS else "_OTHER"
        parent = self._propagator.extract(trace, Context())
        with self._tracer.start_as_current_span(
            method,
            context=parent,
            kind=SpanKind.SERVER,
            attributes={"http.request.method": method},
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            token = recorder.set(_Steps(self._tracer) if span.is_recording() else None)
            try:
                yield RequestSpan(span, method)
            finally:
                recorder.reset(token)

    def stop(self) -> None:
        """Send the last spans, if that is quick, and stop."""
        last = threading.Thread(target=self._provider.shutdown, name="last traces", daemon=True)
        last.start()
        last.join(_STOP_SECONDS)
        self._exporter.shutdown()  # type: ignore[no-untyped-call]  # which ends a wait for the next attempt


class _Steps:
    """Records the steps of one request as spans. Errors may repeat what a caller sent, so none is recorded."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._left = _MOST_STEPS

    def __call__(self, name: str) -> AbstractContextManager[Any]:
        self._left -= 1
        if self._left < 0:
            return UNRECORDED
        return self._tracer.start_as_current_span(name, record_exception=False, set_status_on_exception=False)


class _Sender:
    """What the exporter sees as a session of requests. It sends to one URL, with these headers and no others."""

    def __init__(self, url: str, headers: Mapping[str, str], verify: str | bool) -> None:
        self.verify: object = None  # the exporter sets both from variables
        self.cert: object = None
        self._url, self._headers, self._verify = url, headers, verify
        self._session = requests.Session()
        self._session.trust_env = False  # no proxy, and no password of ~/.netrc

    def request(self, *, data: bytes, timeout: float, **_: object) -> requests.Response:
        return self._session.post(
            self._url, data=data, headers=self._headers, timeout=timeout, allow_redirects=False, verify=self._verify
        )

    def close(self) -> None:
        self._session.close()


class _Exporter(OTLPSpanExporter):
    """Says once that sending fails, and once that it works again."""

    _fails = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = super().export(spans)
        fails = result is not SpanExportResult.SUCCESS
        if fails and not self._fails:
            _log.warning("traces cannot be sent to %s: they are dropped until they can", self._endpoint)
        elif self._fails and not fails:
            _log.info("traces are sent to %s again", self._endpoint)
        self._fails = fails
        return result


def _exporter(settings: TelemetrySettings, outbound: OutboundSettings) -> _Exporter:
    assert settings.endpoint is not None
    url = settings.endpoint.reveal().rstrip("/") + _PATH
    sent = {
        **(settings.headers.pairs() if settings.headers else {}),
        "Content-Type": "application/x-protobuf",
        "Content-Encoding": "gzip",
        "User-Agent": f"skill-registry/{__version__}",
    }
    authorities = outbound.ca_file or outbound.ca_dir
    sender = _Sender(url, sent, str(authorities) if authorities else True)
    return _Exporter(url, timeout=_SEND_SECONDS, compression=Compression.Gzip, session=cast(Any, sender))
