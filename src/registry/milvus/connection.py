"""The connection to Milvus: opened on first use, with a timeout on every call and a pause after each failure."""

import contextlib
import logging
import threading
import time
from typing import Any
from urllib.parse import urlsplit

import msgspec

from registry.config.groups import SearchSettings
from registry.db import DatabaseUnusable
from search.backoff import Backoff
from search.vectors.base import VectorsUnavailable

SLOW_SECONDS = 60.0
"""How long a call may take that writes, or reads much."""

_LONGEST_PAUSE = 10.0
_NOT_FOUND = {100, 1600}
"""The codes of a missing collection and a missing alias. Milvus Lite has one for both."""

_NOT_LOADED = 101
_PORTS = {"http": 19530, "https": 443}


def load_library() -> Any:
    """Import pymilvus and return it. Raises DatabaseUnusable without the extra.

    On import it reads the file `.env` of a folder above it into the environment, and takes over its logger. Both are
    undone: our settings name everything, and every error of a call is reported by its caller.
    """
    try:
        import dotenv  # noqa: PLC0415 - only with the setting

        load, dotenv.load_dotenv = dotenv.load_dotenv, lambda *args, **options: False
        try:
            import pymilvus  # noqa: PLC0415 - only with the setting
        finally:
            dotenv.load_dotenv = load
    except ImportError:
        message = "search.vectors = milvus needs the extra milvus: pip install 'skill-registry[milvus]'"
        raise DatabaseUnusable(message) from None
    for name in ("pymilvus", "pymilvus.milvus_client"):
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.setLevel(logging.CRITICAL)
    return pymilvus


class CallTotals(msgspec.Struct):
    """The calls of one method: how many were sent, how many of them failed, and how long all took."""

    calls: int = 0
    failures: int = 0
    seconds: float = 0.0


class MilvusConnection:
    """Calls Milvus for all threads of a process. After a failure, calls fail at once until a retry is due.

    Raises DatabaseUnusable if the library is missing.
    """

    def __init__(self, settings: SearchSettings) -> None:
        assert settings.milvus_uri is not None
        parts = urlsplit(settings.milvus_uri.reveal())
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        # With its port, and never as a file of Milvus Lite, as which the library reads what ends with `.db`.
        self._uri = f"{parts.scheme}://{host}:{parts.port or _PORTS[parts.scheme]}"
        self._token = settings.milvus_token.reveal() if settings.milvus_token else ""
        self._database = settings.milvus_database
        self._seconds = settings.milvus_seconds
        self._lock = threading.Lock()
        self._client: Any = None
        self._backoff = Backoff(_LONGEST_PAUSE)
        self._totals: dict[str, CallTotals] = {}
        self.library = load_library()

    def call(self, method: str, *args: Any, seconds: float | None = None, **options: Any) -> Any:
        """Return the result of a method of MilvusClient, None if the collection or alias does not exist.

        Raises VectorsUnavailable.
        """
        if not self._backoff.is_due():
            raise VectorsUnavailable(self._backoff.problem or "Milvus does not answer")
        started, is_failed = time.monotonic(), False
        try:
            result = self._run(method, args, options | {"timeout": seconds or self._seconds})
        except Exception as error:  # of the library, of gRPC, and what it does not catch
            if getattr(error, "code", None) in _NOT_FOUND:
                return None
            is_failed = True
            self.close()  # the library may have closed it, after which it never works again
            self._backoff.failed(problem := self._problem(error, seconds or self._seconds))
            raise VectorsUnavailable(problem) from None
        finally:
            self._count(method, time.monotonic() - started, is_failed=is_failed)
        self._backoff.succeeded()
        return result

    def _problem(self, error: Exception, seconds: float) -> str:
        from registry.milvus.problems import problem_of  # noqa: PLC0415 - it needs the extra

        return problem_of(error, self._uri, self._database, seconds)

    def _count(self, method: str, seconds: float, *, is_failed: bool) -> None:
        with self._lock:
            totals = self._totals.setdefault(method, CallTotals())
            totals.calls += 1
            totals.failures += is_failed
            totals.seconds += seconds

    def totals(self) -> dict[str, CallTotals]:
        """Return a copy of the totals of each method that was called."""
        with self._lock:
            return {method: msgspec.structs.replace(totals) for method, totals in self._totals.items()}

    def _run(self, method: str, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Run a method, and load a collection that Milvus has released since, as Milvus Lite does when it starts."""
        client = self._opened()
        try:
            return getattr(client, method)(*args, **options)
        except self.library.MilvusException as error:
            if error.code != _NOT_LOADED:
                raise
            client.load_collection(args[0], timeout=self._seconds)
            return getattr(client, method)(*args, **options)

    def _opened(self) -> Any:
        with self._lock:
            if self._client is None:
                self._client = self.library.MilvusClient(
                    self._uri,
                    token=self._token,
                    db_name=self._database,
                    timeout=self._seconds,
                    dedicated=True,
                    grpc_options={"grpc.enable_http_proxy": 0},
                )
            return self._client

    def close(self) -> None:
        """Close the connection. The next call opens another one."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            with contextlib.suppress(Exception):
                client.close()
