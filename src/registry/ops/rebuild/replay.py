"""Replays the log of a registry into an empty database, as its publishes and its other changes went once."""

import datetime
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec

from registry.blobs import BlobStore, BlobUnavailable, configured_store
from registry.catalog.store import Catalog
from registry.config.settings import Settings
from registry.database.table_roles import TABLE_ROLES
from registry.db import Database, Transaction
from registry.domain.models import now
from registry.ops.rebuild.packages import Packages, PackageUnusable, without_package
from registry.ops.rebuild.recorded import (
    IndexLine,
    RebuildRefused,
    Recorded,
    Release,
    published_at,
    read_log,
    read_skill,
    release_of,
)
from registry.ops.rebuild.target import Target
from registry.outbound.git_run import GitError
from registry.publish.git_index import GitIndex
from registry.publish.index_pusher import INDEX_HEAD
from registry.publish.published import LOGGED_STATES, PublishedVersions
from registry.publish.published_version import PublishedVersion
from registry.publish.service import git_index
from registry.transparency.checkpoint import Verifier
from registry.transparency.log import LogEntry, TransparencyLog

_NAMES_SHOWN = 10

Progress = Callable[[int, int], None]
"""Receives the number of replayed entries, and of all."""


def _strange(number: int, entry: LogEntry, subject: str) -> RebuildRefused:
    return RebuildRefused(
        f"entry {number} of the log says {entry.kind} of {subject}, which does not follow from those before it: no "
        "service of this log has written it"
    )


class RebuildReport(msgspec.Struct, kw_only=True):
    """What was rebuilt, and what was not.

    Attributes:
        entries: The number of entries of the log.
        versions: The number of versions by state.
        missing: The versions whose packages are missing, damaged or refused, each with the reason.
        not_in_log: Packages in the store, and lines of the index, of versions that the log does not know.
        set_aside: The file that the old database was moved to.
        lost: What only the old database had, each with how to get it back.
    """

    entries: int
    skills: int
    versions: dict[str, int]
    missing: dict[str, str]
    not_in_log: list[str]
    set_aside: str | None
    lost: dict[str, str]


class _Clock:
    """The time of the entry that is replayed, so that skills keep the times of their creation and change."""

    moment = now()

    def __call__(self) -> datetime.datetime:
        return self.moment


def rebuild(
    settings: Settings, verifier: Verifier, *, replace: bool, allow_missing: bool, progress: Progress
) -> RebuildReport:
    """Rebuild the database of a stopped registry, completely or not at all.

    Args:
        settings: The settings of the service.
        verifier: The public key that has signed the checkpoint in the index.
        replace: Set a SQLite database aside although it can be read.
        allow_missing: Continue although packages are missing. Their versions keep number, state and digest only.
        progress: Is called while the log is replayed.

    Raises RebuildRefused, DatabaseError, OSError.
    """
    target = Target(settings, replace=replace)
    try:
        target.check()
        store = configured_store(settings)
        with tempfile.TemporaryDirectory(prefix="skill-registry-index-") as folder:
            index = git_index(settings, Path(folder) / "index")
            index.prepare()
            replay = _Replay(settings, store, index, read_log(index, verifier))
        with target.opened() as database:
            replay.into(database, allow_missing=allow_missing, progress=progress)
    except (GitError, BlobUnavailable) as error:
        raise RebuildRefused(str(error)) from None
    return replay.report(target.set_aside)


class _Replay:
    """One replay of a recorded log. Reads the lines of all its skills at once. Raises RebuildRefused, OSError."""

    def __init__(self, settings: Settings, store: BlobStore, index: GitIndex, recorded: Recorded) -> None:
        self._settings = settings
        self._store = store
        self._recorded = recorded
        self._states: dict[Release, str] = {}
        for number, (_, entry) in enumerate(recorded.entries):
            self._follow(number, entry)
        by_skill: dict[str, list[Release]] = {}
        for release in self._states:
            by_skill.setdefault(release.skill_id, []).append(release)
        self._lines = {skill_id: read_skill(index, skill_id, releases) for skill_id, releases in by_skill.items()}
        self._missing: dict[str, str] = {}

    def _follow(self, number: int, entry: LogEntry) -> None:
        if entry.kind == "key":
            return
        if entry.version is None:
            if not any(release.skill_id == entry.skill_id for release in self._states):
                raise _strange(number, entry, str(entry.skill_id))
            return
        release = release_of(entry)
        if (entry.kind == "publish") is (release in self._states):
            raise _strange(number, entry, release.name)
        self._states[release] = LOGGED_STATES[entry.kind]

    def into(self, database: Database, *, allow_missing: bool, progress: Progress) -> None:
        """Fill an empty database. Raises RebuildRefused, BlobUnavailable, DatabaseError, OSError."""
        clock = _Clock()
        log = TransparencyLog(database, clock)
        published = PublishedVersions(database, Catalog(database, clock), log)
        entries = self._recorded.entries
        with closing(Packages(self._settings, self._store)) as packages, database.write() as transaction:
            for number, (text, entry) in enumerate(entries):
                clock.moment = datetime.datetime.fromisoformat(entry.at)
                log.replay(transaction, text)  # first, because a skill shows what the log says of it
                self._apply(transaction, published, packages, entry)
                progress(number + 1, len(entries))
            transaction.put_fact(INDEX_HEAD, self._recorded.head)
            self._refuse_missing(allow_missing=allow_missing)

    def _apply(
        self, transaction: Transaction, published: PublishedVersions, packages: Packages, entry: LogEntry
    ) -> None:
        if entry.kind == "key":
            return
        if entry.version is None:
            published.replay_deprecation(transaction, str(entry.skill_id))
            return
        release = release_of(entry)
        if entry.kind == "publish":
            published.replay_publish(transaction, self._version(packages, release, entry))
        else:
            published.replay_state(transaction, release.skill_id, release.version, LOGGED_STATES[entry.kind])

    def _version(self, packages: Packages, release: Release, entry: LogEntry) -> PublishedVersion:
        line: IndexLine | None = self._lines[release.skill_id].get(release.version)
        at = published_at(entry, line)
        try:
            version = packages.read(release, at)
        except PackageUnusable as reason:
            self._missing[release.name] = str(reason)
            version = without_package(release, (line and line.size) or 0, at)
        version.record.publisher = entry.publisher
        return version

    def _refuse_missing(self, *, allow_missing: bool) -> None:
        """Raise RebuildRefused if a package is missing that callers can still ask for."""
        needed = {release.name for release, state in self._states.items() if state != "revoked"}
        missing = [f"{name}: {reason}" for name, reason in self._missing.items() if name in needed]
        if missing and not allow_missing:
            more = f"; and {len(missing) - _NAMES_SHOWN} more" if len(missing) > _NAMES_SHOWN else ""
            raise RebuildRefused(
                f"{len(missing)} of {len(needed)} packages cannot be used ({'; '.join(missing[:_NAMES_SHOWN])}{more}). "
                "Restore them, or add --allow-missing: then nothing is left of these versions but number and digest"
            )

    def report(self, set_aside: Path | None) -> RebuildReport:
        """Return what was rebuilt. Raises BlobUnavailable."""
        states = list(self._states.values())
        return RebuildReport(
            entries=len(self._recorded.entries),
            skills=len(self._lines),
            versions={state: states.count(state) for state in ("active", "yanked", "revoked")},
            missing=self._missing,
            not_in_log=self._unknown(),
            set_aside=str(set_aside) if set_aside else None,
            lost={
                role.content: role.recovery for role in TABLE_ROLES.values() if role.recovery and not role.is_rebuilt
            },
        )

    def _unknown(self) -> list[str]:
        keys = {f"skills/{release.skill_id}-{release.version}.zip" for release in self._states}
        packages = [key for key in self._store.keys("skills/") if key not in keys]
        versions = {(release.skill_id, release.version) for release in self._states}
        lines = [
            f"{skill_id} {version} in the index"
            for skill_id, numbers in self._lines.items()
            for version in numbers
            if (skill_id, version) not in versions
        ]
        return sorted(packages) + sorted(lines)
