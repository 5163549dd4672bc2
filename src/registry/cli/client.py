"""The HTTP client of a server: one connection pool, one-line errors, and a credential that stays on its origin."""

import ssl
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from types import TracebackType
from typing import Any, BinaryIO, Self
from urllib.parse import urlsplit
from urllib.request import getproxies

import httpx
import msgspec

from registry import __version__
from registry.cli.backend import CommandFailed, Data
from registry.cli.credentials import find_credential, login_hint
from registry.config.settings import Settings
from registry.domain.addresses import redact_text
from registry.domain.api import API, credential_header
from registry.errors import FieldError
from registry.parsing.json_document import JsonUnreadable, read_json

TIMEOUT_SECONDS = 30.0
"""The default limit for each step of a request: connect, send, receive."""

_MAX_REDIRECTS = 10

_RELAYED = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND})


class ConnectionFailed(CommandFailed):
    """No answer arrived: the request can be sent again."""


class RegistryClient:
    """A client of one server, for use as a context manager.

    It follows redirects within the origin of the server and refuses others: no other origin gets the credential.
    All methods raise CommandFailed.

    Args:
        url: The address of the server, perhaps with a path.
        credential: An API key or a token.
    """

    def __init__(self, url: str, credential: str | None = None) -> None:
        self._url = check_url(url)
        self.base = url.rstrip("/")
        self._http = open_http({"Accept": "application/json", **credential_headers(credential)}, self._url.scheme)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    @property
    def host(self) -> str:
        """The host name or address of the server."""
        return self._url.host

    @property
    def is_encrypted(self) -> bool:
        """Whether requests are sent over TLS."""
        return self._url.scheme == "https"

    def call(self, method: str, path: str, body: object = None, seconds: float = TIMEOUT_SECONDS) -> Any:
        """Send a request to a path of the API, with a JSON body, and return the `data` of the answer."""
        return self.data(self.send(method, f"{API}{path}", body, seconds))

    def page(self, path: str, limit: int, offset: int) -> tuple[list[Data], int]:
        """Return a part of a list, and the total number of its items."""
        content = self.send("GET", f"{API}{path}?limit={limit}&offset={offset}")
        try:
            return self.data(content), int(read_json(content)["pagination"]["total"])
        except (KeyError, TypeError, ValueError):
            raise CommandFailed(f"{self.base} does not answer as a skill registry: is the URL right?") from None

    def data(self, content: bytes) -> Any:
        """Return the `data` of an answer."""
        try:
            return read_json(content)["data"]
        except (JsonUnreadable, KeyError, TypeError):
            raise CommandFailed(f"{self.base} does not answer as a skill registry: is the URL right?") from None

    def send(self, method: str, path: str, body: object = None, seconds: float = TIMEOUT_SECONDS) -> bytes:
        """Send a request to a path of the server and return the content of the answer."""
        content = None if body is None else msgspec.json.encode(body)
        headers = {} if body is None else {"Content-Type": "application/json"}
        return self._send(method, path, content=content, headers=headers, timeout=seconds)

    def relay(self, path: str, content: bytes, headers: dict[str, str], seconds: float) -> bytes:
        """Send JSON to a path of the server and return the content of the answer, whose status may be 400 or 404."""
        headers = {"Content-Type": "application/json", **headers}
        return self._send("POST", path, relays=True, content=content, headers=headers, timeout=seconds)

    def send_lines(self, path: str, lines: Sequence[bytes], seconds: float) -> Any:
        """Send lines of JSON to a path of the API and return the `data` of the answer."""
        headers = {"Content-Type": "application/x-ndjson"}
        content = b"\n".join(lines)
        return self.data(self._send("POST", f"{API}{path}", content=content, headers=headers, timeout=seconds))

    def upload(self, path: str, package: BinaryIO, headers: dict[str, str], seconds: float) -> Data:
        """Send a package to a path of the API in chunks, from the start of the file, and return `data`.

        Raises ConnectionFailed if the connection breaks.
        """
        package.seek(0)
        files = {"package": ("package.zip", package, "application/zip")}
        job: Data = self.data(self._send("POST", f"{API}{path}", files=files, headers=headers, timeout=seconds))
        return job

    def _send(self, method: str, path: str, *, relays: bool = False, **parts: Any) -> bytes:
        try:
            response = self._follow(self._http.send(self._http.build_request(method, f"{self.base}{path}", **parts)))
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:  # a host name can be a ValueError
            reason = str(error) or type(error).__name__
            raise ConnectionFailed(f"{self.base} does not answer ({reason}): is it running?") from None
        if response.is_success or (relays and response.status_code in _RELAYED):
            return response.content
        needs_login = response.status_code == HTTPStatus.UNAUTHORIZED and path.startswith(API)
        failure = _failure(response)
        raise CommandFailed(f"{failure}{login_hint(self.base) if needs_login else ''}", failure.code, failure.location)

    def _follow(self, response: httpx.Response) -> httpx.Response:
        for _ in range(_MAX_REDIRECTS):
            if response.next_request is None:
                return response
            target = response.next_request.url
            if _origin(target) != _origin(self._url):
                origin = f"{target.scheme}://{target.netloc.decode('ascii')}"
                raise CommandFailed(f"the server redirects to {origin}: use that URL with --server if you trust it")
            response = self._http.send(response.next_request)
        raise CommandFailed(f"{self.base} redirects more than {_MAX_REDIRECTS} times")


def connect(settings: Settings, url: str) -> RegistryClient:
    """Return a client with the user's credential for a server. Raises CommandFailed."""
    check_url(url)
    return RegistryClient(url, find_credential(settings, url))


def check_url(url: str, option: str = "--server") -> httpx.URL:
    """Return the URL of a server, which `option` names. Raises CommandFailed for anything but an http or https URL."""
    try:
        urlsplit(url).port  # noqa: B018 - raises ValueError if it is out of range
        parsed = httpx.URL(url)
        is_valid = parsed.scheme in {"http", "https"} and bool(parsed.host)
    except (ValueError, httpx.InvalidURL):
        is_valid = False
    if not is_valid:
        raise CommandFailed(f"{option} {redact_text(url)}: not an http(s) URL, such as http://localhost:8080")
    if parsed.userinfo:
        raise CommandFailed(f"{option}: the URL must not hold a user name or password; use 'skill-registry login'")
    return parsed


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port  # httpx drops the default port


def open_http(headers: Mapping[str, str], scheme: str, **options: Any) -> httpx.Client:
    """Return an HTTP client that trusts the authorities of the system and uses its proxy. Raises CommandFailed."""
    sent = {"User-Agent": f"skill-registry/{__version__}", **headers}
    try:
        return httpx.Client(headers=sent, verify=_tls_context(scheme), **options)
    except (ImportError, ValueError, httpx.InvalidURL) as error:  # SOCKS needs a package that is not installed
        raise CommandFailed(f"the proxy in the environment cannot be used: {error}") from None


def _tls_context(scheme: str) -> ssl.SSLContext:
    """Return the trust settings for TLS: the authorities of the system, and those that httpx brings along."""
    if scheme == "http" and not any(proxy.startswith("https:") for proxy in getproxies().values()):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # without TLS, loading authorities only takes time
    context = httpx.create_ssl_context()
    context.load_default_certs()
    return context


def credential_headers(credential: str | None) -> Mapping[str, str]:
    """Return the header that carries an API key or a token. Raises CommandFailed for what no header can carry."""
    if credential is None:
        return {}
    if not credential.isascii() or not credential.isprintable():  # the error of the HTTP library would show it
        raise CommandFailed("client.api_key or the stored login has characters that no HTTP header can carry")
    return credential_header(credential)


def _failure(response: httpx.Response) -> CommandFailed:
    """Return the error of a response, without a code if it is not one of the API."""
    try:
        return failure_of(read_json(response.content)["error"], response.headers.get("Location"))
    except (JsonUnreadable, KeyError, TypeError, AttributeError):
        return CommandFailed(f"the server answered {response.status_code} {response.reason_phrase}")


def failure_of(error: Data, location: str | None = None) -> CommandFailed:
    """Return an error of the API as that of a command. Raises KeyError, TypeError, AttributeError for anything else."""
    details = [FieldError(detail["field"], detail["message"]).line for detail in error.get("details") or []]
    return CommandFailed("; ".join(details) or str(error["message"]), error.get("code"), location)
