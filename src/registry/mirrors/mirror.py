"""One mirror: what a registry has published, fetched when it is first requested, checked, kept, and handed on.

The log of the registry decides. A package must have the digest of its entry in the log, an index file must list what
the log has, and the log must be the one that the registry has signed and extend what was seen of it before. While the
registry cannot be reached, what is kept is handed on.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn, TypeVar

import msgspec

from registry.db import DatabaseError
from registry.domain.counts import counted
from registry.domain.release_proofs import ReleaseProof
from registry.domain.source_entry import SourceEntry
from registry.domain.withdrawals import Withdrawn
from registry.errors import RegistryError, conflict, service_unavailable, skill_not_found
from registry.mirrors.kept_files import KeptFiles, KeptPackage
from registry.mirrors.kept_log import MAX_ENTRIES, KeptLog, LogDamaged, LoggedPackage
from registry.mirrors.parsed_index import IndexParser, ParsedIndex
from registry.mirrors.space import Keeping, MirrorsFull, Space, reason_of
from registry.outbound import OutboundError
from registry.sources.log_monitor import LogMonitor, LogRefused
from registry.sources.remote_registry import Release, RemoteRegistry
from registry.transparency.checkpoint import LogCheckpoint, Verifier
from registry.transparency.release_proof import encode_hashes

_log = logging.getLogger("registry.mirrors")

_CONTACT_SECONDS = 1.0
"""So often the registry is asked at most whether its log has grown."""

_REST = 10
"""After a failure the registry is left alone for this many times as long as it took to fail."""

_RETRY_SECONDS = 2

_T = TypeVar("_T")

_FAULTS = (OutboundError, LogRefused, MirrorsFull, DatabaseError, OSError)


class MirroredPackage(NamedTuple):
    """A package that is open at its begin, its size and its checksum."""

    file: BinaryIO
    size: int
    checksum: str


class Mirror:
    """The mirror of the registry behind one source, in `folder`.

    Methods raise SERVICE_UNAVAILABLE for what is not kept, or not known, while the registry cannot be read.
    """

    def __init__(
        self,
        source: SourceEntry,
        folder: Path,
        open_registry: Callable[[], RemoteRegistry],
        monitor: LogMonitor,
        space: Space,
    ) -> None:
        self.name, self.url = source.name, str(source.url)
        self._folder = folder
        self._open = open_registry
        self._monitor = monitor
        self.keeping = Keeping(source.name, space)
        self.files = KeptFiles(folder)
        self._parser = IndexParser(self.url)
        self._asking = threading.Lock()
        self._lock = threading.Lock()
        self._kept: KeptLog | None = None
        self._stamp = (0, 0)
        self._next_contact = 0.0
        self._problem: str | None = None
        self._fetching: dict[str, threading.Lock] = {}

    def heard(self, registry: RemoteRegistry) -> None:
        """Read what is new in the log of the registry, which has just answered. A failure is logged."""
        with self._asking:
            self._contact(lambda: registry)

    def log(self, *, at_once: bool = False) -> KeptLog:
        """Return the log, which was requested from the registry within the last second, or now, if it answers."""
        is_due = time.monotonic() >= self._next_contact or (at_once and self._problem is None)
        if is_due and self._asking.acquire(blocking=at_once or self._kept is None):  # others have the kept log
            try:
                self._contact(self._open)
            finally:
                self._asking.release()
        try:
            log = self._current()
        except (LogDamaged, OSError) as damaged:
            self._refuse(reason_of(damaged))
        if log.seen is None:
            self._refuse("its log was never read")
        return log

    def problem(self) -> str | None:
        """Return why the last file could not be kept, None if it could."""
        return self.keeping.problem

    def key(self) -> str:
        """Return the key of the log. Any caller may ask for it, so a failure does not name the registry."""
        try:
            seen = self.log().seen
        except RegistryError:
            seen = None
        if seen is None:
            self._refuse("its log was never read")
        return seen.key

    def proof(self, skill_id: str, version: str) -> tuple[ReleaseProof, int]:
        """Return the log entry of a version with its proof, and the size of its log. Raises SKILL_NOT_FOUND."""
        log = self._log_with(skill_id, version)
        logged = log.packages(skill_id)[version]
        (note, size), (entry,) = log.signed(), self.entries(logged.number, 1)
        steps = encode_hashes(log.inclusion(logged.number, size))
        return ReleaseProof(checkpoint=note, number=logged.number, entry=entry, proof=steps), size

    def _log_with(self, skill_id: str, version: str | None = None) -> KeptLog:
        """Return the log, which has a skill, or a version of it. Raises SKILL_NOT_FOUND if the registry has none."""
        for at_once in (False, True):  # it may have been published a moment ago
            log = self.log(at_once=at_once)
            versions = log.packages(skill_id)
            if versions if version is None else version in versions:
                return log
        if self._problem is not None:  # the registry may have it by now
            name = f"{skill_id} {version or ''}".rstrip()
            self._refuse(f"{self._problem}. What is kept of its log, {counted(log.size, 'entry')}, has no {name}")
        raise skill_not_found(skill_id, version)

    def asked(self) -> KeptLog:
        """Return the log, for which the registry was asked just now."""
        log = self.log(at_once=True)
        if self._problem is not None:
            self._refuse(self._problem)
        return log

    def keep_index(self, skill_id: str) -> None:
        """Fetch the index file of a skill, unless what is kept lists all its versions. Raises SKILL_NOT_FOUND."""
        self._index(skill_id)

    def has(self, checksum: str) -> bool:
        """Return whether the package with a checksum is kept."""
        return self.files.has(checksum)

    def kept_log(self) -> KeptLog:
        """Return the log that is kept, for which the registry is not asked. Raises LogDamaged, OSError."""
        return self._current()

    def adopt(self, log: KeptLog) -> None:
        """Keep a log from elsewhere, which must extend the kept one, or be an earlier state of it.

        Raises LogRefused for a fork and for another key, LogDamaged, MirrorsFull, OSError.
        """
        own_log, seen = self._current(), log.seen
        if seen is None:
            return
        verifier = self._monitor.verifier(self.url, seen.key)
        if own_log.seen is not None and own_log.seen.key != seen.key:
            raise LogRefused(f"the log of {self.url} has the key {own_log.seen.key} here, not {seen.key}")
        if log.size > own_log.size:
            self._keep(own_log, verifier, seen.checkpoint, log.entries(own_log.size, log.size - own_log.size))
        elif own_log.root(log.size) != log.root(log.size):
            raise LogRefused(f"the log of {self.url} was forked: the kept one, of size {log.size:,}, contradicts it")

    def take_index(self, skill_id: str, body: bytes) -> None:
        """Keep an index file from elsewhere, which was checked, unless what is kept lists more.

        Raises MirrorsFull, OSError.
        """
        index_here = self._kept_index(skill_id)
        if index_here is None or not index_here.lines.keys() >= self._parser.parsed(skill_id, body).lines.keys():
            with self.keeping.room(len(body)):
                self.files.put_index(skill_id, body)

    def entries(self, start: int, limit: int) -> list[str]:
        """Return at most `limit` entries of the log from a number on."""
        return self._intact(lambda log: log.entries(start, limit))

    def withdrawing(self, after: int, limit: int) -> list[tuple[int, str]]:
        """Return number and text of at most `limit` entries that withdraw or restore something, beyond `after`."""
        return self._intact(lambda log: log.withdrawing(after, limit))

    def _intact(self, read: Callable[[KeptLog], list[_T]]) -> list[_T]:
        """Return what is read of the log. One whose files were changed is fetched again."""
        try:
            return read(self.log())
        except LogDamaged:
            self._kept, self._next_contact = None, 0.0
        try:
            return read(self.log())
        except LogDamaged as damaged:
            self._refuse(str(damaged))

    def lines(self, skill_id: str, address: str) -> list[dict[str, Any]]:
        """Return the lines of the index file of a skill, with packages below `address`. Raises SKILL_NOT_FOUND.

        What the log says of a version replaces what its line says.
        """
        log, index = self._index(skill_id)
        lines = []
        for version, line in index.lines.items():
            withdrawn = log.withdrawal(skill_id, version)
            fields = dict(line.fields)
            fields["download_url"] = f"{address}/packages/{skill_id}/{version}.zip"
            fields.pop("withdrawn", None)
            if withdrawn is not None:
                fields["withdrawn"] = msgspec.to_builtins(withdrawn)
            fields["yanked"] = _is_yanked(withdrawn)
            lines.append(fields)
        return lines

    def releases(self, skill_id: str) -> list[Release]:
        """Return the versions of a skill, with what the log says of them. Raises SKILL_NOT_FOUND."""
        log, index = self._index(skill_id)
        return [
            msgspec.structs.replace(line.release, withdrawn=withdrawn, yanked=_is_yanked(withdrawn))
            for version, line in index.lines.items()
            for withdrawn in (log.withdrawal(skill_id, version),)
        ]

    def package(self, skill_id: str, version: str) -> MirroredPackage:
        """Return the package of a version. Raises SKILL_NOT_FOUND, CONFLICT if it is revoked."""
        log = self._log_with(skill_id, version)
        logged = log.packages(skill_id)[version]
        self._refuse_revoked(log, skill_id, version, logged)
        with self._only_fetcher(logged.checksum):
            file = self.files.package(logged.checksum) or self._fetched(skill_id, version, logged)
        return MirroredPackage(file.file, file.size, logged.checksum)

    def kept_package(self, skill_id: str, version: str) -> MirroredPackage | None:
        """Return the package of a version if it is kept, without a question. Raises CONFLICT if it is revoked."""
        try:
            log = self._current()
            logged = log.packages(skill_id).get(version)
            if logged is None:
                return None
            self._refuse_revoked(log, skill_id, version, logged)
            file = self.files.package(logged.checksum)
        except (LogDamaged, OSError) as damaged:
            _log.warning("mirror %s: %s", self.name, reason_of(damaged))
            return None
        return None if file is None else MirroredPackage(file.file, file.size, logged.checksum)

    def _refuse_revoked(self, log: KeptLog, skill_id: str, version: str, logged: LoggedPackage) -> None:
        """Remove the package of a version that is revoked. Raises CONFLICT for it."""
        withdrawn = log.withdrawal(skill_id, version)
        if withdrawn is not None and withdrawn.state == "revoked":
            self.files.remove_package(logged.checksum)
            raise conflict(f"Version {version} of skill '{skill_id}' is refused: it was {withdrawn.words}")

    def _fetched(self, skill_id: str, version: str, logged: LoggedPackage) -> KeptPackage:
        _, index = self._index(skill_id)
        if version not in index.lines:
            self._refuse(f"its index does not list {skill_id} {version}")
        release = index.lines[version].release
        if self._problem is not None:
            self._refuse(self._problem)
        try:
            with self.keeping.room(release.size), self.files.adding(logged.checksum) as temporary:
                self._open().download(release, temporary)
        except _FAULTS as error:
            self._refuse(reason_of(error))
        file = self.files.package(logged.checksum)
        if file is None:
            self._refuse(f"the package of {skill_id} {version} was changed while it was kept")
        return file

    @contextmanager
    def _only_fetcher(self, checksum: str) -> Iterator[None]:
        """Let one thread at a time look for a package, so that it is fetched once."""
        with self._lock:
            lock = self._fetching.setdefault(checksum, threading.Lock())
        try:
            with lock:
                yield
        finally:
            with self._lock:
                self._fetching.pop(checksum, None)

    def _index(self, skill_id: str) -> tuple[KeptLog, ParsedIndex]:
        """Return the index file of a skill, which lists what the log has. Raises SKILL_NOT_FOUND."""
        log = self._log_with(skill_id)
        index = self._kept_index(skill_id)
        if self._problem is None and (index is None or not index.lists_all(log, skill_id)):
            try:
                log, index = self._fetched_index(skill_id)
            except (*_FAULTS, RegistryError) as error:
                _log.warning("mirror %s: index of %s: %s", self.name, skill_id, error)
                if index is None:
                    self._refuse(reason_of(error))
        if index is None:
            self._refuse(self._problem or "nothing of it is kept")
        try:
            index.check(log, skill_id)
        except LogRefused as refused:
            self._refuse(str(refused))
        return log, index

    def _kept_index(self, skill_id: str) -> ParsedIndex | None:
        body = self.files.index(skill_id)
        return None if body is None else self._parser.parsed(skill_id, body)

    def _fetched_index(self, skill_id: str) -> tuple[KeptLog, ParsedIndex]:
        body = self._open().index_file(skill_id)
        log, index = self.log(), self._parser.parsed(skill_id, body)
        if not index.lines.keys() <= log.packages(skill_id).keys():
            log = self.log(at_once=True)
        index.check(log, skill_id)
        with self.keeping.room(len(body)):
            self.files.put_index(skill_id, body)
        return log, index

    def check_index(self, log: KeptLog, skill_id: str, body: bytes) -> None:
        """Raise LogRefused if an index file lists what a log does not have."""
        self._parser.parsed(skill_id, body).check(log, skill_id)

    def _contact(self, open_registry: Callable[[], RemoteRegistry]) -> None:
        """Read what is new in the log of the registry, and note whether that worked."""
        started = time.monotonic()
        try:
            self._follow(open_registry())
        except _FAULTS as error:
            if reason_of(error) != self._problem:
                _log.info("mirror %s: %s", self.name, error)  # the source has the error
            self._problem = reason_of(error)
            pause = _REST * (time.monotonic() - started)
        else:
            self._problem, pause = None, 0.0
        self._next_contact = time.monotonic() + max(_CONTACT_SECONDS, pause)

    def _follow(self, registry: RemoteRegistry) -> None:
        note = registry.checkpoint()
        verifier = self._monitor.verify(registry, note)
        state = verifier.read(note)
        try:
            log = self._current()
        except LogDamaged as damaged:
            _log.warning("mirror %s: %s; the log is fetched again", self.name, damaged)
            log = KeptLog(self._folder)
        if log.seen is not None and log.seen.key != verifier.text:
            raise LogRefused(f"the log of {registry.url} has the key {log.seen.key} here, not {verifier.text}")
        if state.size > MAX_ENTRIES:
            raise LogRefused(f"the log of {registry.url} has more than {MAX_ENTRIES:,} entries, the most of a mirror")
        if state.size > log.size or log.seen is None:
            self._extend(log, registry, verifier, note, state)
        elif log.root(state.size) != state.root:
            raise LogRefused(f"the log of {registry.url} was forked: its size {state.size:,} contradicts the kept one")
        elif state.size == log.size:
            log.refresh(note)

    def _extend(
        self, log: KeptLog, registry: RemoteRegistry, verifier: Verifier, note: str, state: LogCheckpoint
    ) -> None:
        texts: list[str] = []
        while (missing := state.size - log.size - len(texts)) > 0:
            page = registry.log_entries(log.size + len(texts))[:missing]
            if not page:
                raise LogRefused(f"the log of {registry.url} shows {log.size + len(texts)} of {state.size} entries")
            texts += page
        self._keep(log, verifier, note, texts)

    def _keep(self, log: KeptLog, verifier: Verifier, note: str, texts: list[str]) -> None:
        try:
            with self._lock, self.keeping.room(sum(map(len, texts))):
                log.extend(verifier, note, texts)
        except (MirrorsFull, OSError):
            log.foresee(verifier, note, texts)  # so that what was revoked is refused
            raise
        finally:
            with self._lock:
                self._kept, self._stamp = log, KeptLog.stamp(self._folder)

    def _current(self) -> KeptLog:
        """Return the log, which another process may have extended. Raises LogDamaged, OSError."""
        with self._lock:
            stamp, cached = KeptLog.stamp(self._folder), self._kept
            if cached is None:
                cached = KeptLog.read(self._folder)
            elif stamp != self._stamp:
                cached.catch_up()
            self._kept, self._stamp = cached, stamp
            return cached

    def _refuse(self, reason: str) -> NoReturn:
        raise service_unavailable(f"The mirror '{self.name}' cannot answer: {reason}", _RETRY_SECONDS)


def _is_yanked(withdrawn: Withdrawn | None) -> bool:
    return withdrawn is not None and withdrawn.state != "deprecated"
