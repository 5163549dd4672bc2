"""A trace of each request, where `telemetry.endpoint` says who gets them."""

from typing import TYPE_CHECKING

from anyio import to_thread
from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send

from registry.config.settings import Settings
from registry.http.request_id import request_id_of

if TYPE_CHECKING:
    from registry.runtime.traces import Tracing

_UNTRACED = frozenset({"/healthz", "/readyz", "/metrics"})
"""What programs ask for every few seconds."""

_TRACE_HEADERS = frozenset({b"traceparent", b"tracestate"})
_ENDED = frozenset({"lifespan.shutdown.complete", "lifespan.shutdown.failed"})


def traced(app: ASGIApp, settings: Settings) -> ASGIApp:
    """Return an application whose requests are traced, or the application itself where no endpoint gets the traces."""
    if settings.telemetry.endpoint is None:
        return app
    # Imported only if needed: the packages of OpenTelemetry are an extra, and take a tenth of a second.
    from registry.runtime.traces import Tracing  # noqa: PLC0415

    return RequestTraces(app, Tracing(settings.telemetry, settings.outbound))


class RequestTraces:
    """Wraps an ASGI application: each request is a span, and its parent the span that `traceparent` names."""

    def __init__(self, app: ASGIApp, tracing: "Tracing") -> None:
        self._app = app
        self._tracing = tracing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or the whole life of the application, at whose end the last spans are sent."""
        if scope["type"] == ScopeType.HTTP and scope["path"] not in _UNTRACED:
            await self._trace(scope, receive, send)
            return

        async def stopping(message: Message) -> None:
            if message["type"] in _ENDED:
                await to_thread.run_sync(self._tracing.stop)
            await send(message)

        await self._app(scope, receive, stopping)

    async def _trace(self, scope: HTTPScope, receive: Receive, send: Send) -> None:
        sent = {name.decode(): value.decode("latin-1") for name, value in scope["headers"] if name in _TRACE_HEADERS}
        with self._tracing.request(scope["method"], sent) as span:

            async def watched(message: Message) -> None:
                if message["type"] == "http.response.start":
                    span.status = message["status"]
                await send(message)

            try:
                await self._app(scope, receive, watched)
            finally:
                template = scope.get("path_template")
                span.end(str(template) if template else None, request_id_of(scope))
