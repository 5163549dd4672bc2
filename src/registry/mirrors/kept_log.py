"""The log of another registry as files: its entries in bundles, and the signed state that they belong to.

The entries are written before the state that counts them, and each file whole, so a killed writer leaves the state of
before. Their hashes must give the root that the registry has signed, whenever they are read.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from registry.domain.models import SkillId, Version
from registry.domain.withdrawals import Withdrawn, is_revoked
from registry.mirrors.checked_files import FileChanged, read_checked, write_checked
from registry.runtime.atomic_files import only_writer, replace_file
from registry.sources.log_monitor import LogRefused, SeenLog
from registry.sources.registry_documents import Checksum
from registry.transparency.bundles import BUNDLE_ENTRIES, write_bundle
from registry.transparency.checkpoint import CheckpointInvalid, LogCheckpoint, Verifier
from registry.transparency.log import WITHDRAWALS, LogEntry
from registry.transparency.log_reading import LogReading
from registry.transparency.merkle import EMPTY, Hash, Tree, consistency_proof, inclusion_proof, leaf_hash, root

MAX_ENTRIES = 1_000_000
"""The most of a log. In memory each has a few hundred bytes."""

_STATE, _BUNDLES = "state.json", "log"
_ENTRY_CHARACTERS = 10_000
_BUNDLE_BYTES = BUNDLE_ENTRIES * (_ENTRY_CHARACTERS + 1)


_UNREADABLE = (FileChanged, msgspec.DecodeError, CheckpointInvalid)


class LogDamaged(Exception):
    """The files are not those of a log that a registry has signed; the message says which."""


class LoggedPackage(NamedTuple):
    """The entry that publishes a version: its number, and `sha256:` with the digest of the zip."""

    number: int
    checksum: str


class KeptLog:
    """A log up to a verified state, in `folder`: texts in files, hashes and names in memory. One thread changes it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._tree = Tree()
        self._reading = LogReading()
        self._packages: dict[str, dict[str, LoggedPackage]] = {}
        self._withdrawing: list[int] = []
        self._state: tuple[SeenLog | None, int] = None, 0
        self._ahead: LogReading | None = None

    @classmethod
    def read(cls, folder: Path) -> "KeptLog":
        """Return the log in a folder, an empty one if there is none. Raises LogDamaged, OSError."""
        log = cls(folder)
        log.catch_up()
        return log

    def catch_up(self) -> None:
        """Take over what another process has written. Raises LogDamaged, OSError."""
        try:
            seen = self._written()
            if seen is None:
                return
            state = Verifier(seen.key).read(seen.checkpoint)
            if self.seen is None or state.size > self.size:
                self._take(seen, state, self._stored(self.size, state.size))
        except FileNotFoundError:
            raise LogDamaged("a file of the kept log is missing") from None
        except (*_UNREADABLE, LogRefused) as error:
            raise LogDamaged(f"the kept log was changed: {error}") from None

    def _written(self) -> SeenLog | None:
        """Return the state on disk."""
        body = read_checked(self._folder / _STATE)
        return None if body is None else msgspec.json.decode(body, type=SeenLog)

    @property
    def seen(self) -> SeenLog | None:
        """The key of the log and its signed state, None if it was never read."""
        return self._state[0]

    @property
    def size(self) -> int:
        """The number of entries."""
        return self._state[1]

    def signed(self) -> tuple[str, int]:
        """Return the signed state as a note, empty if there is none, and the number of its entries."""
        seen, size = self._state
        return (seen.checkpoint if seen else ""), size

    @staticmethod
    def stamp(folder: Path) -> tuple[int, int]:
        """Return what changes when a process has written a new state."""
        try:
            status = (folder / _STATE).stat()
        except FileNotFoundError:
            return 0, 0
        return status.st_mtime_ns, status.st_ino

    def extend(self, verifier: Verifier, note: str, texts: Sequence[str]) -> None:
        """Add the next entries, up to a state that the registry has signed, and write them.

        Raises LogRefused if they are not those of the state, OSError; both leave the state of before.
        """
        state, seen = verifier.read(note), SeenLog(key=verifier.text, checkpoint=note)
        self._check(state, texts)
        (self._folder / _BUNDLES).mkdir(parents=True, exist_ok=True)
        with only_writer(self._folder / _STATE):
            if not (self.size and self._has_written(verifier, state)):
                self._write(texts)
                write_checked(self._folder / _STATE, msgspec.json.encode(seen))
        self._take(seen, state, texts)

    def foresee(self, verifier: Verifier, note: str, texts: Sequence[str]) -> None:
        """Note what the next entries withdraw, up to a signed state, which cannot be kept. Raises LogRefused."""
        self._ahead = self._check(verifier.read(note), texts)

    def _has_written(self, verifier: Verifier, state: LogCheckpoint) -> bool:
        """Return whether another process has written this state or a later one."""
        try:
            written = self._written()
            return written is not None and verifier.read(written.checkpoint).size >= state.size
        except _UNREADABLE:
            return False

    def refresh(self, note: str) -> None:
        """Take a later signature of the same state, in memory only."""
        seen, size = self._state
        if seen is not None:
            self._state = SeenLog(key=seen.key, checkpoint=note), size

    def _check(self, state: LogCheckpoint, texts: Sequence[str]) -> LogReading:
        """Return what is withdrawn after these entries. Raises LogRefused unless they lead to a state."""
        if state.size > MAX_ENTRIES:
            raise LogRefused(f"the log has more than {MAX_ENTRIES:,} entries, the most that a mirror keeps")
        former = self._reading
        reading = LogReading(size=former.size, subtrees=list(former.subtrees), withdrawn=dict(former.withdrawn))
        for text in texts:
            if not text.isascii() or "\n" in text or len(text) > _ENTRY_CHARACTERS:
                raise LogRefused("an entry of the log is not one line of ASCII")
            reading.append(text)
        if reading.size != state.size or (reading.root() if reading.size else EMPTY) != state.root:
            raise LogRefused("the entries of the log are not those that its registry has signed")
        return reading

    def _take(self, seen: SeenLog, state: LogCheckpoint, texts: Sequence[str]) -> None:
        self._reading, self._ahead = self._check(state, texts), None
        for text in texts:
            self._note(self._tree.size, text)
            self._tree.append(leaf_hash(text.encode()))
        self._state = seen, state.size

    def _note(self, number: int, text: str) -> None:
        try:
            entry = msgspec.json.decode(text, type=LogEntry)
            if entry.kind == "publish":
                named = (entry.skill_id, entry.version, entry.sha256)
                skill_id, version, checksum = msgspec.convert(named, tuple[SkillId, Version, Checksum])
                if "/" in skill_id:
                    self._packages.setdefault(skill_id, {}).setdefault(version, LoggedPackage(number, checksum))
            elif entry.kind in WITHDRAWALS:
                self._withdrawing.append(number)
        except (msgspec.DecodeError, msgspec.ValidationError):  # of a kind that a later release knows
            return

    def _write(self, texts: Sequence[str]) -> None:
        first = self.size - self.size % BUNDLE_ENTRIES
        entries = [*self._stored(first, self.size), *texts]
        for start in range(0, len(entries), BUNDLE_ENTRIES):
            bundle = write_bundle(entries[start : start + BUNDLE_ENTRIES])
            replace_file(self._bundle(first + start), bundle)

    def _bundle(self, number: int) -> Path:
        return self._folder / _BUNDLES / f"{number // BUNDLE_ENTRIES:06d}"

    def _stored(self, start: int, end: int) -> list[str]:
        """Return the entries from one number up to another. Raises OSError, LogRefused."""
        stored_lines: list[str] = []
        while start < end:
            first = start - start % BUNDLE_ENTRIES
            last = min(end, first + BUNDLE_ENTRIES)
            with self._bundle(start).open("rb") as file:
                lines = file.read(_BUNDLE_BYTES).decode("ascii", "replace").split("\n")[:-1]
            if len(lines) < last - first:
                raise LogRefused("a file of its entries is cut off")
            stored_lines += lines[start - first : last - first]
            start = last
        return stored_lines

    def entries(self, start: int, limit: int) -> list[str]:
        """Return at most `limit` entries from number `start` on. Raises LogDamaged if they were changed since."""
        end = min(self.size, start + limit)
        try:
            texts = self._stored(start, end)
        except (OSError, LogRefused) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise LogDamaged(f"the kept log cannot be read: {reason}") from None
        for number, text in enumerate(texts, start=start):
            if leaf_hash(text.encode()) != self._tree.subtree(0, number):
                raise LogDamaged(f"the kept entry {number} of the log was changed")
        return texts

    def inclusion(self, number: int, size: int) -> list[Hash]:
        """Return the inclusion proof of an entry in the first `size` entries. Raises ValueError."""
        return inclusion_proof(number, size, self._tree.subtree)

    def consistency(self, before: int, size: int) -> list[Hash]:
        """Return the consistency proof from the first `before` entries to the first `size`. Raises ValueError."""
        return consistency_proof(before, size, self._tree.subtree)

    def packages(self, skill_id: str) -> dict[str, LoggedPackage]:
        """Return what was published of a skill, by version."""
        return self._packages.get(skill_id, {})

    def releases(self) -> Iterator[tuple[str, str, LoggedPackage]]:
        """Yield all that was published: id, version and package."""
        for skill_id, versions in self._packages.items():
            for version, package in versions.items():
                yield skill_id, version, package

    def skills(self) -> list[str]:
        """Return the ids of all skills of which a version was published."""
        return list(self._packages)

    def file_names(self) -> list[str]:
        """Return the paths of the files of the log below its folder."""
        bundles = range(0, self.size, BUNDLE_ENTRIES)
        return [_STATE, *(self._bundle(number).relative_to(self._folder).as_posix() for number in bundles)]

    def root(self, size: int) -> Hash:
        """Return the root of the first `size` entries."""
        return root(size, self._tree.subtree)

    def is_revoked(self, skill_id: str, version: str) -> bool:
        """Return whether a version is revoked."""
        return is_revoked(self.withdrawal(skill_id, version))

    def withdrawal(self, skill_id: str, version: str) -> Withdrawn | None:
        """Return how a version, or all of its skill, is withdrawn."""
        return (self._ahead or self._reading).of(skill_id, version)

    def withdrawing(self, after: int, limit: int) -> list[tuple[int, str]]:
        """Return number and text of at most `limit` entries that withdraw or restore something, beyond `after`.

        Raises LogDamaged.
        """
        numbers = [number for number in self._withdrawing if number > after][:limit]
        return [(number, self.entries(number, 1)[0]) for number in numbers]
