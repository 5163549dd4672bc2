"""Tells the operator how the start goes on: what is left to index, and when everything is ready."""

import logging
import threading
import time

from registry.db import DatabaseError
from registry.services.container import Services
from search.thread_health import ThreadHealth

_log = logging.getLogger("registry.server")

_LOOK_SECONDS = 0.2
_REPORT_SECONDS = 5.0


def report_start(services: Services, url: str) -> None:
    """Log the progress of the start from a thread, every 5 s, and at its end `ready: URL`."""
    threading.Thread(target=_report, args=(services, url), name="start-report", daemon=True).start()


def _report(services: Services, url: str) -> None:
    health = ThreadHealth("start report", _log, (DatabaseError,))
    with health.attempt():
        while not services.ready.wait(_LOOK_SECONDS):
            if services.draining:
                return
        _report_indexing(services)
        if not services.draining:
            _log.info("ready: %s", url)


def _report_indexing(services: Services) -> None:
    """Return when every skill that can have a vector has one, or the service stops."""
    reported = time.monotonic()
    while not services.draining:
        status, indexer = services.engine.status(), services.engine.indexer
        if status.pending <= (len(indexer.refused()) if indexer is not None else 0):
            return
        if time.monotonic() - reported >= _REPORT_SECONDS:
            reported = time.monotonic()
            _log.info("indexing: %s of %s skills", f"{status.indexed:,}", f"{status.indexed + status.pending:,}")
        time.sleep(_LOOK_SECONDS)
