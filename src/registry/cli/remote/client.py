"""The HTTP client of a server: limits, answers of the right shape or one-line errors, a credential for one origin."""

import re
import ssl
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from types import TracebackType
from typing import Any, BinaryIO, NamedTuple, Self
from urllib.parse import urlsplit
from urllib.request import getproxies

import httpx
import msgspec
from msgspec import UNSET

from registry import __version__
from registry.cli.backend import CommandFailed, Data
from registry.cli.credentials import find_credential, login_hint, service_of
from registry.cli.remote.answers import Error, Page, WrongShape, checked, read_answer
from registry.cli.remote.transport import ANSWER_BYTES, AnswerRefused, LimitedTransport
from registry.config.settings import Settings
from registry.domain.addresses import OutboundError, redact_text
from registry.domain.api import API, SCOPES_PATH, credential_header
from registry.errors import FieldError
from registry.outbound import Authorities
from registry.outbound.proxies import Proxies, proxies_of
from registry.outbound.tls_reasons import tls_reason

_MAX_REDIRECTS = 10
_NO_ROUTE = "Route not found"

_LONG = 20
"""How many times longer than usual the answer may take if the server itself waits for other servers."""

_MAX_PAGES_BYTES = 16
"""How many answers of the maximum size a list may have altogether."""

_MAX_REASON, _MAX_MESSAGE = 200, 2_000
"""The characters of a library's and of a server's error that are shown."""

_SECONDS = re.compile(r"[0-9]{1,9}")
"""The header `Retry-After`, if it is no date."""

_OF_PROXIES = frozenset({HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT})
"""What a proxy answers while the server behind it does not."""


class ConnectionFailed(CommandFailed):
    """No answer arrived."""


class AnswerLost(ConnectionFailed):
    """The connection broke, or a proxy gave up: the server may have done what was requested."""


class Limits(NamedTuple):
    """What a server may take: the seconds for a whole answer, from the end of the request, and its bytes.

    `proxies` are used instead of those in the environment, and `authorities` are trusted besides those of the system.
    """

    seconds: float = 30.0
    bytes: int = ANSWER_BYTES
    proxies: Proxies | None = None
    authorities: Authorities = Authorities()

    @classmethod
    def of(cls, settings: Settings) -> "Limits":
        """Return the limits of the settings."""
        outbound, client = settings.outbound, settings.client
        proxies = proxies_of(outbound) if outbound.proxy else None
        authorities = Authorities(outbound.ca_file, outbound.ca_dir)
        return cls(client.answer_seconds, client.answer_bytes, proxies, authorities)


class RegistryClient:
    """A client of one server, for use as a context manager.

    It follows redirects within the origin of the server and refuses others: no other origin gets the credential.
    All methods raise CommandFailed. Those that return the `data` of an answer return it as it came, after a check that
    it can be read as a `kind`, a type of `answers`.

    Args:
        url: The address of the server, perhaps with a path.
        credential: An API key or a token.
        limits: What the server may take.
    """

    def __init__(self, url: str, credential: str | None = None, limits: Limits = Limits()) -> None:  # noqa: B008
        self._url = check_url(url)
        self._limits = limits
        self.base = url.rstrip("/")
        self._http = open_http(url, {"Accept": "application/json", **credential_headers(credential)}, limits)

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

    def call(
        self,
        kind: Any,
        method: str,
        path: str,
        body: object = None,
        *,
        long: bool = False,
        seconds: float | None = None,
    ) -> Any:
        """Send a request, perhaps with a JSON body, and return the `data` of the answer.

        Args:
            kind: The type of the `data`.
            method: The method.
            path: The path on the server.
            body: What is encoded as the body.
            long: The server waits for other servers before it answers.
            seconds: Another time for the answer than that of the limits.
        """
        content = None if body is None else msgspec.json.encode(body)
        headers = {} if body is None else {"Content-Type": "application/json"}
        answer = self._send(method, path, content=content, headers=headers, timeout=seconds or self._seconds(long=long))
        return self._data(answer, kind)

    def reach(self) -> None:
        """Raise ConnectionFailed if no server answers, whatever it would answer."""
        try:
            self._send("GET", "/healthz", timeout=self._limits.seconds)
        except ConnectionFailed:
            raise
        except CommandFailed:  # it answers
            pass

    def pages(self, kind: Any, path: str, limit: int | None, page: int, chosen: str = "") -> tuple[list[Any], int]:
        """Return the items of a list, at most `limit`, from pages of `page` items, and how many there are.

        `chosen` are more parameters of the query string.

        It ends at the number of items that the first page names, and at a size.
        """
        items: list[Any] = []
        total, wanted, size = 0, limit, 0
        while wanted is None or len(items) < wanted:
            count = page if wanted is None else min(page, wanted - len(items))
            query = "&".join(filter(None, (f"limit={count}&offset={len(items)}", chosen)))
            content = self._send("GET", f"{path}?{query}", timeout=self._limits.seconds)
            answer = self.checked(self._read(content), Page)
            if not items:
                total = answer["pagination"]["total"]
                wanted = min(total, limit or total)
            items += [self.checked(item, kind) for item in answer["data"][:count]]
            size += len(content)
            if len(answer["data"]) < count:
                break
            if size > _MAX_PAGES_BYTES * self._limits.bytes:
                raise CommandFailed(f"{self.base} lists more than can be read: --limit reads less")
        return items, total

    def text(self, path: str, limit: int) -> str | None:
        """Return the content at a path as a text; None if it is none, or has more than `limit` bytes."""
        content = self._send("GET", path, timeout=self._seconds(long=False))
        if len(content) > limit or b"\0" in content:
            return None
        return content.decode("utf-8", "replace")

    def relay(self, path: str, content: bytes, headers: dict[str, str]) -> bytes:
        """Send JSON to a path of the server and return the content of the answer, which may be an error of JSON-RPC."""
        headers = {"Content-Type": "application/json", **headers}
        return self._send("POST", path, relays=True, content=content, headers=headers, timeout=self._seconds(long=True))

    def send_lines(self, kind: Any, path: str, lines: Sequence[bytes]) -> Any:
        """Send lines of JSON and return the `data` of the answer."""
        headers = {"Content-Type": "application/x-ndjson"}
        content = b"\n".join(lines)
        answer = self._send("POST", path, content=content, headers=headers, timeout=self._seconds(long=True))
        return self._data(answer, kind)

    def upload(self, kind: Any, path: str, package: BinaryIO, headers: dict[str, str]) -> Any:
        """Send a package in chunks, from the start of the file, and return the `data` of the answer.

        Raises ConnectionFailed if the connection breaks.
        """
        package.seek(0)
        files = {"package": ("package.zip", package, "application/zip")}
        answer = self._send("POST", path, files=files, headers=headers, timeout=self._seconds(long=True))
        return self._data(answer, kind)

    def _seconds(self, *, long: bool) -> float:
        return self._limits.seconds * (_LONG if long else 1)

    def checked(self, value: Any, kind: Any) -> Any:
        """Return a part of an answer as it came, if it can be read as a `kind`."""
        try:
            return checked(value, kind)
        except WrongShape:
            raise self._no_registry() from None

    def _read(self, content: bytes) -> Any:
        try:
            return read_answer(content)
        except WrongShape:
            raise self._no_registry() from None

    def _data(self, content: bytes, kind: Any) -> Any:
        return self.checked(self.checked(self._read(content), dict[str, Any]).get("data", UNSET), kind)

    def _no_registry(self) -> CommandFailed:
        return CommandFailed(f"{self.base} does not answer as a skill registry: is the URL right?")

    def _send(self, method: str, path: str, *, relays: bool = False, **parts: Any) -> bytes:
        try:
            response = self._follow(self._http.send(self._http.build_request(method, f"{self.base}{path}", **parts)))
        except AnswerRefused as error:
            raise CommandFailed(f"{self.base} cannot be read: {error}") from None
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:  # a host name can be a ValueError
            if (why := tls_reason(error)) is not None:
                raise ConnectionFailed(f"{self.base} cannot be reached over https: {why}") from None
            reason = (str(error) or type(error).__name__)[:_MAX_REASON]
            was_sent = isinstance(error, httpx.TransportError) and not isinstance(error, httpx.ConnectError)
            kind = AnswerLost if was_sent else ConnectionFailed
            raise kind(f"{self.base} does not answer ({reason}): is it running?") from None
        if response.is_success:
            return response.content
        is_unauthorized = response.status_code == HTTPStatus.UNAUTHORIZED
        if relays and not is_unauthorized and _is_message(response):
            return response.content
        needs_login = is_unauthorized and (relays or path.startswith(API))
        failure = _failure(response)
        if failure.code == "NOT_FOUND" and (service := service_of(self.base)) != self.base:
            raise CommandFailed(
                f"{self.base} is a mirror, from which skills are installed; this command is for its service: "
                f"--server {service}"
            )
        if str(failure) == _NO_ROUTE and SCOPES_PATH in self.base:
            raise CommandFailed(f"{self.base}: there is no such private scope, or you are no member of it")
        raise CommandFailed(f"{failure}{login_hint(self.base)}", failure.code) if needs_login else failure

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


def connect(settings: Settings, url: str, *, is_own: bool = False, seconds: float | None = None) -> RegistryClient:
    """Return a client with the user's credential for a server. Raises CommandFailed.

    `is_own` says that the server runs on the user's data directory; `seconds` is a shorter time for an answer.
    """
    check_url(url)
    limits = Limits.of(settings)
    if seconds is not None:
        limits = limits._replace(seconds=min(seconds, limits.seconds))
    return RegistryClient(url, find_credential(settings, url, is_own=is_own), limits)


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
    if bare := _without_api_path(parsed):
        raise CommandFailed(f"{option} {redact_text(url)}: leave out the path of the API: {redact_text(bare)}")
    if parsed.userinfo:
        raise CommandFailed(f"{option}: the URL must not hold a user name or password; use 'skill-registry login'")
    return parsed


def _without_api_path(url: httpx.URL) -> str | None:
    """Return a URL without the path of the API at its end; None if there is none."""
    path = url.path.rstrip("/")
    return str(url.copy_with(path=path.removesuffix(API) or "/")).rstrip("/") if path.endswith(API) else None


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port  # httpx drops the default port


def open_http(url: str, headers: Mapping[str, str], limits: Limits, **options: Any) -> httpx.Client:
    """Return an HTTP client for one origin, with its limits, the authorities and the proxy of the system.

    Raises CommandFailed.
    """
    sent = {"User-Agent": f"skill-registry/{__version__}", "Accept-Encoding": "identity", **headers}
    target = check_url(url)
    try:
        transport = LimitedTransport(target, _tls_context(target.scheme, limits), limits.bytes, limits.proxies)
    except OutboundError as error:
        raise CommandFailed(str(error)) from None
    except (ImportError, RuntimeError, ValueError, httpx.InvalidURL) as error:  # SOCKS needs a package that is missing
        raise CommandFailed(f"the proxy in the environment cannot be used: {error}") from None
    return httpx.Client(headers=sent, transport=transport, timeout=limits.seconds, **options)


def _tls_context(scheme: str, limits: Limits) -> ssl.SSLContext:
    """Return the trust settings for TLS: the authorities of the system, of httpx and of the settings.

    Raises CommandFailed.
    """
    if scheme == "http" and not any(proxy.startswith("https:") for proxy in getproxies().values()):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # without TLS, loading authorities only takes time
    try:
        context = httpx.create_ssl_context()  # it reads SSL_CERT_FILE and SSL_CERT_DIR too
        context.load_default_certs()
        if any(limits.authorities):
            context.load_verify_locations(*limits.authorities)
    except (OSError, ssl.SSLError):
        place = f"outbound.ca_file {limits.authorities.file}" if limits.authorities.file else "SSL_CERT_FILE"
        raise CommandFailed(f"{place} has no certificates in PEM") from None
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
        answer = read_answer(response.content)
        error = answer["error"]
        if "jsonrpc" in answer:  # MCP has the code of the API beside its own
            error = {**error, "code": error["data"]["code"]}
        failure = failure_of(error, response.headers.get("Location"))
    except (WrongShape, KeyError, TypeError):
        if response.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            return CommandFailed(_too_large(response.request))
        kind = AnswerLost if response.status_code in _OF_PROXIES else CommandFailed
        return kind(f"the server answered {response.status_code} {response.reason_phrase[:_MAX_REASON]}")
    after = response.headers.get("Retry-After", "")
    failure.retry_after = float(after) if _SECONDS.fullmatch(after) else None
    failure.etag = response.headers.get("ETag")
    return failure


def _is_message(response: httpx.Response) -> bool:
    """Return whether the body of a response is a message of JSON-RPC."""
    try:
        answer = read_answer(response.content)
    except WrongShape:
        return False
    return isinstance(answer, dict) and "jsonrpc" in answer


def _too_large(request: httpx.Request) -> str:
    """Return what to say of a request that is too large. A registry names its limit, a proxy before it does not."""
    what = "package" if request.headers.get("Content-Type", "").startswith("multipart/") else "request"
    size = int(request.headers.get("Content-Length", 0))
    return (
        f"the server, or a proxy before it, accepts no {what} of this size (413): as it is sent, it has {size:,} "
        "bytes. Send less, or have the limit raised there"
    )


def failure_of(error: object, location: str | None = None) -> CommandFailed:
    """Return an error of the API as that of a command. Raises WrongShape."""
    fields: Data = checked(error, Error)
    details = [FieldError(detail["field"], detail["message"]).line for detail in fields.get("details") or []]
    message = "; ".join(details) or fields["message"]
    return CommandFailed(message[:_MAX_MESSAGE], fields.get("code"), location)
