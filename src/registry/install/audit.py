"""Asks the registries of a lock what they have withdrawn of it since: lock, checkpoint, and every entry in between.

Each locked release has its log entry and a checkpoint. A reading begins at the earliest of these entries and ends at
the current checkpoint. Its entries must give the root that the registry has signed, and on the way the root of each
locked checkpoint: so the log has only grown, and no entry is left out. What was deprecated before that comes from the
list of advisories, each with its own proof.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from registry.domain.findings import Risk, rules_of
from registry.domain.models import timestamp
from registry.domain.origins import RegistryOrigin
from registry.domain.withdrawals import Withdrawn
from registry.outbound import OutboundError
from registry.packages.package import read_folder
from registry.packages.refusal import PackageRefused
from registry.project.lock_file import LockedSkill
from registry.skill_folder import has_digest
from registry.sources.remote_registry import RemoteRegistry
from registry.transparency.checkpoint import CheckpointInvalid, LogCheckpoint, Verifier
from registry.transparency.log_reading import LogReading
from registry.transparency.merkle import Hash, is_included, leaf_hash
from registry.transparency.release_proof import ProofInvalid, check_release, decode_hashes, describe

OpenRegistry = Callable[[str], RemoteRegistry]
"""Returns the registry at a URL. Raises OutboundError."""

_SKEW = timedelta(minutes=5)
"""How far the clock of a registry may be ahead."""


class WithdrawnSkill(msgspec.Struct, kw_only=True):
    """A locked skill that its registry has withdrawn. `agent_folders` are those that have a copy of it, or a link."""

    id: str
    version: str
    registry: str
    withdrawn: Withdrawn
    agent_folders: list[str] = msgspec.field(default_factory=list)


class AuditedLog(msgspec.Struct, kw_only=True):
    """A registry that was asked: the number of entries of its log, and when it signed that they are all."""

    registry: str
    size: int
    at: str | None
    skills: int


class ChangedFindings(msgspec.Struct, kw_only=True):
    """A locked skill in which the rules of today find something else than those of its installation.

    Args:
        id: The skill.
        version: Its version.
        before: The risk in the lock.
        risk: The risk now.
        new: The rules that find something now and did not.
        gone: The rules that found something and do not now.
    """

    id: str
    version: str
    before: Risk
    risk: Risk
    new: list[str]
    gone: list[str]


class AuditReport(msgspec.Struct, kw_only=True):
    """What the registries of a lock say of it.

    Args:
        skills: The number of locked skills, and of those that are from registries.
        from_registries: The number of those that are from registries.
        withdrawn: Those that were withdrawn.
        unclear: What cannot be told, with the reason, by registry or skill.
        logs: The logs that were read.
        changed: Skills in which other things are found than when they were locked.
    """

    skills: int
    from_registries: int = 0
    withdrawn: list[WithdrawnSkill] = msgspec.field(default_factory=list)
    unclear: dict[str, str] = msgspec.field(default_factory=dict)
    logs: list[AuditedLog] = msgspec.field(default_factory=list)
    changed: list[ChangedFindings] = msgspec.field(default_factory=list)


def changed_findings(locked: Sequence[LockedSkill], skills_dir: Path) -> Iterator[ChangedFindings]:
    """Yield the locked skills with other findings than when they were locked. Folders that differ are left out.

    Raises OSError.
    """
    for skill in locked:
        folder = skills_dir / skill.path
        if skill.log is None or skill.log.risk is None or not folder.is_dir():
            continue
        if not has_digest(folder, f"sha256:{skill.sha256}"):
            continue
        with tempfile.TemporaryDirectory(prefix="skill-registry-audit-") as place:
            try:
                report = read_folder(folder, Path(place) / "skill", named=folder.name).findings
            except PackageRefused:
                continue  # by rules of this release that say nothing about its texts
        now, before = set(rules_of(report)), set(skill.log.rules)
        if (report.risk, now) != (skill.log.risk, before):
            yield ChangedFindings(
                id=skill.id,
                version=skill.version,
                before=skill.log.risk,
                risk=report.risk,
                new=sorted(now - before),
                gone=sorted(before - now),
            )


class _Unclear(Exception):
    """What a registry answers proves nothing; the message says why."""


class Auditor:
    """Asks registries. `trusted` is the key of the log; by default each entry of the lock has one.

    `max_age` is the greatest age of a checkpoint; None for any.
    """

    def __init__(
        self, open_registry: OpenRegistry, max_age: timedelta | None, now: datetime, trusted: Verifier | None = None
    ) -> None:
        self._open = open_registry
        self._max_age = max_age
        self._now = now
        self._trusted = trusted

    def audit(self, locked: Sequence[LockedSkill]) -> AuditReport:
        """Return what the registries of the locked skills say of them. A failure is part of the report."""
        report = AuditReport(skills=len(locked))
        by_registry: dict[str, list[LockedSkill]] = {}
        for skill in locked:
            if isinstance(skill.origin, RegistryOrigin):
                by_registry.setdefault(skill.origin.url, []).append(skill)
        for url, skills in by_registry.items():
            report.from_registries += len(skills)
            try:
                self._ask(report, url, skills)
            except (_Unclear, ProofInvalid, CheckpointInvalid, OutboundError, IndexError) as error:
                report.unclear[url] = str(error) if not isinstance(error, IndexError) else _NOT_SIGNED
        return report

    def _ask(self, report: AuditReport, url: str, skills: Sequence[LockedSkill]) -> None:
        proven = [skill for skill in skills if skill.log is not None]
        for skill in skills:
            if skill.log is None:
                report.unclear[skill.id] = "the lock has no proof that it was published: install it again"
        if not proven:
            return
        registry, verifier = self._open(url), self._verifier(proven)
        seen = {state.size: state for skill in proven if (state := _locked_state(skill, verifier))}
        note = registry.checkpoint()
        current = _current(verifier, note)
        at = self._checked_time(verifier, note)
        _check_sizes(seen, current)
        reading = _read(registry, verifier, proven, seen, current)
        report.logs.append(AuditedLog(registry=url, size=current.size, at=at, skills=len(proven)))
        for skill in proven:
            withdrawn = reading.of(skill.logged.skill_id, skill.version)
            if withdrawn is not None:
                entry = WithdrawnSkill(id=skill.id, version=skill.version, registry=url, withdrawn=withdrawn)
                report.withdrawn.append(entry)

    def _verifier(self, skills: Sequence[LockedSkill]) -> Verifier:
        if self._trusted is not None:
            return self._trusted
        keys = {skill.log.key for skill in skills if skill.log is not None}
        if len(keys) > 1:
            raise _Unclear(f"the lock has several keys of its log: {', '.join(sorted(keys))}")
        return Verifier(keys.pop())

    def _checked_time(self, verifier: Verifier, note: str) -> str | None:
        """Return when the registry signed its checkpoint. Raises _Unclear if that is too long ago."""
        seconds = verifier.time(note)
        if seconds is None:
            if self._max_age is not None:
                raise _Unclear(
                    "its checkpoint has no time, so it may be an old copy: upgrade the registry, or give --max-age any"
                )
            return None
        moment = datetime.fromtimestamp(seconds, UTC)
        if self._max_age is not None and not moment - _SKEW <= self._now <= moment + self._max_age:
            raise _Unclear(f"its checkpoint is of {timestamp(moment)}: it is an old copy, or a clock is wrong")
        return timestamp(moment)


_NOT_SIGNED = "the entries of its log are not those that it has signed: the log was forked or changed"


def _locked_state(skill: LockedSkill, verifier: Verifier) -> LogCheckpoint | None:
    """Return the state of the log in the lock, which includes the release. Raises ProofInvalid, _Unclear."""
    if skill.log is None:
        return None
    if skill.log.key != verifier.text:
        raise _Unclear(f"the lock has the log key {skill.log.key}, not {verifier.text}")
    return check_release(skill.log, verifier, skill.logged)


def _current(verifier: Verifier, note: str) -> LogCheckpoint:
    state = verifier.read(note)
    if state.origin != verifier.name:
        raise _Unclear(f"its checkpoint is of another log, {state.origin[:100]}")
    return state


def _check_sizes(seen: Mapping[int, LogCheckpoint], current: LogCheckpoint) -> None:
    """Raise _Unclear if the log has fewer entries than the lock has seen."""
    last = seen[max(seen)]
    if current.size < last.size:
        raise _Unclear(
            f"its log was rolled back or is an old copy: the lock has {describe(last)}, it shows {describe(current)}"
        )


def _read(
    registry: RemoteRegistry,
    verifier: Verifier,
    skills: Sequence[LockedSkill],
    seen: Mapping[int, LogCheckpoint],
    current: LogCheckpoint,
) -> LogReading:
    """Return the reading of the log from the first entry of the locked releases on. Raises _Unclear, OutboundError."""
    first = min(skill.log.number for skill in skills if skill.log is not None)
    reading = LogReading.before(first, registry.inclusion(first, first + 1))
    for text in _before(registry, verifier, first):
        reading.follow(text)
    for text in _entries(registry, first, current.size):
        reading.append(text)
        locked = seen.get(reading.size)
        if locked is not None and reading.root() != locked.root:
            raise _Unclear(f"its log was forked: the lock has {describe(locked)}, which is not part of its log")
    if reading.root() != current.root:
        raise _Unclear(_NOT_SIGNED)
    return reading


def _entries(registry: RemoteRegistry, start: int, size: int) -> Iterator[str]:
    while start < size:
        texts = registry.log_entries(start)[: size - start]
        if not texts:
            raise _Unclear(f"its log shows {start} of {size} entries")
        yield from texts
        start += len(texts)


def _before(registry: RemoteRegistry, verifier: Verifier, first: int) -> Iterator[str]:
    """Yield the entries before the first one of the locked releases that withdraw or restore something."""
    after = 0
    while (page := registry.advisories(after)) is not None:
        state = _current(verifier, page.checkpoint)
        for advisory in page.advisories:
            if advisory.number >= first:
                return
            proof: list[Hash] = decode_hashes(advisory.proof)
            if not is_included(leaf_hash(advisory.entry.encode()), advisory.number, state.size, proof, state.root):
                raise _Unclear(_NOT_SIGNED)
            yield advisory.entry
        if page.complete or page.last <= after:
            return
        after = page.last
