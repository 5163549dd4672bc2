"""Scans texts and reads packages in child processes, and replaces those that exceed a limit or die."""

import logging
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import NamedTuple, TypeVar, cast

import msgspec

from registry.config.groups import LimitsSettings
from registry.domain.findings import Finding, Kind, SkillFindings
from registry.errors import service_unavailable
from registry.findings.engine import skill_findings
from registry.inspection.messages import (
    Answer,
    Failed,
    PackageBroken,
    PackageRead,
    ReadPackage,
    RecordTexts,
    Request,
    ScanFolders,
    Scanned,
    ScanRecords,
    ScanSkillFiles,
    StorageFailed,
)
from registry.inspection.process import Process
from registry.packages.limits import DEFAULT_LIMITS, PackageLimits
from registry.packages.package import Package
from registry.packages.refusal import PackageRefused
from registry.packages.update_diff import Footprint

_log = logging.getLogger("registry.inspection")

_ITEMS_PER_REQUEST = 500

_Item = TypeVar("_Item", Path, bytes, RecordTexts)


class InspectionStopped(Exception):
    """The service is stopping, and the request was not completed."""


class NotScanned(PackageRefused):
    """A package could not be scanned within the limits."""


class _NotDone(Exception):
    """A request was not completed. The message tells why."""


class _Died(_NotDone):
    """The process ended before its answer, without a limit that was exceeded."""


class InspectedPackage(NamedTuple):
    """A valid package with its scripts and URLs."""

    package: Package
    footprint: Footprint


class Inspector:
    """Scans untrusted texts and reads untrusted packages in up to `children` processes, which start on first use.

    A request that exceeds `limits.scan_seconds` or `limits.scan_memory_bytes` ends with the finding `not-scanned`, of
    medium risk. If a process dies for another reason, the request is repeated once in a new one. Methods may be called
    from any thread. They wait for a free process, at most `patience` seconds if that is given, and then raise
    SERVICE_UNAVAILABLE. After `close` they raise InspectionStopped. They raise ChildProcessError, an OSError, if no
    process starts.
    """

    def __init__(self, limits: LimitsSettings, children: int = 2, patience: float | None = None) -> None:
        self._seconds = limits.scan_seconds
        self._memory_bytes = limits.scan_memory_bytes
        self._patience = patience
        self._free = threading.Semaphore(children)
        self._lock = threading.Lock()
        self._several = threading.Lock()
        self._idle: list[Process] = []
        self._busy: set[Process] = set()
        self._closed = False

    def read_package(
        self, source: Path, staged: Path, limits: PackageLimits = DEFAULT_LIMITS, *, named: str | None = None
    ) -> InspectedPackage:
        """Read a zip or a folder into `staged`, which must not exist.

        The rules are those for publishing; with `named`, the name at the origin, those for installing.

        Raises PackageRefused, of which NotScanned is one, and OSError; then `staged` does not exist.
        """
        try:
            answer = self._answer(ReadPackage(source, staged, limits, named), staged)
        except _NotDone as problem:
            shutil.rmtree(staged, ignore_errors=True)
            raise NotScanned([_finding("security_issue", problem)]) from None
        if isinstance(answer, PackageBroken):
            raise PackageRefused(answer.findings)
        if isinstance(answer, StorageFailed):
            raise OSError(answer.number, answer.reason)
        assert isinstance(answer, PackageRead)
        return InspectedPackage(answer.package, answer.footprint)

    def scan_record(self, name: str, description: str, body: str) -> SkillFindings:
        """Scan a skill without files; line numbers refer to its body."""
        (findings,) = self.scan_records([RecordTexts(name, description, body)])
        return findings

    def scan_records(self, records: Sequence[RecordTexts]) -> list[SkillFindings]:
        """Scan skills without files, and return the findings of each, as `scan_record`."""
        return self._scan_texts(records, ScanRecords)

    def scan_folder(self, folder: Path) -> SkillFindings:
        """Scan the texts of a skill folder. Raises OSError if the folder cannot be listed."""
        (result,) = self.scan_folders([folder])
        if isinstance(result, OSError):
            raise result
        return result

    def scan_folders(self, folders: Sequence[Path]) -> Iterator[SkillFindings | OSError]:
        """Yield the findings of each folder in order, or an OSError for a folder that cannot be listed.

        The process continues while the caller uses a result. It is free again when the iterator is exhausted.
        """
        return self._scan_each(folders, ScanFolders)

    def scan_skill_files(
        self, skill_files: Sequence[bytes], meanwhile: Callable[[], object] = lambda: None
    ) -> list[SkillFindings]:
        """Scan skills that have a SKILL.md with these bytes and no other file.

        `meanwhile` is called whenever the process has begun, so it must be idempotent.
        """
        return self._scan_texts(skill_files, ScanSkillFiles, meanwhile)

    def _scan_texts(
        self,
        texts: Sequence[_Item],
        request: Callable[[list[_Item]], Request],
        meanwhile: Callable[[], object] = lambda: None,
    ) -> list[SkillFindings]:
        """Return the findings of texts. Lists of several take turns, which leaves a process for single texts."""
        with self._several if len(texts) > 1 else nullcontext():
            return [cast(SkillFindings, result) for result in self._scan_each(texts, request, meanwhile)]

    def _scan_each(
        self,
        items: Sequence[_Item],
        request: Callable[[list[_Item]], Request],
        meanwhile: Callable[[], object] = lambda: None,
    ) -> Iterator[SkillFindings | OSError]:
        """Yield the result of each item. After the death of a process, the item it died at is repeated once."""
        count, died_at = 0, -1
        while count < len(items):
            batch = list(items[count : count + _ITEMS_PER_REQUEST])
            try:
                for answer in self._answers(request(batch), len(batch), meanwhile):
                    count += 1
                    yield _result(answer)
            except _NotDone as problem:
                if isinstance(problem, _Died) and died_at != count:
                    died_at = count
                    continue
                if isinstance(items[count], Path):
                    _log.warning("%s: %s", items[count], problem)
                count += 1
                yield not_scanned(problem)

    def close(self) -> None:
        """Kill every process, including busy ones."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            for process in self._busy:
                process.kill()
        for process in idle:
            process.end()

    def _answer(self, request: Request, staged: Path | None = None) -> Answer:
        """Return the single answer to a request; repeat the request once if the process dies."""
        try:
            (answer,) = self._answers(request, 1)
        except _Died:
            if staged is not None:
                shutil.rmtree(staged, ignore_errors=True)
            (answer,) = self._answers(request, 1)
        return answer

    def _answers(
        self, request: Request, count: int, meanwhile: Callable[[], object] = lambda: None
    ) -> Iterator[Answer]:
        """Yield the answers of a process. Raises _NotDone at the first missing answer."""
        with self._process() as process:
            with self._problems_of_process():
                process.send(request, self._seconds)
            meanwhile()
            for _ in range(count):
                with self._problems_of_process():
                    answer = process.receive(self._seconds)
                if isinstance(answer, Failed):
                    _log_trace(answer)
                    raise _NotDone(f"not scanned: {answer.reason}")
                yield answer

    @contextmanager
    def _problems_of_process(self) -> Iterator[None]:
        """Raise _NotDone for an exceeded limit or the end of the process."""
        try:
            yield
        except TimeoutError:
            raise _NotDone(f"not scanned: the limit of {self._seconds:g} s was exceeded") from None
        except (OSError, EOFError, msgspec.MsgspecError):
            if self._closed:
                raise InspectionStopped from None
            raise _Died("not scanned: the process died") from None

    @contextmanager
    def _process(self) -> Iterator[Process]:
        """Reserve a process for the block, and end it if the block raises."""
        if not self._free.acquire(timeout=self._patience):
            raise service_unavailable("The service is scanning other texts")
        try:
            process = self._reserve()
            try:
                yield process
            except BaseException:
                self._release(process, is_usable=False)
                raise
            self._release(process, is_usable=True)
        finally:
            self._free.release()

    def _reserve(self) -> Process:
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

    def _release(self, process: Process, *, is_usable: bool) -> None:
        with self._lock:
            self._busy.discard(process)
            is_kept = is_usable and not self._closed
            if is_kept:
                self._idle.append(process)
        if not is_kept:
            process.end()


def not_scanned(problem: Exception) -> SkillFindings:
    """Return the findings of a skill that could not be scanned: medium risk, so it never counts as harmless."""
    return skill_findings([_finding("quality_warning", problem)])


def _finding(kind: Kind, problem: Exception) -> Finding:
    return Finding(kind=kind, severity="medium", rule="not-scanned", message=str(problem))


def _result(answer: Answer) -> SkillFindings | OSError:
    if isinstance(answer, StorageFailed):
        return OSError(answer.number, answer.reason)
    assert isinstance(answer, Scanned)
    return answer.findings


def _log_trace(failed: Failed) -> None:
    if failed.trace:
        _log.error("the scan failed: %s", failed.trace)
