"""The addresses that the service may connect to: public ones, and those that the operator allows.

An untrusted URL must not make the service connect to its own machine or network. Python's `is_global` is not enough:
it treats the NAT64 and 6to4 forms of 127.0.0.1 as global. So this module lists the networks of the IANA special-purpose
registries.
"""

import ipaddress
import re
import socket
from collections.abc import Callable, Sequence
from typing import NamedTuple

import httpx

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

Resolver = Callable[[str, int], Sequence[str]]
"""Returns the numeric addresses of a host name, for a port. Raises OSError."""

_PORTS = {"http": 80, "https": 443}
_NUMERIC_LABEL = re.compile(r"[0-9]+|0x[0-9a-f]*")
_HOST = re.compile(r"[a-z0-9._-]+|[0-9a-f:.]+")
_USER_INFO = re.compile(  # lengths are bounded, so the time is linear
    r"//[^/?#\s]{0,2048}@"
    # Not a host and port, so it may be a password with a slash: up to the last @.
    r"|//(?!(?:\[[0-9A-Fa-f:.]*\]|[^/?#\s:@\[\]]*)(?::[0-9]*)?(?:[/?#\s'\")]|$))\S{0,2048}@"
    r"|(?<![^\s'\"(,=])[^\s/:@'\"(,=]{1,200}:[^\s/@]{1,2048}@"  # user:password@host, as scp and some git URLs have it
)
_INVALID = re.compile(r"[^\x21-\x7e]|[\\\"<>^`{|}]")

_REFUSED_V4 = tuple(
    ipaddress.IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # carrier-grade NAT
        "127.0.0.0/8",  # loopback
        "169.254.0.0/16",  # link-local, and the metadata services of clouds
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)
_GLOBAL_V6 = ipaddress.IPv6Network("2000::/3")
"""All global unicast. Loopback, mapped IPv4, NAT64, unique local, link-local and multicast addresses are outside."""

_REFUSED_V6 = tuple(
    ipaddress.IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments, Teredo among them
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: contains an IPv4 address
        "3fff::/20",  # documentation
    )
)


class OutboundError(Exception):
    """A fetch failed. The message says what failed and why, without credentials."""


class StatusError(OutboundError):
    """A server answered with another status than 200. `body` is that of a short JSON answer, else empty."""

    def __init__(self, message: str, status: int, body: bytes = b"") -> None:
        super().__init__(message)
        self.status = status
        self.body = body


class Endpoint(NamedTuple):
    """A parsed URL without its credentials, and the credentials. The host is in lower case and in ASCII."""

    url: httpx.URL
    host: str
    port: int
    credentials: tuple[str, str] | None

    @property
    def origin(self) -> tuple[str, str, int]:
        """The scheme, host and port, as in RFC 6454."""
        return self.url.scheme, self.host, self.port

    @property
    def full_url(self) -> str:
        """The URL with its credentials, for a program that needs them there; no text may show it."""
        if self.credentials is None:
            return str(self.url)
        return str(self.url.copy_with(username=self.credentials[0], password=self.credentials[1]))


def redact_text(text: str) -> str:
    """Return a text without the user and password of any URL in it, also of one that cannot be parsed."""
    return _USER_INFO.sub(lambda match: "//***@" if match[0].startswith("//") else "***@", text)


def redact_url(url: str) -> str:
    """Return a URL without user, password, query and fragment, for logs and responses."""
    return re.sub(r"//[^/]*@", "//***@", re.split(r"[?#]", url, maxsplit=1)[0])


def parse_url(text: str) -> Endpoint:
    """Parse an http or https URL. Raises OutboundError for a URL that two parsers could interpret differently."""
    if _INVALID.search(text) or len(text) > 2048:
        raise OutboundError("the URL must have at most 2,048 ASCII characters; percent-encode all others")
    try:
        url = httpx.URL(text)
        host = url.raw_host.decode("ascii").lower()
        port = url.port or _PORTS.get(url.scheme, 0)
    except (httpx.InvalidURL, ValueError):
        raise OutboundError("the URL is invalid") from None
    if not 0 < port < 65_536 or not host or text.partition("://")[0].lower() not in _PORTS:
        raise OutboundError("the URL must begin with http:// or https:// and name a host")
    _check_spelling(host)
    credentials = (url.username, url.password) if url.userinfo else None
    return Endpoint(url.copy_with(username=None, password=None, fragment=None), host, port, credentials)


def origin_host(endpoint: Endpoint) -> str:
    """Return `host:port`, `[address]:port` for IPv6."""
    name = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
    return f"{name}:{endpoint.port}"


def _check_spelling(host: str) -> None:
    """Accept IPv4 addresses only as four decimal numbers, because libraries differ in how they parse other forms."""
    last = host.rstrip(".").rpartition(".")[2]
    looks_numeric = _NUMERIC_LABEL.fullmatch(last) or ":" in host
    if not _HOST.fullmatch(host) or (looks_numeric and _literal(host) is None):
        raise OutboundError(f"{host[:100]} is not a valid host name or IP address")


def _literal(host: str) -> IPAddress | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


class AddressPolicy:
    """Decides which addresses of a host the service may connect to.

    Args:
        allowed: Hosts, `host:port` (`[address]:port` for IPv6) and networks that are allowed although they are not
            public.
        resolve: Resolves host names to addresses.
    """

    def __init__(self, allowed: Sequence[str] = (), resolve: Resolver | None = None) -> None:
        self._names = frozenset(entry.lower() for entry in allowed)
        self._networks = tuple(network for entry in allowed if (network := _network(entry)))
        self._resolve = resolve or _system_resolver

    def addresses(self, host: str, port: int) -> Sequence[str]:
        """Return the numeric addresses to connect to. Raises OutboundError if one of them is not allowed."""
        literal = _literal(host)
        try:
            addresses = [str(literal)] if literal else list(dict.fromkeys(self._resolve(host, port)))
        except (OSError, UnicodeError):
            addresses = []
        if not addresses:
            raise OutboundError(f"the host name {host} cannot be resolved")
        if not self._is_named(host, port) and not all(self._is_allowed(address) for address in addresses):
            raise OutboundError(f"{host} is not on the public network; the setting outbound.allowed_hosts can allow it")
        return addresses

    def check_literal(self, host: str, port: int) -> None:
        """Raise OutboundError for an address that is not allowed. A name is not resolved, and never refused."""
        if _literal(host) is not None:
            self.addresses(host, port)

    def _is_named(self, host: str, port: int) -> bool:
        bare = f"[{host}]" if ":" in host else host
        return not self._names.isdisjoint({host, bare, f"{bare}:{port}"})

    def _is_allowed(self, text: str) -> bool:
        address = ipaddress.ip_address(text.partition("%")[0])  # a link-local address has its interface as a suffix
        if any(address in network for network in self._networks if network.version == address.version):
            return True
        if isinstance(address, ipaddress.IPv4Address):
            return not any(address in network for network in _REFUSED_V4)
        return address in _GLOBAL_V6 and not any(address in network for network in _REFUSED_V6)


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    if "/" not in text:
        return None
    return ipaddress.ip_network(text, strict=False)


def _system_resolver(host: str, port: int) -> Sequence[str]:
    return [str(info[4][0]) for info in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
