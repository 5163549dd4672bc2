"""Rescans in the background what an older version of the content rules has scanned.

Folders are not affected: the version of the rules is part of their fingerprint, so the next scan reads them again.
"""

import logging
from collections.abc import Callable

from registry.catalog.record_skills import RecordSkills
from registry.db import CommitHooks
from registry.errors import RegistryError
from registry.inspection.inspector import InspectionStopped, Inspector
from registry.packages.refusal import PackageRefused
from registry.publish.published import PublishedVersions
from registry.publish.service import Publishing
from registry.runtime.periodic_worker import PeriodicWorker

_log = logging.getLogger("registry.services")

_BATCH = 50
_PAUSE_SECONDS = 0.2
"""The pause between two batches, so that writes get their turn."""
_DONE_SECONDS = 24 * 3600.0


class Rescan:
    """Renews the findings of records and published versions, batch by batch.

    Args:
        records: The skills that are records.
        published: All published versions.
        publishing: Rescans published versions, where this service publishes.
        inspector: Scans the texts of records.
        hooks: The commit hooks of the catalog's database.
        yield_to_foreground: Called before each skill; waits for foreground requests.
    """

    def __init__(
        self,
        records: RecordSkills,
        published: PublishedVersions,
        publishing: Publishing | None,
        inspector: Inspector,
        hooks: CommitHooks,
        yield_to_foreground: Callable[[], None],
    ) -> None:
        self._records = records
        self._published = published
        self._publishing = publishing
        self._inspector = inspector
        self._hooks = hooks
        self._yield_to_foreground = yield_to_foreground
        self._last_record = ""
        self._last_version = ("", "")
        self._thread = PeriodicWorker("findings", self._round, _log)

    def start(self) -> None:
        """Start, first with what a stop has left."""
        self._thread.start()

    def stop(self) -> None:
        """Stop after the current skill."""
        self._thread.stop()

    def _round(self) -> float:
        try:
            with self._hooks.batch():
                renewed = self._renew_records() + self._renew_versions()
            if renewed:
                return _PAUSE_SECONDS
        except InspectionStopped:
            pass
        except Exception:
            self._begin_again()
            raise
        self._begin_again()
        return _DONE_SECONDS

    def _begin_again(self) -> None:
        self._last_record, self._last_version = "", ("", "")

    def _renew_records(self) -> int:
        """Renew a batch of records. Return the number of stale skills, including the published ones, which it skips."""
        stale = self._records.stale_ids(self._last_record, _BATCH)
        for skill_id in stale:
            if self._thread.is_stopped:
                break
            if not self._published.is_published(skill_id):
                self._yield_to_foreground()
                self._records.rescan(skill_id, self._inspector)
            self._last_record = skill_id
        return len(stale)

    def _renew_versions(self) -> int:
        """Renew a batch of published versions and return their number, including those that failed."""
        if self._publishing is None:
            return 0
        stale = self._published.outdated_findings(self._last_version, _BATCH)
        for skill_id, version in stale:
            if self._thread.is_stopped:
                break
            self._yield_to_foreground()
            try:
                self._publishing.rescan(skill_id, version)
            except (RegistryError, PackageRefused, OSError) as error:
                _log.warning("the findings of %s %s stay as they are: %s", skill_id, version, error)
            self._last_version = (skill_id, version)
        return len(stale)
