"""Keeps the catalog equal to the skills directory: reconciled at start, watched while the service runs."""

import logging
import os
import threading
import time
from collections.abc import Collection, Mapping
from functools import partial
from itertools import islice
from pathlib import Path

import msgspec
import watchfiles

from registry.catalog.local_skills import SKILL_FILE, LocalSkills, ScannedFolder, scan_fingerprint
from registry.catalog.store import Catalog
from registry.db import DatabaseError
from registry.domain.file_names import is_text, printable_name
from registry.domain.findings import SkillFindings
from registry.inspection import InspectionStopped, Inspector
from registry.runtime.backoff import Backoff
from registry.skill_folder import UnreadableSkill, find_skill_folders

_log = logging.getLogger("registry.catalog")

_FOLDERS_A_TRANSACTION = 100
_DEBOUNCE_MILLISECONDS = 300
_IDLE_MILLISECONDS = 500
_LOOK_EVERY_SECONDS = 5.0
_LOOKS_WITHOUT_WATCHING = 12
"""How often the directory is looked at before it is tried again to watch it."""

_NOT_TEXT = "its path is not UTF-8 text: rename it"
_UNEXPECTED = "an unexpected fault; see the server's log"


_Scans = Mapping[str, tuple[str, SkillFindings | OSError]]
"""The fingerprint and the scan result of folders, by their place."""


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

    def __init__(self, local: LocalSkills, catalog: Catalog, inspector: Inspector) -> None:
        self._local = local
        self._catalog = catalog
        self._inspector = inspector
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._again = Backoff()
        self._is_watching = True

    @property
    def problem(self) -> str | None:
        """Why the last scan failed as a whole, None where it did not."""
        return self._again.problem

    def reconcile(self) -> ScanReport:
        """Make the catalog what the directory is. What the scan finds is searchable when it returns.

        Raises InspectionStopped if the service stops meanwhile.
        """
        started = time.monotonic()
        with self._catalog.database.hooks.batch():
            report = self._reconcile()
        report.seconds = round(time.monotonic() - started, 3)
        return report

    def _reconcile(self) -> ScanReport:
        report = ScanReport()
        known, before = self._catalog.folder_fingerprints(), self._catalog.problems()
        found = self._fingerprints(report)
        differing = [place for place, seen in found.items() if known.get(place) != seen]
        failed: set[str] = set()
        scans = self._inspector.scan_folders([self._local.root / place for place in differing])
        pairs = zip(scans, differing, strict=True)
        while batch := list(islice(pairs, _FOLDERS_A_TRANSACTION)):
            failed |= self._take({place: (found[place], result) for result, place in batch}, known, before, report)
        self._remove([place for place in known if place not in found], failed, report)
        self._keep_problems(before, report)
        report.folders, report.unchanged = len(found), len(found) - len(differing)
        return report

    def _fingerprints(self, report: ScanReport) -> dict[str, str]:
        found = {}
        for folder in sorted(find_skill_folders(self._local.root, partial(self._skip, report))):
            place = self._place(folder)
            if not is_text(place):
                report.skipped[printable_name(place)] = _NOT_TEXT
                continue
            try:
                found[place] = scan_fingerprint(folder)
            except (FileNotFoundError, NotADirectoryError):
                continue  # gone since it was listed
            except OSError as problem:
                self._skip(report, folder, problem)
        return found

    def _place(self, folder: Path) -> str:
        return folder.relative_to(self._local.root).as_posix()

    def _skip(self, report: ScanReport, folder: Path, problem: OSError) -> None:
        report.skipped[printable_name(self._place(folder))] = _reason(problem)

    def _take(self, scans: _Scans, known: Collection[str], before: Collection[str], report: ScanReport) -> set[str]:
        """Record folders in one transaction, and return those that cannot be read.

        After an unexpected fault each folder is recorded by itself, so that only the faulty one is missing.
        """
        try:
            taken, failed = self._recorded(scans)
        except (DatabaseError, InspectionStopped):
            raise
        except Exception:
            if len(scans) > 1:
                return set().union(*(self._take({place: scans[place]}, known, before, report) for place in scans))
            (place,) = scans
            if place not in before:
                _log.exception("the folder %s cannot be recorded", place)
            taken, failed = [], {place: _UNEXPECTED}
        report.changed += sum(place in known for place in taken)
        report.added += sum(place not in known for place in taken)
        report.skipped |= failed
        return set(failed)

    def _recorded(self, scans: _Scans) -> tuple[list[str], dict[str, str]]:
        taken: list[str] = []
        failed: dict[str, str] = {}
        with self._catalog.database.write() as transaction:
            for place, (seen, findings) in scans.items():
                try:
                    if isinstance(findings, OSError):
                        raise findings
                    self._local.record_folder(transaction, self._local.root / place, ScannedFolder(seen, findings))
                except UnreadableSkill as problem:
                    failed[place] = problem.reason
                except (FileNotFoundError, NotADirectoryError):
                    continue  # gone since it was listed: the next scan removes it
                except OSError as problem:
                    failed[place] = _reason(problem)
                else:
                    taken.append(place)
        return taken, failed

    def _remove(self, gone: list[str], failed: set[str], report: ScanReport) -> None:
        if not gone and not failed:
            return
        with self._catalog.database.write() as transaction:
            for place in (*gone, *failed):
                stored = self._catalog.find_at(transaction, place)
                back = place not in failed and self._is_there(place)
                if stored is not None and not back:
                    self._catalog.delete(transaction, stored.key)
                    report.removed += 1

    def _is_there(self, place: str) -> bool:
        # Unlike Path.is_file it does not raise where the folder may not be looked into.
        return os.path.isfile(self._local.root / place / SKILL_FILE)  # noqa: PTH113

    def _keep_problems(self, before: dict[str, str], report: ScanReport) -> None:
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
            except (OSError, RuntimeError) as error:  # also where a name in it is not UTF-8
                if self._is_watching:
                    every = _LOOK_EVERY_SECONDS
                    _log.warning(
                        "the skills directory cannot be watched (%s); it is looked at every %g s", error, every
                    )
                self._is_watching = False
                self._look_now_and_then()

    def _look_now_and_then(self) -> None:
        for _ in range(_LOOKS_WITHOUT_WATCHING):
            self._look()
            if self._stopped.wait(_LOOK_EVERY_SECONDS):
                return

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
            if changes or turn == 0 or (self._again.problem and self._again.is_due()):
                self._look()
            self._is_watching = self._is_watching or turn > 0

    def reconcile_quietly(self) -> ScanReport | None:
        """Scan as `reconcile` does; one that fails is logged and tried again, with a back-off, while it watches."""
        try:
            report = self.reconcile()
        except InspectionStopped:
            return None  # the service stops
        except Exception as error:
            self._again.failed(f"the scan failed ({type(error).__name__}); it is tried again, and the log says more")
            _log.exception("the scan of the skills directory failed; it is tried again")
            return None
        self._again.succeeded()
        return report

    def _look(self) -> None:
        report = self.reconcile_quietly()
        if report is not None and (report.added or report.changed or report.removed):
            _log.info(
                "skills directory: %d added, %d changed, %d removed", report.added, report.changed, report.removed
            )


def _reason(problem: OSError) -> str:
    return problem.strerror or "it cannot be read"
