"""The one outgoing HTTP client: public addresses only, within a time and a size."""

import base64
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpcore
import httpx

from registry import __version__
from registry.domain.addresses import AddressPolicy, Endpoint, OutboundError, parse_url, shown
from registry.outbound.connection import CheckedBackend, Deadline

MAX_REDIRECTS = 5

_Headers = dict[bytes | str, bytes | str]

_REDIRECTS = frozenset({301, 302, 303, 307, 308})


class Validators(NamedTuple):
    """What an answer said of its state, to ask again only for what has changed since (RFC 9110, section 8.8)."""

    etag: str = ""
    last_modified: str = ""


class FetchedResponse(NamedTuple):
    """A fetched document. `body` is None where it has not changed since the validators sent; `url` is the final one."""

    url: str
    body: bytes | None
    validators: Validators


class _Opened(NamedTuple):
    url: str
    response: httpcore.Response
    header: dict[str, str]


class OutboundClient:
    """Fetches URLs. Proxies, cookies, environment and compression are left alone.

    Args:
        policy: Which addresses may be reached.
        certificates: Whom to trust over https; by default whom the system trusts.
    """

    def __init__(self, policy: AddressPolicy, certificates: ssl.SSLContext | None = None) -> None:
        self.policy = policy
        self._certificates = certificates or ssl.create_default_context()

    def get(self, url: str, *, limit: int, seconds: float, known: Validators | None = None) -> FetchedResponse:
        """Return the document at `url`, at most `limit` bytes, within `seconds` in all.

        Raises OutboundError, also for every status but 200, and 304 where `known` was sent.
        """
        known = known or Validators()
        with self._open(url, Deadline(seconds), known) as opened:
            validators = Validators(opened.header.get("etag", ""), opened.header.get("last-modified", ""))
            if opened.response.status == 304 and any(known):
                return FetchedResponse(opened.url, None, known)
            return FetchedResponse(opened.url, b"".join(_limited(opened, limit)), validators)

    def download(self, url: str, target: Path, *, limit: int, seconds: float) -> None:
        """Write the file at `url` to `target`, which must not exist yet; nothing is left of one that fails.

        Raises OutboundError, FileExistsError and other OSErrors of the disk.
        """
        with self._open(url, Deadline(seconds), Validators()) as opened, target.open("xb") as file:
            try:
                for chunk in _limited(opened, limit):
                    file.write(chunk)
            except BaseException:
                target.unlink()
                raise

    def post(self, url: str, body: bytes, headers: Mapping[str, str], *, seconds: float) -> int:
        """Send `body` to `url` and return the status of the answer, whose body is not read. Redirects are not followed.

        Raises OutboundError.
        """
        target = parse_url(url)
        sent = _headers(target.credentials, Validators()) | dict(headers)
        with self._request("POST", target, sent, Deadline(seconds), body) as response:
            return response.status

    @contextmanager
    def _open(self, url: str, deadline: Deadline, known: Validators) -> Iterator[_Opened]:
        """Yield the answer at the end of the redirects."""
        target = parse_url(url)
        credentials = target.credentials
        for _ in range(MAX_REDIRECTS + 1):
            with self._request("GET", target, _headers(credentials, known), deadline) as response:
                header = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
                if response.status not in _REDIRECTS:
                    yield _Opened(str(target.url), response, header)
                    return
            following = _redirected(target, header.get("location", ""))
            if (following.host, following.port) != (target.host, target.port):
                credentials = following.credentials
            target = following
        raise OutboundError(f"{shown(url)} is redirected more than {MAX_REDIRECTS} times")

    @contextmanager
    def _request(
        self, method: str, target: Endpoint, headers: _Headers, deadline: Deadline, body: bytes | None = None
    ) -> Iterator[httpcore.Response]:
        where = shown(str(target.url))
        backend = CheckedBackend(self.policy, deadline)
        try:
            with (
                httpcore.ConnectionPool(ssl_context=self._certificates, network_backend=backend) as pool,
                pool.stream(method, str(target.url), headers=headers, content=body) as response,
            ):
                yield response
        except (httpcore.TimeoutException, TimeoutError):
            raise OutboundError(f"{where} did not answer in time") from None
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.UnsupportedProtocol) as error:
            reason = " ".join(str(error).split())[:200] or type(error).__name__
            raise OutboundError(f"{where} cannot be read: {reason}") from None


def _headers(credentials: tuple[str, str] | None, known: Validators) -> _Headers:
    # Compression would make the size limit one of what is sent, not of what is unpacked.
    headers: _Headers = {
        "User-Agent": f"skill-registry/{__version__}",
        "Accept": "*/*",
        "Accept-Encoding": "identity",
    }
    if credentials:
        headers["Authorization"] = basic_authorization(credentials)
    if known.etag:
        headers["If-None-Match"] = known.etag
    elif known.last_modified:
        headers["If-Modified-Since"] = known.last_modified
    return headers


def basic_authorization(credentials: tuple[str, str]) -> str:
    """Return the value of an `Authorization` header for a user and a password (RFC 7617)."""
    return "Basic " + base64.b64encode(":".join(credentials).encode()).decode("ascii")


def _redirected(target: Endpoint, location: str) -> Endpoint:
    try:
        following = parse_url(str(target.url.join(location)) if location else "")
    except (httpx.InvalidURL, ValueError):
        raise OutboundError(f"{shown(str(target.url))} is redirected to what is no URL") from None
    if target.url.scheme == "https" and following.url.scheme != "https":
        raise OutboundError(f"{shown(str(target.url))} is redirected from https to http")
    return following


def _limited(opened: _Opened, limit: int) -> Iterator[bytes]:
    """Yield the body in pieces, counted as they come, whatever its announced length."""
    where = shown(opened.url)
    if opened.response.status != 200:
        raise OutboundError(f"{where} answers with status {opened.response.status}")
    if opened.header.get("content-encoding", "identity").lower() != "identity":
        raise OutboundError(f"{where} answers with a compressed body, which was not asked for")
    received = 0
    for chunk in opened.response.iter_stream():
        received += len(chunk)
        if received > limit:
            raise OutboundError(f"{where} is larger than {limit:,} bytes")
        yield chunk
