"""Keeps the catalog equal to the skills directory: reconciled at start, watched while the service runs."""

import logging
import threading
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import msgspec
import watchfiles

from registry.catalog.local_skills import SKILL_FILE, Inspected, LocalSkills, seen_now
from registry.catalog.store import Catalog
from registry.domain.findings import SkillFindings
from registry.inspection import InspectionStopped, Inspector
from registry.skill_folder import UnreadableSkill, find_skill_folders

_log = logging.getLogger("registry.catalog")

_FOLDERS_A_TRANSACTION = 100
_DEBOUNCE_MILLISECONDS = 300
_IDLE_MILLISECONDS = 500


class ScanReport(msgspec.Struct, kw_only=True):
    """What one scan of the skills directory found. `skipped` says why a folder could not be read."""

    folders: int = 0
    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    seconds: float = 0.0
    skipped: dict[str, str] = msgspec.field(default_factory=dict)

    def summary(self) -> str:
        """Return the figures as a line for the log."""
        return (
            f"{self.folders} folders ({self.added} added, {self.changed} changed, {self.removed} removed,"
            f" {len(self.skipped)} skipped) in {self.seconds:.2f} s"
        )


class Scanner:
    """Compares the skills directory with the catalog and takes over what differs."""

    def __init__(
        self, local: LocalSkills, catalog: Catalog, inspector: Inspector, on_change: Callable[[], None]
    ) -> None:
        self._local = local
        self._catalog = catalog
        self._inspector = inspector
        self._on_change = on_change
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def reconcile(self) -> ScanReport:
        """Make the catalog what the directory is. What the scan finds is searchable when it returns.

        Raises InspectionStopped if the service stops meanwhile.
        """
        started = time.monotonic()
        report = ScanReport()
        known = self._catalog.places()
        found = self._fingerprints(report)
        differing = [place for place, seen in found.items() if known.get(place) != seen]
        scans = zip(
            self._inspector.scan_folders([self._local.root / place for place in differing]), differing, strict=True
        )
        while batch := list(islice(scans, _FOLDERS_A_TRANSACTION)):
            self._take({place: (found[place], findings) for findings, place in batch}, known, report)
        self._remove([place for place in known if place not in found or place in report.skipped], report)
        self._keep_problems(report)
        report.folders, report.unchanged = len(found), len(found) - len(differing)
        report.seconds = round(time.monotonic() - started, 3)
        self._on_change()
        return report

    def _fingerprints(self, report: ScanReport) -> dict[str, str]:
        found = {}
        for folder in sorted(find_skill_folders(self._local.root)):
            place = folder.relative_to(self._local.root).as_posix()
            try:
                found[place] = seen_now(folder)
            except UnreadableSkill as problem:
                report.skipped[place] = problem.reason
            except OSError as problem:
                report.skipped[place] = problem.strerror or "it cannot be read"
        return found

    def _take(
        self, inspected: dict[str, tuple[str, SkillFindings | OSError]], known: dict[str, str], report: ScanReport
    ) -> None:
        with self._catalog.database.write() as transaction:
            for place, (seen, findings) in inspected.items():
                try:
                    if isinstance(findings, OSError):
                        raise findings
                    self._local.take(transaction, self._local.root / place, Inspected(seen, findings))
                except UnreadableSkill as problem:
                    report.skipped[place] = problem.reason
                except FileNotFoundError:
                    continue  # gone since it was listed: the next scan removes it
                except OSError as problem:
                    report.skipped[place] = problem.strerror or "it cannot be read"
                else:
                    report.changed += place in known
                    report.added += place not in known

    def _remove(self, places: list[str], report: ScanReport) -> None:
        if not places:
            return
        with self._catalog.database.write() as transaction:
            for place in places:
                stored = self._catalog.find_at(transaction, place)
                back = place not in report.skipped and (self._local.root / place / SKILL_FILE).is_file()
                if stored is not None and not back:
                    self._catalog.delete(transaction, stored.key)
                    report.removed += 1

    def _keep_problems(self, report: ScanReport) -> None:
        before = self._catalog.problems()
        if before == report.skipped:
            return
        with self._catalog.database.write() as transaction:
            self._catalog.set_problems(transaction, report.skipped)
        for place, reason in report.skipped.items():
            if before.get(place) != reason:
                _log.warning("skipped %s: %s", place, reason)

    def start(self) -> None:
        """Watch the directory from now on, until stopped."""
        self._stopped.clear()
        self._thread = threading.Thread(target=self._watch, name="watcher", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop watching and wait for a scan under way."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self) -> None:
        while not self._stopped.is_set():
            try:
                self._watch_until_stopped(self._local.root)
            except (OSError, RuntimeError) as error:
                _log.warning("the skills directory cannot be watched (%s); it is looked at every 5 seconds", error)
                self._stopped.wait(5)
                self._reconcile_quietly()

    def _watch_until_stopped(self, root: Path) -> None:
        watch = watchfiles.watch(
            root,
            stop_event=self._stopped,
            debounce=_DEBOUNCE_MILLISECONDS,
            rust_timeout=_IDLE_MILLISECONDS,
            yield_on_timeout=True,
            ignore_permission_denied=True,
        )
        for turn, changes in enumerate(watch):
            # The first turn comes when the watch stands, whatever has happened: what changed before it did is found.
            if changes or turn == 0:
                self._reconcile_quietly()

    def _reconcile_quietly(self) -> None:
        try:
            report = self.reconcile()
        except InspectionStopped:
            return
        except Exception:
            _log.exception("the scan failed; it is tried again at the next change")
            return
        if report.added or report.changed or report.removed:
            _log.info(
                "skills directory: %d added, %d changed, %d removed", report.added, report.changed, report.removed
            )
