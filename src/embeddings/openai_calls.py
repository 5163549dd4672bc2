"""One call to an embeddings API through the openai SDK: bounded in time and size, whatever the server does.

The SDK bounds the wait for each read, not the call, so a server that drips bytes would hold it for ever;
asyncio can end it anywhere. So calls run in an event loop of their own thread.
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
_LONGEST_PAUSE = 3600.0
_DEFAULT_PAUSE = 5.0
_REASONS = {
    400: "refused the texts or a parameter",
    401: "refused the API key",
    403: "refused the API key",
    404: "knows no such model or address",
    413: "found the texts too large",
    422: "refused the texts or a parameter",
    429: "asks for a pause",
}
_ABOUT_THE_TEXTS = {400, 413, 422}


class _BrokenOffError(openai.OpenAIError):
    """The connection failed in the middle of an answer."""


class Calls:
    """Makes calls, from several threads at once. The thread behind it starts with the first call."""

    def __init__(self, base_url: str, api_key: str, connect_timeout: float, total_timeout: float) -> None:
        self._base_url = base_url
        self._api_key = api_key
        self._connect_timeout = connect_timeout
        self._total_timeout = total_timeout
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._client: openai.AsyncOpenAI | None = None

    def post(self, model: str, texts: Sequence[str], dimension: int | None, limit: int) -> bytes:
        """Return the body of the answer. Raises EmbeddingError, also when it is more than `limit` bytes."""
        return self._run(self._post(model, list(texts), dimension or openai.omit, limit))

    def close(self) -> None:
        """End the thread and close the connections; a later call starts them again."""
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
            running = asyncio.run_coroutine_threadsafe(call, self._loop)
        try:
            return running.result()
        except CancelledError as fault:
            raise EmbeddingError("the embedding provider's connections were closed") from fault

    async def _post(self, model: str, texts: list[str], dimensions: int | openai.Omit, limit: int) -> bytes:
        try:
            async with asyncio.timeout(self._total_timeout):
                return await self._attempt_twice(model, texts, dimensions, limit)
        except TimeoutError as fault:
            message = f"the embedding provider gave no whole answer within {self._total_timeout:g} s"
            raise EmbeddingError(message) from fault
        except openai.OpenAIError as fault:
            # The SDK's own messages quote the server, which may quote the key.
            raise _explained(fault) from None

    async def _attempt_twice(self, model: str, texts: list[str], dimensions: int | openai.Omit, limit: int) -> bytes:
        try:
            return await self._attempt(model, texts, dimensions, limit)
        except (openai.APIConnectionError, openai.InternalServerError, _BrokenOffError) as fault:
            if _asked_pause(fault) is not None:
                raise
            await asyncio.sleep(_RETRY_PAUSE)
            return await self._attempt(model, texts, dimensions, limit)

    async def _attempt(self, model: str, texts: list[str], dimensions: int | openai.Omit, limit: int) -> bytes:
        try:
            if self._client is None:
                self._client = self._new_client()
            call = self._client.embeddings.with_streaming_response.create(
                model=model, input=texts, dimensions=dimensions, encoding_format="base64"
            )
            async with call as answer:
                return await _body(answer, limit)
        except (EmbeddingError, openai.OpenAIError):
            raise
        except Exception as fault:  # while a body is read, the SDK passes on what its HTTP library raises
            raise _BrokenOffError from fault

    def _new_client(self) -> openai.AsyncOpenAI:
        timeout = openai.Timeout(self._total_timeout, connect=self._connect_timeout)
        http = openai.DefaultAsyncHttpxClient(
            timeout=timeout, follow_redirects=False, event_hooks={"response": [_drop_body_of_refusal]}
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


async def _body(answer: Any, limit: int) -> bytes:
    """Read the body as it comes: one that is compressed, although we ask for none, is not unpacked."""
    body = bytearray()
    async for part in answer.http_response.aiter_raw():
        body += part
        if len(body) > limit:
            raise EmbeddingError("the embedding provider's answer is too large")
    return bytes(body)


async def _drop_body_of_refusal(response: Any) -> None:
    """Close an answer that is not a success: the SDK would read its body whole, however large."""
    if response.status_code >= 300:
        await response.aclose()


def _explained(fault: openai.OpenAIError) -> EmbeddingError:
    if isinstance(fault, openai.APITimeoutError):
        return EmbeddingError("the embedding provider does not answer")
    if not isinstance(fault, openai.APIStatusError):
        return EmbeddingError("the embedding provider cannot be reached, or broke off its answer")
    status = fault.status_code
    reason = _REASONS.get(status, "failed")
    return EmbeddingError(
        f"the embedding provider {reason} (status {status})",
        retry_after=_asked_pause(fault),
        permanent=status in _ABOUT_THE_TEXTS,
    )


def _asked_pause(fault: openai.OpenAIError) -> float | None:
    """Return the seconds to leave the provider alone: what it asks for, or some when it only says 429."""
    if not isinstance(fault, openai.APIStatusError):
        return None
    header = fault.response.headers.get("retry-after")
    if fault.status_code not in (429, 503) or (header is None and fault.status_code == 503):
        return None
    return _DEFAULT_PAUSE if header is None else _retry_after(header)


def _retry_after(value: str) -> float:
    """Read a Retry-After header (RFC 9110, 10.2.3), in seconds from now, within reason."""
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, OverflowError):
            return _DEFAULT_PAUSE
    return min(max(seconds, 1.0), _LONGEST_PAUSE) if math.isfinite(seconds) else _DEFAULT_PAUSE
