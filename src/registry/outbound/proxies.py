"""Which proxy a request goes through, as HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY say in most programs.

Behind a proxy, names are resolved there, so it decides which addresses may be reached. Hosts of this machine are never
reached through one.
"""

import ipaddress
from collections.abc import Sequence

from registry.config.groups import OutboundSettings
from registry.domain.addresses import Endpoint, OutboundError, parse_url, redact_url

_LOCAL_NAMES = ("localhost", ".localhost")


class Proxies:
    """The proxies of outgoing requests.

    Args:
        http: The URL of the proxy for http, perhaps with user and password. Without a scheme, it is an http URL.
        https: The URL of the proxy for https.
        direct: Hosts that are reached directly, with those below them: `example.org`, `.example.org`, `host:port`,
            an address, a network, or `*` for all.
    """

    def __init__(self, http: str | None = None, https: str | None = None, direct: Sequence[str] = ()) -> None:
        self._urls = {"http": http, "https": https}
        self._direct = tuple(entry.strip().lower() for entry in direct if entry.strip())

    def of(self, target: Endpoint) -> Endpoint | None:
        """Return the proxy for a request; None for a direct one.

        Raises OutboundError for a proxy that is neither an http nor an https URL.
        """
        url = self._urls[target.url.scheme]
        if url is None or self._is_direct(target.host, target.port):
            return None
        text = url if "://" in url else f"http://{url}"
        try:
            return parse_url(text)
        except OutboundError:
            raise OutboundError(
                f"the proxy {redact_url(text)[:200]} cannot be used: only http:// and https:// proxies can"
            ) from None

    def names(self) -> list[str]:
        """Return the proxies without user and password, for logs."""
        return sorted({redact_url(url if "://" in url else f"http://{url}") for url in self._urls.values() if url})

    def _is_direct(self, host: str, port: int) -> bool:
        if host == _LOCAL_NAMES[0] or host.endswith(_LOCAL_NAMES[1]):
            return True
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            return any(_covers_name(entry, host, port) for entry in self._direct)
        return address.is_loopback or any(_covers_address(entry, address, port) for entry in self._direct)


def proxies_of(settings: OutboundSettings) -> Proxies:
    """Return the proxies: `outbound.proxy` for both schemes, else one for each."""
    http, https = settings.proxy or settings.http_proxy, settings.proxy or settings.https_proxy
    return Proxies(http.reveal() if http else None, https.reveal() if https else None, settings.no_proxy)


def _covers_name(entry: str, host: str, port: int) -> bool:
    name, _, entry_port = entry.partition(":")
    name = name.removeprefix("*").removeprefix(".")
    if entry_port and entry_port != str(port):
        return False
    return entry == "*" or bool(name and (host == name or host.endswith(f".{name}")))


def _covers_address(entry: str, address: ipaddress.IPv4Address | ipaddress.IPv6Address, port: int) -> bool:
    literal = entry
    if entry.startswith("[") or entry.count(":") == 1:  # [2001:db8::1]:443, 10.0.0.1:443
        literal, _, entry_port = entry.rpartition(":") if not entry.endswith("]") else (entry, "", "")
        if entry_port and entry_port != str(port):
            return False
    try:
        network = ipaddress.ip_network(literal.strip("[]"), strict=False)
    except ValueError:
        return entry == "*"
    return address.version == network.version and address in network
