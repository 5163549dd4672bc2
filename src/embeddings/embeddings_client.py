"""A client of POST /embeddings of the OpenAI API that limits the time and size of every call.

HTTP clients limit the wait for each read, not the whole call, so a server that sends single bytes could hold one for
ever. asyncio can cancel a call at any point, so calls run in an event loop in a thread of its own.
"""

import asyncio
import math
import threading
import time
from collections.abc import Coroutine, Sequence
from concurrent.futures import CancelledError
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import httpx

from embeddings.base import EmbeddingError

_T = TypeVar("_T")
_RETRY_PAUSE = 0.1
_MAX_PAUSE = 3600.0
_DEFAULT_PAUSE = 5.0
_REASONS = {
    400: "rejected the texts or a parameter",
    401: "rejected the API key",
    403: "rejected the API key",
    404: "does not know the model or the URL",
    413: "rejected the texts as too large",
    422: "rejected the texts or a parameter",
    429: "limits the request rate",
}
_PERMANENT = {400, 413, 422}


class _Refused(Exception):
    """The provider answered with another status than success. Its text is not kept: it may quote the API key."""

    def __init__(self, response: httpx.Response) -> None:
        super().__init__()
        self.status = response.status_code
        self.pause = _requested_pause(response)


class _Unreachable(Exception):
    """The provider cannot be reached, or the connection failed in the middle of a response."""


class EmbeddingsClient:
    """Sends requests. Safe to use from several threads at once. The first request starts the event loop's thread."""

    def __init__(self, base_url: str, api_key: str, connect_timeout: float, total_timeout: float) -> None:
        self._url = f"{base_url.rstrip('/')}/embeddings"
        # A compressed body would have no limit of its size before it is unpacked.
        self._headers = {"Authorization": f"Bearer {api_key}", "Accept-Encoding": "identity"}
        self._connect_timeout = connect_timeout
        self._total_timeout = total_timeout
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._client: httpx.AsyncClient | None = None

    def post(self, model: str, texts: Sequence[str], dimension: int | None, max_size: int) -> bytes:
        """Return the body of the response. Raises EmbeddingError, also if it has more than `max_size` bytes."""
        body = {"model": model, "input": list(texts), "encoding_format": "base64"}
        return self._run(self._post(body if dimension is None else body | {"dimensions": dimension}, max_size))

    def close(self) -> None:
        """Stop the thread and close the connections. A later call starts them again."""
        with self._lock:
            loop, self._loop = self._loop, None
            client, self._client = self._client, None
        if loop is not None and client is not None:
            asyncio.run_coroutine_threadsafe(client.aclose(), loop).result()
            loop.call_soon_threadsafe(loop.stop)

    def _run(self, call: Coroutine[Any, Any, _T]) -> _T:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=_serve, args=(self._loop,), name="embedding-calls", daemon=True).start()
            future = asyncio.run_coroutine_threadsafe(call, self._loop)
        try:
            return future.result()
        except CancelledError as error:
            raise EmbeddingError("the embedding provider's connections were closed") from error

    async def _post(self, body: dict[str, Any], max_size: int) -> bytes:
        try:
            async with asyncio.timeout(self._total_timeout):
                return await self._send_with_retry(body, max_size)
        except TimeoutError as error:
            message = f"the embedding provider sent no complete response within {self._total_timeout:g} s"
            raise EmbeddingError(message) from error
        except _Unreachable as error:
            message = "the embedding provider cannot be reached, or interrupted its response"
            raise EmbeddingError(message) from error
        except _Refused as refusal:
            raise EmbeddingError(
                f"the embedding provider {_REASONS.get(refusal.status, 'failed')} (status {refusal.status})",
                retry_after=refusal.pause,
                permanent=refusal.status in _PERMANENT,
            ) from refusal

    async def _send_with_retry(self, body: dict[str, Any], max_size: int) -> bytes:
        try:
            return await self._send(body, max_size)
        except _Unreachable:
            pass
        except _Refused as refusal:
            if refusal.status < 500 or refusal.pause is not None:
                raise
        await asyncio.sleep(_RETRY_PAUSE)
        return await self._send(body, max_size)

    async def _send(self, body: dict[str, Any], max_size: int) -> bytes:
        try:
            if self._client is None:
                timeout = httpx.Timeout(self._total_timeout, connect=self._connect_timeout)
                self._client = httpx.AsyncClient(timeout=timeout, headers=self._headers)
            async with self._client.stream("POST", self._url, json=body) as response:
                # The body of a refusal is not read, whatever its size.
                if not response.is_success:
                    raise _Refused(response)
                return await _read_body(response, max_size)
        except (EmbeddingError, _Refused):
            raise
        except Exception as error:  # its errors have no common class: a URL of an unknown host may be a ValueError
            raise _Unreachable from error


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    loop.run_forever()
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()


async def _read_body(response: httpx.Response, max_size: int) -> bytes:
    """Return the raw body. A body that is compressed, although we accept no compression, is not decompressed."""
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) > max_size:
            raise EmbeddingError("the embedding provider's response is too large")
    return bytes(body)


def _requested_pause(response: httpx.Response) -> float | None:
    """Return the pause in seconds that the provider requested, or a default if a 429 names none."""
    header = response.headers.get("retry-after")
    if response.status_code not in (429, 503) or (header is None and response.status_code == 503):
        return None
    return _DEFAULT_PAUSE if header is None else _retry_after(header)


def _retry_after(value: str) -> float:
    """Return the value of a Retry-After header (RFC 9110, 10.2.3) in seconds from now, between 1 and 3600."""
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, OverflowError):
            return _DEFAULT_PAUSE
    return min(max(seconds, 1.0), _MAX_PAUSE) if math.isfinite(seconds) else _DEFAULT_PAUSE
