"""Synchronizes the catalog with the skills directory: a scan at start, then a watcher."""

import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping
from functools import partial
from itertools import islice
from pathlib import Path, PurePath

import msgspec
import watchfiles

from registry.catalog.folder_ids import IdChanges, id_changes, move_folders, rename_skills
from registry.catalog.folder_state import scan_fingerprint
from registry.catalog.local_skills import LocalSkills, ScannedFolder
from registry.catalog.recorded_changes import all_recorded
from registry.catalog.store import Catalog
from registry.db import DatabaseError
from registry.domain.counts import counted
from registry.domain.file_names import is_text, printable_name
from registry.domain.findings import SkillFindings
from registry.inspection.inspector import InspectionStopped, Inspector
from registry.runtime.periodic_worker import PeriodicWorker
from registry.skill_folder import UnreadableSkill, find_skill_folders, has_skill_file

_log = logging.getLogger("registry.catalog")

_FOLDERS_PER_TRANSACTION = 100
_DEBOUNCE_MILLISECONDS = 300
_IDLE_MILLISECONDS = 500
_POLL_SECONDS = 5.0
_POLLS_PER_WATCH_ATTEMPT = 12
"""The number of polling scans before the scanner tries again to watch the directory."""

_NOT_TEXT = "its path is not UTF-8 text: rename it"
_UNEXPECTED = "an unexpected error; see the server's log"


OnRenamed = Callable[[Mapping[str, str]], None]
"""Called with the new id of each skill that has another one, by its former id."""

_Scans = Mapping[str, tuple[str, SkillFindings | OSError]]
"""The fingerprints and the scan results of folders, by path."""


class ScanReport(msgspec.Struct, kw_only=True):
    """The result of one scan of the skills directory. `skipped` has the reason for each folder that was not read."""

    folders: int = 0
    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    seconds: float = 0.0
    skipped: dict[str, str] = msgspec.field(default_factory=dict)

    def summary(self) -> str:
        """Return the numbers as one line for the log."""
        return (
            f"{counted(self.folders, 'folder')} ({self.added} added, {self.changed} changed, {self.removed} removed,"
            f" {len(self.skipped)} skipped) in {self.seconds:.2f} s"
        )


class Scanner:
    """Compares the skills directory with the catalog and updates the catalog."""

    def __init__(
        self, local: LocalSkills, catalog: Catalog, inspector: Inspector, on_renamed: OnRenamed = lambda ids: None
    ) -> None:
        self._on_renamed = on_renamed
        self._ids: dict[str, str] = {}
        self._local = local
        self._catalog = catalog
        self._inspector = inspector
        self._stopped = threading.Event()
        self._watcher = PeriodicWorker("scan", self._watch, _log)
        self.health = self._watcher.health
        self._is_watching = True
        self._unsettled: set[str] = set()
        """The folders that went or came during the last scan. Ids depend on all folders."""
        self._is_due = False
        """Whether another scan is due, because of unsettled folders that were not so in the scan before."""

    def reconcile(self) -> ScanReport:
        """Update the catalog from the directory. All changes are searchable when it returns.

        Raises InspectionStopped if the service stops during the scan.
        """
        started = time.monotonic()
        with self._catalog.database.hooks.batch():
            report = self._reconcile()
        report.seconds = round(time.monotonic() - started, 3)
        return report

    def _reconcile(self) -> ScanReport:
        report = ScanReport()
        unsettled, self._unsettled, self._is_due = self._unsettled, set(), False
        current = self._fingerprints(report)
        changes = id_changes(self._catalog, self._local.root, current)
        self._move(changes)
        fingerprints, before = self._catalog.folder_fingerprints(), self._catalog.problems()
        # What is gone is removed first, since another folder may have its id now.
        self._remove([path for path in fingerprints if path not in current], set(), report)
        self._rename(changes)
        differing = [path for path, fingerprint in current.items() if fingerprints.get(path) != fingerprint]
        failed: set[str] = set()
        scans = self._inspector.scan_folders([self._local.root / path for path in differing])
        pairs = zip(scans, differing, strict=True)
        while batch := list(islice(pairs, _FOLDERS_PER_TRANSACTION)):
            failed |= self._record(
                {path: (current[path], result) for result, path in batch}, fingerprints, before, report
            )
        self._remove([], failed, report)
        self._save_problems(before, report)
        report.folders, report.unchanged = len(current), len(current) - len(differing)
        # A folder that no scan settles, such as a link that is not followed, must not cause scans without end.
        self._is_due = not self._unsettled <= unsettled
        return report

    def _move(self, changes: IdChanges) -> None:
        self._ids = changes.ids
        if changes.moved:
            with self._catalog.database.write() as transaction:
                move_folders(transaction, changes.moved)

    def _rename(self, changes: IdChanges) -> None:
        """Give known folders the ids that they have in a new catalog of the same folders."""
        if not changes.renamed:
            return
        with self._catalog.database.write() as transaction:
            renamed = rename_skills(self._catalog, transaction, changes.renamed)
        for former, now in renamed.items():
            _log.warning("the skill %s has the id %s now, because of the folders beside it", former, now)
        if renamed:
            self._on_renamed(renamed)

    def _fingerprints(self, report: ScanReport) -> dict[str, str]:
        fingerprints = {}
        for folder in sorted(find_skill_folders(self._local.root, partial(self._skip, report))):
            path = self._path(folder)
            if not is_text(path):
                report.skipped[printable_name(path)] = _NOT_TEXT
                continue
            try:
                fingerprints[path] = scan_fingerprint(folder)
            except (FileNotFoundError, NotADirectoryError):
                continue  # gone since it was listed
            except OSError as problem:
                self._skip(report, folder, problem)
        return fingerprints

    def _path(self, folder: Path) -> str:
        return folder.relative_to(self._local.root).as_posix()

    def _skip(self, report: ScanReport, folder: Path, problem: OSError) -> None:
        report.skipped[printable_name(self._path(folder))] = _reason(problem)

    def _record(
        self, scans: _Scans, fingerprints: Collection[str], before: Collection[str], report: ScanReport
    ) -> set[str]:
        """Record folders in one transaction, and return those that cannot be read.

        After an unexpected error each folder is recorded in its own transaction, so that only the bad one is missing.
        """
        try:
            recorded, failed = self._record_batch(scans)
        except (DatabaseError, InspectionStopped):
            raise
        except Exception:  # a bug that one folder triggers must not stop the scan of the others
            if len(scans) > 1:
                return set().union(*(self._record({path: scans[path]}, fingerprints, before, report) for path in scans))
            (path,) = scans
            if path not in before:
                _log.exception("the folder %s cannot be recorded", path)
            recorded, failed = [], {path: _UNEXPECTED}
        report.changed += sum(path in fingerprints for path in recorded)
        report.added += sum(path not in fingerprints for path in recorded)
        report.skipped |= failed
        return set(failed)

    def _record_batch(self, scans: _Scans) -> tuple[list[str], dict[str, str]]:
        recorded: list[str] = []
        failed: dict[str, str] = {}
        with self._catalog.database.write() as transaction:
            for path, (fingerprint, findings) in scans.items():
                try:
                    if isinstance(findings, OSError):
                        raise findings
                    self._local.record_folder(
                        transaction,
                        self._local.root / path,
                        ScannedFolder(fingerprint, findings),
                        self._ids.get(path, ""),
                    )
                except UnreadableSkill as problem:
                    failed[path] = problem.reason
                except (FileNotFoundError, NotADirectoryError):
                    self._unsettled.add(path)  # gone since it was listed: the next scan removes it
                except OSError as problem:
                    failed[path] = _reason(problem)
                else:
                    recorded.append(path)
        return recorded, failed

    def _remove(self, gone: list[str], failed: set[str], report: ScanReport) -> None:
        if not gone and not failed:
            return
        with self._catalog.database.write() as transaction:
            for path in (*gone, *failed):
                stored = self._catalog.find_at(transaction, path)
                is_back = path not in failed and self._exists(path)
                if is_back:
                    self._unsettled.add(path)
                elif stored is not None:
                    self._catalog.delete(transaction, stored.key)
                    report.removed += 1

    def _exists(self, path: str) -> bool:
        """Return whether a folder is a skill now, and not the material of a skill above it."""
        folder = self._local.root / path
        above = [self._local.root / parent for parent in PurePath(path).parents if parent.name]
        return has_skill_file(folder) and not any(map(has_skill_file, above))

    def _save_problems(self, before: dict[str, str], report: ScanReport) -> None:
        if before == report.skipped:
            return
        with self._catalog.database.write() as transaction:
            self._catalog.set_problems(transaction, report.skipped)
        for path, reason in report.skipped.items():
            if before.get(path) != reason:
                _log.warning("skipped %s: %s", path, reason)

    def start(self) -> None:
        """Start to watch the directory, in a thread."""
        self._stopped.clear()
        self._watcher.start()

    def stop(self) -> None:
        """Stop watching, and wait for a running scan."""
        self._stopped.set()
        self._watcher.stop()

    def _watch(self) -> float:
        try:
            self._watch_until_stopped(self._local.root)
        except (OSError, RuntimeError) as error:  # for example a file name that is not UTF-8
            if self._is_watching:
                _log.warning(
                    "the skills directory cannot be watched (%s); it is scanned every %g s", error, _POLL_SECONDS
                )
            self._is_watching = False
            self._poll()
        return 0.0

    def _poll(self) -> None:
        for _ in range(_POLLS_PER_WATCH_ATTEMPT):
            self._scan()
            if self._stopped.wait(_POLL_SECONDS):
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
            # The first turn comes when the watch is established. A scan then finds the changes from before.
            is_new = bool(changes) and not all_recorded(self._catalog, root, (path for _, path in changes))
            if is_new or turn == 0 or self._is_due or (self.health.problem and self.health.is_due()):
                self._scan()
            self._is_watching = self._is_watching or turn > 0

    def reconcile_quietly(self) -> ScanReport | None:
        """Run `reconcile`, but log errors and return None. The watcher tries again with a back-off."""
        try:
            report = self.reconcile()
        except InspectionStopped:
            return None  # the service stops
        except Exception as error:
            self.health.failed_by(error)
            return None
        self.health.succeeded()
        return report

    def _scan(self) -> None:
        report = self.reconcile_quietly()
        if report is not None and (report.added or report.changed or report.removed):
            _log.info(
                "skills directory: %d added, %d changed, %d removed", report.added, report.changed, report.removed
            )


def _reason(problem: OSError) -> str:
    return problem.strerror or "it cannot be read"
