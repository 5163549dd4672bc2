"""How git reaches a host: through which proxy, with which certificates and with whose credential.

A credential goes to the origin (scheme, host and port) that it is for, and nowhere else. It is in the environment of
git, which other users cannot read, never in a command line.
"""

import netrc
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from registry.domain.addresses import Endpoint, OutboundError, origin_host, parse_url
from registry.outbound.client import Authorities, basic_authorization
from registry.outbound.proxies import Proxies


class GitCredential(NamedTuple):
    """The user and password, or token, for the repositories at one origin, such as `https://git.example.org`.

    Instead of a password there may be the path of a program that prints it, as GIT_ASKPASS names one.
    """

    origin: str
    user: str
    password: str | None
    askpass: str | None = None


class GitAccess:
    """The access of git to hosts.

    Args:
        proxies: The proxies.
        authorities: The authorities that https trusts; by default those of the system.
        credentials: Credentials for private repositories.
        netrc_file: A file with more of them, one for each host. They are used for https on the default port.
    """

    def __init__(
        self,
        proxies: Proxies | None = None,
        authorities: Authorities | None = None,
        credentials: Sequence[GitCredential] = (),
        netrc_file: Path | None = None,
    ) -> None:
        self.proxies = proxies or Proxies()
        self._authorities = authorities or Authorities()
        self._credentials = {parse_url(entry.origin).origin: entry for entry in credentials}
        self._netrc_file = netrc_file

    def credentials_for(self, target: Endpoint) -> tuple[str, str] | None:
        """Return the user and password for a URL: its own, else those of its origin. Raises OutboundError."""
        if target.credentials is not None:
            return target.credentials
        if (entry := self._credentials.get(target.origin)) is not None:
            return (entry.user, entry.password) if entry.password is not None else None
        return self._from_netrc(target)

    def _from_netrc(self, target: Endpoint) -> tuple[str, str] | None:
        if self._netrc_file is None or target.origin != ("https", target.host, 443):
            return None
        try:
            login = netrc.netrc(self._netrc_file).hosts.get(target.host)
        except (OSError, netrc.NetrcParseError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "its syntax is wrong"
            raise OutboundError(f"outbound.netrc_file cannot be read: {reason}") from None
        return (login[0], login[2]) if login and login[2] else None

    def configuration(self, target: Endpoint) -> Mapping[str, str]:
        """Return the configuration of git for requests to a URL. Raises OutboundError."""
        places = {"http.sslCAInfo": self._authorities.file, "http.sslCAPath": self._authorities.folder}
        settings = {key: str(path) for key, path in places.items() if path is not None}
        if (proxy := self.proxies.of(target)) is not None:
            settings["http.proxy"] = proxy.full_url
        if (credentials := self.credentials_for(target)) is not None:
            header = f"Authorization: {basic_authorization(credentials)}"
            settings[f"http.{target.url.scheme}://{origin_host(target)}/.extraHeader"] = header
        elif (entry := self._credentials.get(target.origin)) is not None and entry.askpass is not None:
            settings |= {"core.askPass": entry.askpass, "credential.username": entry.user}
        return settings
