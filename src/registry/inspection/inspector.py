"""Asks child processes to look into texts and packages, and replaces those that take too long or die."""

import logging
import shutil
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from registry.errors import service_unavailable
from registry.findings import Finding, Kind, SkillFindings
from registry.findings.engine import skill_findings
from registry.inspection.messages import (
    Answer,
    Failed,
    PackageBroken,
    PackageRead,
    ReadPackage,
    Request,
    ScanFolders,
    Scanned,
    ScanRecord,
    StorageFailed,
)
from registry.inspection.process import Process
from registry.packages import DEFAULT_LIMITS, Limits, Package, PackageRefused
from registry.setting_groups import Limits as Settings
from registry.update_notes import Reach

_log = logging.getLogger("registry")

_FOLDERS_A_REQUEST = 500


class InspectionStopped(Exception):
    """The service is ending: what was asked for is left undone, and nothing is known of it."""


class NotScanned(PackageRefused):
    """A package could not be looked into within its limits."""


class _NotDone(Exception):
    """A process did not do what it was asked; the message says why."""


class _Died(_NotDone):
    """It ended by itself, or somebody else ended it."""


class InspectedPackage(NamedTuple):
    """A package that keeps the rules, and how far it reaches beyond its text."""

    package: Package
    reach: Reach


class Inspector:
    """Looks into what is untrusted, in at most `children` processes of its own, which are started when needed.

    What exceeds `limits.scan_seconds` of time or `limits.scan_memory_bytes` of memory ends with its process and is not
    scanned, which is a finding of medium risk. A process that dies otherwise is replaced, and what it did tried once
    more. Methods may be called from any thread; they wait for a free process, at most `patience` seconds where that is
    given, and then raise SERVICE_UNAVAILABLE. All of them raise InspectionStopped once `close` was called, and
    ChildProcessError (an OSError) where no process can be started.
    """

    def __init__(self, limits: Settings, children: int = 1, patience: float | None = None) -> None:
        self._seconds = limits.scan_seconds
        self._memory_bytes = limits.scan_memory_bytes
        self._patience = patience
        self._free = threading.Semaphore(children)
        self._lock = threading.Lock()
        self._idle: list[Process] = []
        self._busy: set[Process] = set()
        self._closed = False

    def read_package(self, source: Path, staged: Path, limits: Limits = DEFAULT_LIMITS) -> InspectedPackage:
        """Read a zip or a folder into `staged`, which must not exist.

        Raises PackageRefused, of which NotScanned is one, and OSError of our own disk; then `staged` does not exist.
        """
        try:
            answer = self._one(ReadPackage(source, staged, limits), staged)
        except _NotDone as problem:
            shutil.rmtree(staged, ignore_errors=True)
            raise NotScanned([_finding("security_issue", problem)]) from None
        if isinstance(answer, PackageBroken):
            raise PackageRefused(answer.findings)
        if isinstance(answer, StorageFailed):
            raise OSError(answer.number, answer.reason)
        assert isinstance(answer, PackageRead)
        return InspectedPackage(answer.package, answer.reach)

    def scan_record(self, name: str, description: str, body: str) -> SkillFindings:
        """Look into a skill that is a record without files; lines are those of its body."""
        try:
            answer = self._one(ScanRecord(name, description, body))
        except _NotDone as problem:
            return not_scanned(problem)
        assert isinstance(answer, Scanned)
        return answer.findings

    def scan_folder(self, folder: Path) -> SkillFindings:
        """Look into the texts of a skill's own files. Raises OSError when the folder cannot be listed."""
        (found,) = self.scan_folders([folder])
        if isinstance(found, OSError):
            raise found
        return found

    def scan_folders(self, folders: Sequence[Path]) -> Iterator[SkillFindings | OSError]:
        """Yield what is found in each folder, in their order; an OSError for one that cannot be listed.

        A process goes on with the next ones while the caller does something else, and is free again at the end.
        """
        done, died_at = 0, -1
        while done < len(folders):
            batch = list(folders[done : done + _FOLDERS_A_REQUEST])
            try:
                for answer in self._answers(ScanFolders(batch), len(batch)):
                    done += 1
                    yield _found(answer)
            except _NotDone as problem:
                if isinstance(problem, _Died) and died_at != done:
                    died_at = done
                    continue
                _log.warning("%s: %s", folders[done], problem)
                done += 1
                yield not_scanned(problem)

    def close(self) -> None:
        """End every process, also those at work."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            for process in self._busy:
                process.kill()
        for process in idle:
            process.end()

    def _one(self, request: Request, staged: Path | None = None) -> Answer:
        """Return the answer to a request that has one, asked a second time where the first process dies."""
        try:
            (answer,) = self._answers(request, 1)
        except _Died:
            if staged is not None:
                shutil.rmtree(staged, ignore_errors=True)
            (answer,) = self._answers(request, 1)
        return answer

    def _answers(self, request: Request, count: int) -> Iterator[Answer]:
        """Yield the answers of a process. Raises _NotDone at the first one that does not come."""
        with self._process() as process:
            try:
                process.send(request, self._seconds)
                for _ in range(count):
                    answer = process.receive(self._seconds)
                    if isinstance(answer, Failed):
                        _log_trace(answer)
                        raise _NotDone(f"not scanned: {answer.reason}")
                    yield answer
            except TimeoutError:
                raise _NotDone(f"not scanned: it takes longer than {self._seconds:g} s") from None
            except (OSError, EOFError, msgspec.MsgspecError):
                if self._closed:
                    raise InspectionStopped from None
                raise _Died("not scanned: the process that looked into it died") from None

    @contextmanager
    def _process(self) -> Iterator[Process]:
        """Have a process for the block; one that the block left with an error is ended."""
        if not self._free.acquire(timeout=self._patience):
            raise service_unavailable("Other texts are being looked into just now")
        try:
            process = self._taken()
            try:
                yield process
            except BaseException:
                self._put_back(process, is_usable=False)
                raise
            self._put_back(process, is_usable=True)
        finally:
            self._free.release()

    def _taken(self) -> Process:
        with self._lock:
            process = self._idle.pop() if self._idle else None
        if process is None and not self._closed:
            process = Process(self._seconds, self._memory_bytes)
        with self._lock:
            if process is not None and not self._closed:
                self._busy.add(process)
                return process
        if process is not None:
            process.end()
        raise InspectionStopped

    def _put_back(self, process: Process, *, is_usable: bool) -> None:
        with self._lock:
            self._busy.discard(process)
            is_kept = is_usable and not self._closed
            if is_kept:
                self._idle.append(process)
        if not is_kept:
            process.end()


def not_scanned(problem: Exception) -> SkillFindings:
    """Return what stands on a skill that could not be looked into, so that nobody calls it harmless."""
    return skill_findings([_finding("quality_warning", problem)])


def _finding(kind: Kind, problem: Exception) -> Finding:
    return Finding(kind=kind, severity="medium", rule="not-scanned", message=str(problem))


def _found(answer: Answer) -> SkillFindings | OSError:
    if isinstance(answer, StorageFailed):
        return OSError(answer.number, answer.reason)
    assert isinstance(answer, Scanned)
    return answer.findings


def _log_trace(failed: Failed) -> None:
    if failed.trace:
        _log.error("a text or a package cannot be looked into: %s", failed.trace)
