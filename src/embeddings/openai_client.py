"""A client of an embeddings API over the openai SDK that limits the time and size of every call.

The SDK limits the wait for each read, not the whole call, so a server that sends single bytes could hold it for ever.
asyncio can cancel a call at any point, so calls run in an event loop in a thread of its own.
"""

import asyncio
import math
import threading
import time
from collections.abc import Coroutine, Sequence
from concurrent.futures import CancelledError
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import openai

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


class _ResponseInterrupted(openai.OpenAIError):
    """The connection failed in the middle of a response."""


class EmbeddingsClient:
    """Sends requests. Safe to use from several threads at once. The first request starts the event loop's thread."""

    def __init__(self, base_url: str, api_key: str, connect_timeout: float, total_timeout: float) -> None:
        self._base_url = base_url
        self._api_key = api_key
        self._connect_timeout = connect_timeout
        self._total_timeout = total_timeout
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._client: openai.AsyncOpenAI | None = None

    def post(self, model: str, texts: Sequence[str], dimension: int | None, max_size: int) -> bytes:
        """Return the body of the response. Raises EmbeddingError, also if it has more than `max_size` bytes."""
        return self._run(self._post(model, list(texts), dimension or openai.omit, max_size))

    def close(self) -> None:
        """Stop the thread and close the connections. A later call starts them again."""
        with self._lock:
            loop, self._loop = self._loop, None
            client, self._client = self._client, None
        if loop is not None and client is not None:
            asyncio.run_coroutine_threadsafe(client.close(), loop).result()
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

    async def _post(self, model: str, texts: list[str], dimensions: int | openai.Omit, max_size: int) -> bytes:
        try:
            async with asyncio.timeout(self._total_timeout):
                return await self._send_with_retry(model, texts, dimensions, max_size)
        except TimeoutError as error:
            message = f"the embedding provider sent no complete response within {self._total_timeout:g} s"
            raise EmbeddingError(message) from error
        except openai.OpenAIError as error:
            # `from None`, because the SDK's messages quote the server, which may quote the API key.
            raise _translate(error) from None

    async def _send_with_retry(
        self, model: str, texts: list[str], dimensions: int | openai.Omit, max_size: int
    ) -> bytes:
        try:
            return await self._send(model, texts, dimensions, max_size)
        except (openai.APIConnectionError, openai.InternalServerError, _ResponseInterrupted) as error:
            if _requested_pause(error) is not None:
                raise
            await asyncio.sleep(_RETRY_PAUSE)
            return await self._send(model, texts, dimensions, max_size)

    async def _send(self, model: str, texts: list[str], dimensions: int | openai.Omit, max_size: int) -> bytes:
        try:
            if self._client is None:
                self._client = self._new_client()
            call = self._client.embeddings.with_streaming_response.create(
                model=model, input=texts, dimensions=dimensions, encoding_format="base64"
            )
            async with call as response:
                return await _read_body(response, max_size)
        except (EmbeddingError, openai.OpenAIError):
            raise
        except Exception as error:  # the SDK passes on all errors of its HTTP library while the body is read
            raise _ResponseInterrupted from error

    def _new_client(self) -> openai.AsyncOpenAI:
        timeout = openai.Timeout(self._total_timeout, connect=self._connect_timeout)
        http = openai.DefaultAsyncHttpxClient(
            timeout=timeout, follow_redirects=False, event_hooks={"response": [_close_error_response]}
        )
        return openai.AsyncOpenAI(
            api_key=self._api_key,
            base_url=self._base_url,
            timeout=timeout,
            max_retries=0,
            http_client=http,
            default_headers={"Accept-Encoding": "identity"},
        )


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    loop.run_forever()
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()


async def _read_body(response: Any, max_size: int) -> bytes:
    """Return the raw body. A body that is compressed, although we accept no compression, is not decompressed."""
    body = bytearray()
    async for chunk in response.http_response.aiter_raw():
        body += chunk
        if len(body) > max_size:
            raise EmbeddingError("the embedding provider's response is too large")
    return bytes(body)


async def _close_error_response(response: Any) -> None:
    """Close an error response, because the SDK would read its whole body, whatever its size."""
    if response.status_code >= 300:
        await response.aclose()


def _translate(error: openai.OpenAIError) -> EmbeddingError:
    if isinstance(error, openai.APITimeoutError):
        return EmbeddingError("the embedding provider does not respond")
    if not isinstance(error, openai.APIStatusError):
        return EmbeddingError("the embedding provider cannot be reached, or interrupted its response")
    status = error.status_code
    reason = _REASONS.get(status, "failed")
    return EmbeddingError(
        f"the embedding provider {reason} (status {status})",
        retry_after=_requested_pause(error),
        permanent=status in _PERMANENT,
    )


def _requested_pause(error: openai.OpenAIError) -> float | None:
    """Return the pause in seconds that the provider requested, or a default if a 429 names none."""
    if not isinstance(error, openai.APIStatusError):
        return None
    header = error.response.headers.get("retry-after")
    if error.status_code not in (429, 503) or (header is None and error.status_code == 503):
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
