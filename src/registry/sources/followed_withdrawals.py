"""Takes over what a followed registry has withdrawn of the installed skills, from its signed log."""

from collections.abc import Iterator

import msgspec

from registry.catalog.installed_withdrawals import InstalledFolder, installed_releases, set_withdrawn
from registry.catalog.store import Catalog
from registry.db import Database
from registry.domain.origins import RegistryOrigin
from registry.sources.log_monitor import LogMonitor
from registry.sources.log_states import LogStates
from registry.sources.remote_registry import ReadableRegistry
from registry.transparency.log import LogEntry


class FollowedWithdrawals:
    """Notes on installed skills what the logs of their registries say of them."""

    def __init__(self, database: Database, catalog: Catalog, monitor: LogMonitor, states: LogStates) -> None:
        self._database = database
        self._catalog = catalog
        self._monitor = monitor
        self._states = states

    def update(self, registry: ReadableRegistry) -> None:
        """Read what is new in the log of a registry, if any of its releases is installed.

        Raises LogRefused if the log was rolled back or forked, or hides an entry; OutboundError.
        """
        installed = list(self._from(registry.url))
        if not installed:
            return
        self._states.follow(registry, *self._monitor.check(registry))
        now = self._states.withdrawals(registry.url, [release for _, release in installed])
        changed = [
            (folder, withdrawn)
            for (folder, _), withdrawn in zip(installed, now, strict=True)
            if folder.record.withdrawn != withdrawn
        ]
        if changed:
            with self._database.write() as transaction:
                for folder, withdrawn in changed:
                    set_withdrawn(transaction, self._catalog, folder, withdrawn)

    def _from(self, url: str) -> Iterator[tuple[InstalledFolder, tuple[str, str]]]:
        """Yield the folders that were installed from a registry, each with its release: the skill and the version."""
        for installed in installed_releases(self._database):
            origin, release = installed.record.origin, installed.record.release
            if release is None or release.proof is None or not isinstance(origin, RegistryOrigin) or origin.url != url:
                continue
            entry = msgspec.json.decode(release.proof.entry, type=LogEntry)
            yield installed, (release.skill_id, str(entry.version))
