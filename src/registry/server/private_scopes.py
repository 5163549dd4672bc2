"""The private scopes that this process serves: each has services and an application of its own.

They are opened when the process starts, when another process adds one, and at the latest by the first request.
"""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack

from litestar.types import ASGIApp, Receive, Scope, Send

from registry.config.scope_settings import settings_of_scope
from registry.db import DatabaseError
from registry.errors import service_unavailable
from registry.http.thread_pools import ADMINISTRATION_POOL
from registry.outbound import OutboundError
from registry.publish.service import git_index
from registry.runtime.data_dir import DataDirInUse, DataDirLock
from registry.runtime.periodic_worker import PeriodicWorker
from registry.services.container import Host, Services

_log = logging.getLogger("registry.server")


_PAUSE_SECONDS = 60.0
"""How long after a scope could not be opened it is tried again, unless a request comes before."""

_CLOSING_SECONDS = 5.0
"""How long the requests of a scope that is closed may take. Those that only wait for a change end with it."""

_STEP_SECONDS = 0.02


class ScopeApp:
    """The application of a private scope over its services, what ends both, and the number of requests in progress."""

    def __init__(self, app: ASGIApp, services: Services, ending: ExitStack) -> None:
        self._app = app
        self.services = services
        self._ending = ending
        self._requests = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        self._requests += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._requests -= 1

    def close(self) -> None:
        """Wait for the requests in progress, for a while, and close the services. Not for the event loop."""
        deadline = time.monotonic() + _CLOSING_SECONDS
        while self._requests and time.monotonic() < deadline:
            time.sleep(_STEP_SECONDS)
        self._ending.close()


class PrivateScopeApps:
    """The applications of the private scopes of a service. Safe to use from several threads.

    Args:
        service: The services that the scopes belong to.
        create: Returns the application over the services of a scope, and the function that ends it.
        worker: The number of this process among the workers.
    """

    def __init__(
        self, service: Services, create: Callable[[Services], tuple[ASGIApp, Callable[[], None]]], worker: int
    ) -> None:
        self._service = service
        self._create = create
        self._worker = worker
        self._open: dict[str, ScopeApp] = {}
        self._lock = threading.Lock()
        self._has_ended = False
        self._looking = PeriodicWorker("private scopes", self._look, _log, (DatabaseError,))

    def start(self) -> None:
        """Open all scopes, in a thread."""
        self._looking.start()

    def look(self) -> None:
        """Have the thread open the scopes that have come, and close those that have gone."""
        self._looking.wake()

    def _look(self) -> float:
        names, opened = set(self._service.private_scopes.names()), set(self._open)
        for name in sorted(names - opened):
            try:
                self._opened(name)
            except (DatabaseError, DataDirInUse, OutboundError, OSError) as error:
                # One that cannot be opened must not keep the others closed.
                _log.warning("the private scope %s cannot be opened: %s", name, error)
        for name in sorted(opened - names):
            self._close(name)
        return _PAUSE_SECONDS

    async def app(self, name: str) -> ASGIApp:
        """Return the application of a private scope that there is. Raises SERVICE_UNAVAILABLE."""
        opened = self._open.get(name)
        if opened is None:
            try:
                opened = await ADMINISTRATION_POOL.run(self._opened, name)
            except (DatabaseError, DataDirInUse, OutboundError, OSError) as error:
                _log.error("the private scope %s cannot be opened: %s", name, error)
                raise service_unavailable("This scope cannot be opened just now") from None
        return opened

    def drain(self) -> None:
        """Refuse new traffic. Call it in the event loop."""
        for opened in list(self._open.values()):
            opened.services.drain()

    def end(self) -> None:
        """Close all scopes, at step boundaries."""
        with self._lock:
            self._has_ended = True
        self._looking.stop()
        for name in list(self._open):
            self._close(name)

    def _opened(self, name: str) -> ScopeApp:
        with self._lock:
            if (opened := self._open.get(name)) is not None:
                return opened
            if self._has_ended:
                raise service_unavailable("The service stops")
            with ExitStack() as ending:
                settings = settings_of_scope(self._service.settings, name)
                settings.data_dir.parent.mkdir(mode=0o700, exist_ok=True)
                if self._worker == 0:  # commands that repair the scope need this process to be stopped
                    lock = DataDirLock(settings.data_dir)
                    ending.callback(lock.release)
                    lock.announce(settings.absolute(""))
                index = git_index(settings)
                index.create_remote()
                index.prepare()
                host = Host(name, self._service)
                services = Services(settings, clock=self._service.clock, worker=self._worker, host=host)
                ending.callback(services.close)
                app, end = self._create(services)
                ending.callback(end)
                services.begin()
                opened = self._open[name] = ScopeApp(app, services, ending.pop_all())
            return opened

    def _close(self, name: str) -> None:
        with self._lock:  # until the end, because it cannot be opened again before
            opened = self._open.pop(name, None)
            if opened is not None:
                opened.close()
