"""The outgoing HTTP client: it reaches only public addresses, within time and size limits."""

import base64
import functools
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpcore
import httpx

from registry import __version__
from registry.domain.addresses import (
    AddressPolicy,
    Endpoint,
    OutboundError,
    StatusError,
    origin_host,
    parse_url,
    redact_url,
)
from registry.outbound.connection import CheckedBackend, Deadline
from registry.outbound.credential import Credential
from registry.outbound.interruption import Interruption
from registry.outbound.proxies import Proxies
from registry.outbound.tls_reasons import tls_reason
from search.steps import in_step

MAX_REDIRECTS = 5
_ERROR_BYTES = 16 << 10

_Headers = dict[bytes | str, bytes | str]

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_PROXY_AUTHENTICATION_REQUIRED = 407


class Authorities(NamedTuple):
    """The authorities that are trusted, in PEM: a file and a folder of them; without both, those of the system."""

    file: Path | None = None
    folder: Path | None = None


class Validators(NamedTuple):
    """The validators of a response, for conditional requests (RFC 9110, section 8.8)."""

    etag: str = ""
    last_modified: str = ""


class FetchedResponse(NamedTuple):
    """A fetched document. `url` is the final one; `body` is None if it has not changed since the validators."""

    url: str
    body: bytes | None
    validators: Validators


class _Conditions(NamedTuple):
    """What a request depends on besides its URL."""

    deadline: Deadline
    known: Validators = Validators()
    credential: Credential | None = None
    interruption: Interruption | None = None


class _Opened(NamedTuple):
    url: str
    response: httpcore.Response
    header: dict[str, str]


class OutboundClient:
    """Fetches URLs. It uses no cookies, environment variables or compression.

    Args:
        policy: The addresses that may be reached directly. Behind a proxy, it decides for addresses in URLs only.
        authorities: The authorities that https trusts; by default those of the system.
        proxies: The proxies; by default none.
    """

    def __init__(
        self, policy: AddressPolicy, authorities: Authorities | None = None, proxies: Proxies | None = None
    ) -> None:
        self.policy = policy
        self._authorities = authorities or Authorities()
        self._proxies = proxies or Proxies()

    def get(
        self,
        url: str,
        *,
        limit: int,
        seconds: float,
        known: Validators | None = None,
        credential: Credential | None = None,
        interruption: Interruption | None = None,
    ) -> FetchedResponse:
        """Return the document at `url`, at most `limit` bytes, within `seconds` in total.

        `known` makes the request conditional. `credential` is sent to its own origin only; after a redirect to another
        origin it is not sent any more. `interruption` can end the request from another thread.

        Raises OutboundError. Raises StatusError for every status except 200, and except 304 of a conditional request.
        """
        known = known or Validators()
        with self._open(url, _Conditions(Deadline(seconds), known, credential, interruption)) as opened:
            validators = Validators(opened.header.get("etag", ""), opened.header.get("last-modified", ""))
            if opened.response.status == 304 and any(known):
                return FetchedResponse(opened.url, None, known)
            return FetchedResponse(opened.url, b"".join(_limited(opened, limit)), validators)

    def download(
        self, url: str, target: Path, *, limit: int, seconds: float, credential: Credential | None = None
    ) -> None:
        """Write the file at `url` to `target`, which must not exist yet. A failure leaves no file.

        `credential` is sent as by `get`. Raises OutboundError, FileExistsError and other OSErrors.
        """
        conditions = _Conditions(Deadline(seconds), credential=credential)
        with self._open(url, conditions) as opened, target.open("xb") as file:
            try:
                for chunk in _limited(opened, limit):
                    file.write(chunk)
            except BaseException:
                target.unlink()
                raise

    def post(self, url: str, body: bytes, headers: Mapping[str, str], *, seconds: float) -> int:
        """Send `body` to `url` and return the response status. It follows no redirects and reads no response body.

        Raises OutboundError.
        """
        target = parse_url(url)
        all_headers = _headers(target.credentials, Validators()) | dict(headers)
        with self._request("POST", target, all_headers, _Conditions(Deadline(seconds)), body) as response:
            return response.status

    def exchange(
        self, url: str, body: bytes, headers: Mapping[str, str], *, limit: int, seconds: float
    ) -> tuple[int, bytes]:
        """Send `body` to `url` and return the status and the body of the response, at most `limit` bytes of it.

        It follows no redirects. Raises OutboundError.
        """
        target = parse_url(url)
        all_headers = _headers(target.credentials, Validators()) | dict(headers)
        with self._request("POST", target, all_headers, _Conditions(Deadline(seconds)), body) as response:
            received = b""
            for chunk in response.iter_stream():
                received += chunk
                if len(received) > limit:
                    raise OutboundError(f"{redact_url(url)} answers with more than {limit:,} bytes")
            return response.status, received

    def location(self, url: str, headers: Mapping[str, str], *, seconds: float) -> str | None:
        """Return where `url` is redirected to; None if it is not redirected. It follows no redirect.

        Raises OutboundError.
        """
        target = parse_url(url)
        all_headers = _headers(None, Validators()) | dict(headers)
        with self._request("GET", target, all_headers, _Conditions(Deadline(seconds))) as response:
            header = {name.lower(): value.decode("latin-1") for name, value in response.headers}
            if response.status not in _REDIRECTS:
                return None
        return str(_redirect_target(target, header.get(b"location", "")).url)

    @contextmanager
    def _open(self, url: str, conditions: _Conditions) -> Iterator[_Opened]:
        """Yield the response after all redirects."""
        target = parse_url(url)
        credentials, credential = target.credentials, conditions.credential
        for _ in range(MAX_REDIRECTS + 1):
            headers = _headers(credentials, conditions.known)
            if credential is not None:
                headers.update(credential.header_for(target).items())
            with self._request("GET", target, headers, conditions) as response:
                header = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
                if response.status not in _REDIRECTS:
                    yield _Opened(str(target.url), response, header)
                    return
            next_target = _redirect_target(target, header.get("location", ""))
            if next_target.origin != target.origin:  # also for good: another origin may redirect back
                credentials, credential = next_target.credentials, None
            target = next_target
        raise OutboundError(f"{redact_url(url)} is redirected more than {MAX_REDIRECTS} times")

    @contextmanager
    def _request(
        self, method: str, target: Endpoint, headers: _Headers, conditions: _Conditions, body: bytes | None = None
    ) -> Iterator[httpcore.Response]:
        name = redact_url(str(target.url))
        proxy = self._proxies.of(target)
        if proxy is not None:
            self.policy.check_literal(target.host, target.port)
            name += f" (through the proxy {proxy.host}:{proxy.port})"
        try:
            with (
                in_step("outbound request"),
                self._pool(proxy, conditions) as pool,
                pool.stream(method, str(target.url), headers=headers, content=body) as response,
            ):
                if proxy is not None and response.status == _PROXY_AUTHENTICATION_REQUIRED:
                    raise OutboundError(f"{name} cannot be read: the proxy refuses it (407)")
                yield response
        except (httpcore.TimeoutException, TimeoutError):
            raise OutboundError(f"{name} did not answer in time") from None
        except httpcore.ProxyError as error:
            raise OutboundError(f"{name} cannot be read: the proxy refuses it ({_reason(error)})") from None
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.UnsupportedProtocol) as error:
            raise OutboundError(f"{name} cannot be read: {_reason(error)}") from None

    def _pool(self, proxy: Endpoint | None, conditions: _Conditions) -> httpcore.ConnectionPool:
        certificates = _trusting(self._authorities)
        policy = self.policy if proxy is None else AddressPolicy([origin_host(proxy)])
        backend = CheckedBackend(policy, conditions.deadline, conditions.interruption)
        if proxy is None:
            return httpcore.ConnectionPool(ssl_context=certificates, network_backend=backend)
        return httpcore.HTTPProxy(
            str(proxy.url),
            proxy.credentials,
            ssl_context=certificates,
            proxy_ssl_context=certificates if proxy.url.scheme == "https" else None,
            network_backend=backend,
        )


def _reason(error: Exception) -> str:
    return tls_reason(error) or " ".join(str(error).split())[:200] or type(error).__name__


@functools.cache
def _trusting(authorities: Authorities) -> ssl.SSLContext:
    """Return the context of all clients. It takes 30 ms, so no start waits for it. Raises OutboundError."""
    try:
        return ssl.create_default_context(cafile=authorities.file, capath=authorities.folder)
    except (OSError, ssl.SSLError) as error:
        raise OutboundError(
            f"outbound.ca_file {authorities.file} cannot be read: {error.strerror or 'it has no certificates in PEM'}"
        ) from None


def _headers(credentials: tuple[str, str] | None, validators: Validators) -> _Headers:
    # With compression, the size limit would apply to the compressed size only.
    headers: _Headers = {
        "User-Agent": f"skill-registry/{__version__}",
        "Accept": "*/*",
        "Accept-Encoding": "identity",
    }
    if credentials:
        headers["Authorization"] = basic_authorization(credentials)
    if validators.etag:
        headers["If-None-Match"] = validators.etag
    elif validators.last_modified:
        headers["If-Modified-Since"] = validators.last_modified
    return headers


def basic_authorization(credentials: tuple[str, str]) -> str:
    """Return the value of an `Authorization` header for a user and password (RFC 7617)."""
    return "Basic " + base64.b64encode(":".join(credentials).encode()).decode("ascii")


def _redirect_target(target: Endpoint, location: str) -> Endpoint:
    try:
        next_target = parse_url(str(target.url.join(location)) if location else "")
    except (httpx.InvalidURL, ValueError):
        raise OutboundError(f"{redact_url(str(target.url))} is redirected to an invalid URL") from None
    if target.url.scheme == "https" and next_target.url.scheme != "https":
        raise OutboundError(f"{redact_url(str(target.url))} is redirected from https to http")
    return next_target


def _error_body(opened: _Opened) -> bytes:
    """Return the body of an error in JSON; nothing if it is long, or cannot be read: the status says enough."""
    body = b""
    if opened.header.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        return body
    try:
        for chunk in opened.response.iter_stream():
            body += chunk
            if len(body) > _ERROR_BYTES:
                return b""
    except (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError, TimeoutError):
        return b""
    return body


def _limited(opened: _Opened, limit: int) -> Iterator[bytes]:
    """Yield the body in chunks, and count their size, since the announced length may be wrong."""
    name = redact_url(opened.url)
    if opened.response.status != 200:
        status = opened.response.status
        raise StatusError(f"{name} answers with status {status}", status, _error_body(opened))
    if opened.header.get("content-encoding", "identity").lower() != "identity":
        raise OutboundError(f"{name} answers with a compressed body, although none was requested")
    received = 0
    for chunk in opened.response.iter_stream():
        received += len(chunk)
        if received > limit:
            raise OutboundError(f"{name} is larger than {limit:,} bytes")
        yield chunk
