"""The server: uvicorn that drains before it exits.

After the stop signal, `/readyz` must return 503 on old and new connections while requests in flight finish, because a
load balancer reroutes traffic only after it has seen that. uvicorn would close the listener at once. So the signal
starts a drain, and uvicorn's own shutdown follows. A second signal gives up requests that are in flight: it ends the
process at once. Without such requests it changes nothing, because wrappers often pass a signal on twice.
"""

import asyncio
import contextlib
import functools
import logging
import math
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from socket import socket
from types import FrameType
from typing import Any, NamedTuple, cast

import uvicorn
from litestar.types import ASGIApp

from registry import __version__
from registry.config.groups import LimitsSettings
from registry.runtime.stop_signals import STOP_SIGNALS
from registry.server.connections import Connections
from registry.server.exit_watch import ExitWatch
from registry.server.file_limit import possible_connections
from registry.server.http1_protocol import accept
from registry.server.sockets import Listener

_log = logging.getLogger("registry.server")

START_FAILED = 1

_IDLE_DRAIN_SECONDS = 0.5
"""How long an idle server still answers, so that a probe can see 503."""

_OVERDUE_SECONDS = 5.0
"""How long requests that cannot be cancelled, or an event loop that stands still, may exceed the drain."""

_CLOSING_SECONDS = 10.0
"""How long the application may take to close after the drain."""

_LEAVING_SECONDS = 2.0
"""How long threads and tasks that do not end may delay the exit after everything is closed."""


class Site(NamedTuple):
    """What is served: the application, and what to call in the event loop when a stop is requested.

    `on_listening` is called with the address once requests are answered, in one of the processes.
    """

    app: ASGIApp
    on_drain: Callable[[], None]
    on_listening: Callable[[str], None] = lambda url: None


def serve(
    site: Site,
    listener: Listener,
    limits: LimitsSettings,
    *,
    signals: Sequence[int] = STOP_SIGNALS,
    announce: bool = True,
) -> int:
    """Serve until one of `signals` comes; return the process's exit code.

    It is 0 after a drain and 1 if the application did not start. Requests in flight have `limits.drain_seconds`. Then
    they are cancelled, and those that cannot be cancelled end with the process (code 1). Once no request is left, the
    code is 0, whatever else does not end.
    """
    connections = Connections(possible_connections(limits.connections))
    config = uvicorn.Config(
        cast(Any, site.app),
        http=cast(Any, functools.partial(accept, limits=limits, connections=connections)),
        ws="none",
        lifespan="on",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        reset_contextvars=True,  # else a pipelined request begins in the context of the one before it
        timeout_keep_alive=cast(int, limits.keep_alive_seconds),
    )
    server = _DrainingServer(config, site.on_drain, limits.drain_seconds, signals)
    if announce:
        server.on_started = functools.partial(_announce, site, listener.url)
    try:
        server.run(sockets=listener.sockets)
    except SystemExit:
        return START_FAILED
    return 0


def _announce(site: Site, url: str) -> None:
    _log.info("Skill Registry %s listening on %s", __version__, url)
    site.on_listening(url)


class _DrainingServer(uvicorn.Server):
    def __init__(
        self, config: uvicorn.Config, on_drain: Callable[[], None], drain_seconds: float, signals: Sequence[int]
    ) -> None:
        super().__init__(config)
        self.on_started: Callable[[], None] = lambda: None
        self._on_drain = on_drain
        self._drain_seconds = drain_seconds
        self._signals = signals
        self._watch = ExitWatch()
        self._drain_task: asyncio.Task[None] | None = None

    async def serve(self, sockets: list[socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().serve(sockets)
        if self._drain_task is None:
            return
        if self.server_state.tasks:
            await asyncio.wait(self.server_state.tasks, timeout=_LEAVING_SECONDS)
        if self.server_state.tasks:
            self._watch.fail_after(_LEAVING_SECONDS)
        else:
            self._handle_signals(signal.SIG_IGN)  # the interpreter, when it ends, would take the handlers away
            self._watch.leave_after(_LEAVING_SECONDS)

    async def startup(self, sockets: list[socket] | None = None) -> None:
        await super().startup(sockets)
        self.on_started()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is threading.main_thread():
            self._handle_signals(self.handle_exit)
        yield

    def _handle_signals(self, handler: Callable[[int, FrameType | None], Any] | signal.Handlers) -> None:
        for number in self._signals:
            signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin the stop."""
        # Set outside the event loop, so that all of it works even if a request blocks the loop.
        in_flight = bool(self.server_state.tasks)
        self._handle_signals(signal.SIG_DFL if in_flight else self._handle_second_signal)
        self._watch.fail_after(self._drain_seconds + _OVERDUE_SECONDS)
        self._loop.call_soon_threadsafe(self._start_drain)

    def _handle_second_signal(self, sig: int, frame: FrameType | None) -> None:
        if self.server_state.tasks:
            signal.signal(sig, signal.SIG_DFL)
            os.kill(os.getpid(), sig)

    def _start_drain(self) -> None:
        self._on_drain()
        _log.info("Stopping: %d requests are in flight", len(self.server_state.tasks))
        self._drain_task = self._loop.create_task(self._drain())

    async def _drain(self) -> None:
        in_flight = set(self.server_state.tasks)
        end = self._loop.time() + self._drain_seconds
        await asyncio.sleep(min(_IDLE_DRAIN_SECONDS, self._drain_seconds))
        if in_flight:
            await asyncio.wait(in_flight, timeout=max(0.0, end - self._loop.time()))
        self._handle_signals(self._handle_second_signal)
        # Requests that came meanwhile have the rest of the time.
        self.config.timeout_graceful_shutdown = max(1, math.ceil(end - self._loop.time()))
        self.should_exit = True

    async def _wait_tasks_to_complete(self) -> None:
        """Wait for requests in flight. uvicorn closes the application afterwards."""
        try:
            await super()._wait_tasks_to_complete()
        finally:
            if self.server_state.tasks:  # they are cancelled next
                self._watch.fail_after(_CLOSING_SECONDS)
            else:
                self._watch.leave_after(_CLOSING_SECONDS)
