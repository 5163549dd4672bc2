"""Makes the clients of other registries, with the right credential."""

from registry.config.settings import Settings
from registry.outbound import Interruption, OutboundClient
from registry.sources.access import RegistryAccess
from registry.sources.remote_registry import RemoteRegistry


class RegistryClients:
    """Makes clients of registries.

    Args:
        settings: The limits.
        access: The registries and credentials of the person whose command uses them.
        outbound: The HTTP client.
    """

    def __init__(self, settings: Settings, access: RegistryAccess, outbound: OutboundClient) -> None:
        self._access = access
        self._limits = settings.limits
        self._outbound = outbound

    def open(self, url: str, api_key: str | None = None, interruption: Interruption | None = None) -> RemoteRegistry:
        """Return a client of the registry at a URL, with the key, else with the person's credential.

        Raises OutboundError for an invalid URL or an expired login.
        """
        return RemoteRegistry(
            self._outbound,
            url,
            api_key or self._access.credential(url),
            download_bytes=self._limits.download_bytes,
            seconds=self._limits.download_seconds,
            interruption=interruption,
        )
