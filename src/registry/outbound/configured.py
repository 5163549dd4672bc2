"""Makes what sends requests from the settings, so that all of it uses the same proxies, authorities and credentials."""

from collections.abc import Sequence

from registry.config.groups import LimitsSettings, OutboundSettings
from registry.domain.addresses import AddressPolicy
from registry.outbound.client import Authorities, OutboundClient
from registry.outbound.git import Git
from registry.outbound.git_access import GitAccess, GitCredential
from registry.outbound.git_run import GitLimits
from registry.outbound.proxies import proxies_of


def outbound_client(settings: OutboundSettings, hosts: Sequence[str] = ()) -> OutboundClient:
    """Return the HTTP client. `hosts` may be reached too, although they are not public."""
    policy = AddressPolicy((*settings.allowed_hosts, *hosts))
    return OutboundClient(policy, Authorities(settings.ca_file, settings.ca_dir), proxies_of(settings))


def git_access(settings: OutboundSettings) -> GitAccess:
    """Return the access of git to hosts."""
    credentials = [
        GitCredential(entry.origin, entry.user, entry.password.reveal() if entry.password else None, entry.askpass)
        for entry in settings.git_credentials
    ]
    authorities = Authorities(settings.ca_file, settings.ca_dir)
    return GitAccess(proxies_of(settings), authorities, credentials, settings.netrc_file)


def git_client(settings: OutboundSettings, limits: LimitsSettings, outbound: OutboundClient) -> Git:
    """Return the reader of repositories, which looks for the new address of one with `outbound`."""
    of_git = GitLimits(limits.git_seconds, limits.git_bytes, limits.git_memory_bytes)
    return Git(outbound.policy, of_git, git_access(settings), outbound)
