"""The official OpenAI client, with a limit of the time and size of every call.

The SDK limits the wait for each read, not the whole call, so a server that sends single bytes could hold one for
ever. asyncio can cancel a call at any point, so calls run in an event loop in a thread of its own. The SDK reads the
`OPENAI_*` variables that are no settings here, such as `OPENAI_ORG_ID`, by itself.
"""

import asyncio
import math
import ssl
import threading
import time
from collections.abc import AsyncIterator, Coroutine, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, TypeVar

import httpx2
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


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """Where requests go, and their limits.

    `api_version` is that of Azure OpenAI, whose `base_url` is the endpoint of a resource; it is None for any other
    provider. Timeouts are in seconds, `max_size` is the largest body of a response in bytes. `proxy` is the URL of a
    proxy. `ca_file` and `ca_dir` have the authorities that https trusts, by default those of the SDK.
    """

    base_url: str
    api_key: str
    api_version: str | None
    connect_timeout: float
    total_timeout: float
    max_size: int
    proxy: str | None = field(default=None, repr=False)
    ca_file: Path | None = None
    ca_dir: Path | None = None


class EmbeddingsClient:
    """Sends requests. Safe to use from several threads at once. The first request starts the event loop's thread."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._client: openai.AsyncOpenAI | None = None

    def post(self, model: str, texts: Sequence[str], dimension: int | None) -> bytes:
        """Return the body of the response. Raises EmbeddingError, also if it is larger than the limit."""
        return self._run(self._post(model, list(texts), openai.omit if dimension is None else dimension))

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
                loop, client = asyncio.new_event_loop(), _client_of(self._endpoint)
                try:
                    threading.Thread(target=_serve, args=(loop,), name="embedding-calls", daemon=True).start()
                except RuntimeError as error:
                    loop.close()
                    call.close()
                    raise EmbeddingError("no thread can be started for the embedding provider's connections") from error
                self._loop, self._client = loop, client
            future = asyncio.run_coroutine_threadsafe(call, self._loop)
        try:
            return future.result()
        except CancelledError as error:
            raise EmbeddingError("the embedding provider's connections were closed") from error

    async def _post(self, model: str, texts: list[str], dimension: int | openai.Omit) -> bytes:
        try:
            async with asyncio.timeout(self._endpoint.total_timeout):
                try:
                    return await self._send(model, texts, dimension)
                except openai.APIStatusError as refusal:
                    if refusal.status_code < 500 or _requested_pause(refusal.response) is not None:
                        raise
                except openai.APIConnectionError:
                    pass
                await asyncio.sleep(_RETRY_PAUSE)
                return await self._send(model, texts, dimension)
        except (TimeoutError, openai.APITimeoutError) as error:
            seconds = self._endpoint.total_timeout
            raise EmbeddingError(f"the embedding provider sent no complete response within {seconds:g} s") from error
        except openai.APIStatusError as refusal:
            # Its text is not repeated: it may quote the API key.
            raise EmbeddingError(
                f"the embedding provider {_REASONS.get(refusal.status_code, 'failed')} (status {refusal.status_code})",
                retry_after=_requested_pause(refusal.response),
                permanent=refusal.status_code in _PERMANENT,
            ) from refusal
        except _TooLarge as error:
            raise EmbeddingError("the embedding provider's response is too large") from error
        except Exception as error:  # the SDK passes on some errors of its HTTP client, which have no common class
            message = "the embedding provider cannot be reached, or interrupted its response"
            raise EmbeddingError(message) from error

    async def _send(self, model: str, texts: list[str], dimension: int | openai.Omit) -> bytes:
        client = self._client
        if client is None:  # closed while the call waited for its turn or its retry
            raise asyncio.CancelledError
        response = await client.embeddings.with_raw_response.create(
            model=model, input=texts, dimensions=dimension, encoding_format="base64"
        )
        return response.content


def _client_of(endpoint: Endpoint) -> openai.AsyncOpenAI:
    """Return the SDK's client. It does not retry or follow redirects, which could carry the key elsewhere."""
    options: dict[str, Any] = {
        "api_key": endpoint.api_key,
        "max_retries": 0,
        # A compressed body would have no limit of its size before it is unpacked.
        "default_headers": {"Accept-Encoding": "identity"},
        "http_client": httpx2.AsyncClient(
            transport=_BoundedTransport(endpoint),
            timeout=httpx2.Timeout(endpoint.total_timeout, connect=endpoint.connect_timeout),
            follow_redirects=False,
        ),
    }
    if endpoint.api_version is not None:
        return openai.AsyncAzureOpenAI(azure_endpoint=endpoint.base_url, api_version=endpoint.api_version, **options)
    return openai.AsyncOpenAI(base_url=endpoint.base_url, **options)


class _TooLarge(Exception):
    """The response has more bytes than the limit."""


class _BoundedTransport(httpx2.AsyncHTTPTransport):
    """Passes on raw bodies up to a limit of their size. The body of a refusal is not read, whatever its size."""

    def __init__(self, endpoint: Endpoint) -> None:
        authorities: ssl.SSLContext | bool = True
        if endpoint.ca_file or endpoint.ca_dir:
            authorities = ssl.create_default_context(cafile=endpoint.ca_file, capath=endpoint.ca_dir)
        super().__init__(verify=authorities, proxy=endpoint.proxy)
        self._max_size = endpoint.max_size

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the response, without an encoding: a body that is compressed all the same is not unpacked."""
        response = await super().handle_async_request(request)
        if not response.is_success:
            await response.aclose()
            pause = {name: value for name, value in response.headers.items() if name == "retry-after"}
            return httpx2.Response(response.status_code, headers=pause)
        response.headers.pop("content-encoding", None)
        response.stream = _BoundedStream(response.stream, self._max_size)
        return response


class _BoundedStream(httpx2.AsyncByteStream):
    """The stream of a body. It raises _TooLarge beyond a number of bytes."""

    def __init__(self, stream: Any, max_size: int) -> None:
        self._stream = stream
        self._max_size = max_size

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > self._max_size:
                raise _TooLarge
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    loop.run_forever()
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()


def _requested_pause(response: httpx2.Response) -> float | None:
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
