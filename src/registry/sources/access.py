"""What the person who runs a command adds to the settings: registries they have named, and their credentials."""

from collections.abc import Callable, Collection
from typing import NamedTuple

from registry.domain.addresses import origin_host, parse_url


class RegistryAccess(NamedTuple):
    """The access of a person to registries.

    Args:
        named: The URLs of registries that the person has named, or has logged in to. They may have private addresses.
        credential: Returns the API key or token for the registry at a URL, None if there is none.
    """

    named: Collection[str]
    credential: Callable[[str], str | None]

    def hosts(self) -> list[str]:
        """Return the hosts of the named registries as `host:port`, `[address]:port` for IPv6."""
        return [origin_host(parse_url(url)) for url in self.named]


NO_ACCESS = RegistryAccess((), lambda url: None)
"""A service has the credentials of its sources only."""
