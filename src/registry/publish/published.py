"""Published versions, which are never deleted, and the skills that the catalog shows for them."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from registry.catalog.conditions import NO_CONDITIONS, Conditions
from registry.catalog.document_rows import renew_gone
from registry.catalog.installed_withdrawals import releases_of, set_withdrawn
from registry.catalog.record_skills import SOURCE
from registry.catalog.skill_rows import Dates
from registry.catalog.store import Catalog, StoredSkill
from registry.db import Database, Reader, Transaction, read_fact
from registry.domain.dependencies import SkillDependency
from registry.domain.findings import Finding, SkillFindings, Waiver
from registry.domain.models import timestamp, version_parts
from registry.domain.withdrawals import NO_NOTE, WithdrawalNote, Withdrawn, says_more
from registry.errors import forbidden, not_found, skill_not_found
from registry.findings.engine import CURRENT_RULES
from registry.packages.update_diff import update_findings
from registry.parsing.frontmatter import read
from registry.publish.lookalikes import lookalike, skeleton
from registry.publish.published_version import (
    PublishedRecord,
    PublishedVersion,
    RecordExcerpt,
    VersionState,
    VersionSummary,
    changes_of,
    skill_of,
)
from registry.transparency.log import Kind, LogEntry, TransparencyLog, deprecation_of, withdrawals_of

_COLUMNS = "skill_id, version, state, checksum, size, published_at, record, skill_file"
_LOG_KINDS: Mapping[VersionState, Kind] = MappingProxyType({"active": "unyank", "yanked": "yank", "revoked": "revoke"})
LOGGED_STATES: Mapping[Kind, VersionState] = MappingProxyType(
    {"publish": "active", "unyank": "active", "yank": "yanked", "revoke": "revoked"}
)
"""The state of a version after each kind of entry in the log that is about one."""

TellWithdrawal = Callable[[Transaction, int, LogEntry], None]
"""Told of each entry that withdraws or restores something, with its number, in the transaction that appends it."""

_NEWEST_FIRST = "order by major desc, minor desc, patch desc"


class PublishedVersions:
    """Reads and writes published versions, and updates their skills in the catalog.

    A skill in the catalog shows the highest active version. Without an active version there is no skill, but its
    versions remain known and cannot be published again.
    """

    def __init__(
        self,
        database: Database,
        catalog: Catalog,
        log: TransparencyLog,
        tell: TellWithdrawal = lambda transaction, number, entry: None,
    ) -> None:
        self._database = database
        self._catalog = catalog
        self._log = log
        self._tell = tell

    def find(self, skill_id: str, version: str) -> PublishedVersion:
        """Return a version in any state. Raises SKILL_NOT_FOUND."""
        return _found(self._database, skill_id, version)

    def is_published(self, skill_id: str) -> bool:
        """Return whether any version of a skill was ever published."""
        return bool(self._database.read("select 1 from published where skill_id = ? limit 1", (skill_id,)))

    def stored(self, reader: Reader, skill_id: str, version: str) -> tuple[VersionState, str] | None:
        """Return the state and the checksum of a version that was ever published, None for any other."""
        sql = "select state, checksum from published where skill_id = ? and version = ?"
        return next(((state, checksum) for state, checksum in reader.read(sql, (skill_id, version))), None)

    def summaries(self, skill_id: str) -> list[VersionSummary]:
        """Return what is known of every version of a skill without reading its record, the oldest first."""
        sql = "select version, state, checksum, size, dependencies from published where skill_id = ?"
        rows = self._database.read(f"{sql} order by major, minor, patch", (skill_id,))
        withdrawn = withdrawals_of(self._database, skill_id)
        return [
            VersionSummary(
                version,
                state,
                checksum,
                size,
                withdrawn.get(f"{skill_id}@{version}") or withdrawn.get(skill_id),
                msgspec.json.decode(dependencies, type=list[SkillDependency]),
            )
            for version, state, checksum, size, dependencies in rows
        ]

    def withdrawal(self, skill_id: str, version: str) -> Withdrawn | None:
        """Return how a version, or all of its skill, is withdrawn; None if it is not."""
        withdrawn = withdrawals_of(self._database, skill_id)
        return withdrawn.get(f"{skill_id}@{version}") or withdrawn.get(skill_id)

    def dependencies(self, skill_id: str, version: str) -> list[SkillDependency]:
        """Return what a version needs. Raises SKILL_NOT_FOUND."""
        sql = "select dependencies from published where skill_id = ? and version = ?"
        rows = self._database.read(sql, (skill_id, version))
        if not rows:
            raise skill_not_found(skill_id, version)
        return msgspec.json.decode(rows[0][0], type=list[SkillDependency])

    def newest_active(self, skill_id: str) -> str | None:
        """Return the highest active version of a skill, None without one."""
        sql = f"select version from published where skill_id = ? and state = 'active' {_NEWEST_FIRST} limit 1"
        rows = self._database.read(sql, (skill_id,))
        return str(rows[0][0]) if rows else None

    def logged_at(self, skill_id: str, version: str) -> str:
        """Return the time of the log entry that publishes a version, empty if there is none."""
        entry = self._log.publish_entry(skill_id, version)
        return msgspec.json.decode(entry[1], type=LogEntry).at if entry else ""

    def skill_ids(self) -> list[str]:
        """Return the ids of every skill that was ever published."""
        return [row[0] for row in self._database.read("select distinct skill_id from published order by 1")]

    def add(self, transaction: Transaction, version: PublishedVersion) -> int:
        """Add a version with its notes, and return the revision of the index file that lists it."""
        entry = _entry("publish", version.skill_id, version.version, version.checksum, version.record.tree)
        self._log.append(transaction, msgspec.structs.replace(entry, publisher=version.record.publisher))
        return self.replay_publish(transaction, version)

    def replay_publish(self, transaction: Transaction, version: PublishedVersion) -> int:
        """Do the same for a version that the log has already."""
        version.record.notes = self.notes(transaction, version)
        transaction.execute(
            "insert into published (skill_id, skeleton, version, major, minor, patch, state,"
            " checksum, size, published_at, record, skill_file, dependencies)"
            " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                version.skill_id,
                skeleton(version.skill_id),
                version.version,
                *version_parts(version.version),
                version.state,
                version.checksum,
                version.size,
                version.published_at,
                msgspec.json.encode(version.record).decode(),
                version.skill_file,
                msgspec.json.encode(version.record.dependencies).decode(),
            ),
        )
        return self._schedule_push(transaction, version.skill_id)

    def notes(self, reader: Reader, version: PublishedVersion) -> list[Finding]:
        """Return the findings from a comparison of a new version with earlier versions and other skills."""
        similar = lookalike(reader, version.skill_id)
        rows = reader.read(
            f"select {_COLUMNS} from published where skill_id = ? and (major, minor, patch) < (?, ?, ?)"
            f" {_NEWEST_FIRST} limit 1",
            (version.skill_id, *version_parts(version.version)),
        )
        before = _version(rows[0]) if rows else None
        changes = update_findings(before.record.footprint, version.record.footprint, before.version) if before else []
        return [*([similar] if similar else []), *changes]

    def outdated_findings(self, after: tuple[str, str], limit: int) -> list[tuple[str, str]]:
        """Return the next skill ids and versions, in order, with findings of other rules than the current ones.

        Revoked versions are skipped.
        """
        sql = (
            "select skill_id, version from published where (skill_id, version) > (?, ?) and state <> 'revoked'"
            " and record not like ? order by skill_id, version limit ?"
        )
        rows = self._database.read(sql, (*after, CURRENT_RULES, limit))
        return [(skill_id, version) for skill_id, version in rows]

    def set_findings(self, skill_id: str, version: str, findings: SkillFindings) -> None:
        """Replace the findings of a version and update the catalog. Raises SKILL_NOT_FOUND."""
        with self._database.write() as transaction:
            record = _found(transaction, skill_id, version).record
            self._store_record(transaction, skill_id, version, msgspec.structs.replace(record, findings=findings))

    def _store_record(self, transaction: Transaction, skill_id: str, version: str, record: PublishedRecord) -> None:
        sql = "update published set record = ? where skill_id = ? and version = ?"
        transaction.execute(sql, (msgspec.json.encode(record).decode(), skill_id, version))
        self.update_catalog(transaction, skill_id)

    def waive(self, skill_id: str, version: str, rule: str, file: str | None, by: str, reason: str) -> SkillFindings:
        """Waive the findings of a rule in a file of a version, and return all. Raises SKILL_NOT_FOUND, NOT_FOUND."""
        with self._database.write() as transaction:
            record = _found(transaction, skill_id, version).record
            waiver = Waiver(rule=rule, file=file, reason=reason, by=by, at=timestamp(self._catalog.clock()))
            if not any(waiver.covers(finding) for finding in record.all_findings().findings):
                raise not_found(f"Finding of rule '{rule}' in {file or 'the whole package'}")
            record.waivers = [*_without(record.waivers, rule, file), waiver]
            self._store_record(transaction, skill_id, version, record)
            transaction.touched.append(f"{skill_id}@{version} waived {rule} in {file or 'the package'}: {reason}")
            return record.all_findings()

    def unwaive(self, skill_id: str, version: str, rule: str, file: str | None) -> SkillFindings:
        """Remove a waiver, and return the findings of the version. Raises SKILL_NOT_FOUND, NOT_FOUND."""
        with self._database.write() as transaction:
            record = _found(transaction, skill_id, version).record
            left = _without(record.waivers, rule, file)
            if left == record.waivers:
                raise not_found(f"Waiver of rule '{rule}' in {file or 'the whole package'}")
            record.waivers = left
            self._store_record(transaction, skill_id, version, record)
            transaction.touched.append(f"{skill_id}@{version} counts {rule} in {file or 'the package'} again")
            return record.all_findings()

    def set_state(
        self,
        skill_id: str,
        versions: Iterable[str] | None,
        state: VersionState,
        conditions: Conditions = NO_CONDITIONS,
        note: WithdrawalNote = NO_NOTE,
    ) -> None:
        """Yank, unyank or revoke the given versions of a skill, or all active ones.

        A version that has the state already is logged again if the note says anything else than before.

        Raises SKILL_NOT_FOUND, FORBIDDEN or PRECONDITION_FAILED where the skill does not meet the conditions, and
        FORBIDDEN for a revoked version, whose state is final.
        """
        with self._database.write() as transaction:
            rows = transaction.read("select version, state from published where skill_id = ?", (skill_id,))
            before: dict[str, VersionState] = dict(rows)
            chosen = (
                [version for version, state_now in rows if state_now == "active"]
                if versions is None
                else list(versions)
            )
            for version in chosen:
                if version not in before:
                    raise skill_not_found(skill_id, version)
                if before[version] == "revoked" and state != "revoked":
                    raise forbidden(f"Version {version} of skill '{skill_id}' is revoked permanently")
            if versions is None or conditions.etags is not None:
                self._catalog.get_for_update(transaction, skill_id, conditions)
            withdrawals = withdrawals_of(transaction, skill_id)
            changed = [
                version
                for version in chosen
                if before[version] != state or says_more(note, withdrawals.get(f"{skill_id}@{version}"))
            ]
            for version in changed:
                self._set_state(transaction, skill_id, version, state, note)
            reason = f": {note.reason}" if note.reason else ""
            transaction.touched += [f"{skill_id}@{version} {state}{reason}" for version in chosen]
            if changed:
                self._schedule_push(transaction, skill_id)

    def _set_state(
        self, transaction: Transaction, skill_id: str, version: str, state: VersionState, note: WithdrawalNote
    ) -> None:
        checksum, record = self._store_state(transaction, skill_id, version, state)
        entry = _entry(_LOG_KINDS[state], skill_id, version, checksum, record.tree)
        self._append(transaction, entry, note)

    def _append(self, transaction: Transaction, entry: LogEntry, note: WithdrawalNote) -> None:
        if entry.withdrawn is not None:
            entry = msgspec.structs.replace(entry, reason=note.reason, replacement=note.replacement)
        self._tell(transaction, self._log.append(transaction, entry), entry)

    def set_deprecated(self, skill_id: str, note: WithdrawalNote | None) -> None:
        """Deprecate a skill for the reason in the note, or undo that without one. Raises SKILL_NOT_FOUND."""
        with self._database.write() as transaction:
            if not transaction.read("select 1 from published where skill_id = ? limit 1", (skill_id,)):
                raise skill_not_found(skill_id)
            before = deprecation_of(transaction, skill_id)
            reason = f": {note.reason}" if note and note.reason else ""
            transaction.touched.append(f"{skill_id} {'deprecated' if note else 'not deprecated'}{reason}")
            if (before is None) is (note is None) and (note is None or not says_more(note, before)):
                return
            kind: Kind = "undeprecate" if note is None else "deprecate"
            self._append(transaction, LogEntry(kind=kind, skill_id=skill_id), note or NO_NOTE)
            self._schedule_push(transaction, skill_id)

    def replay_state(self, transaction: Transaction, skill_id: str, version: str, state: VersionState) -> None:
        """Set the state of a version to the one that the log has already."""
        self._store_state(transaction, skill_id, version, state)
        self._schedule_push(transaction, skill_id)

    def replay_deprecation(self, transaction: Transaction, skill_id: str) -> None:
        """Show a skill as the log says already: deprecated, or not any more."""
        self._schedule_push(transaction, skill_id)

    def _store_state(
        self, transaction: Transaction, skill_id: str, version: str, state: VersionState
    ) -> tuple[str, RecordExcerpt]:
        """Set the state of a version and return its checksum and a part of its record."""
        sql = "update published set state = ? where skill_id = ? and version = ? returning checksum, record"
        ((checksum, record),) = transaction.read(sql, (state, skill_id, version))
        return checksum, msgspec.json.decode(record, type=RecordExcerpt)

    def _schedule_push(self, transaction: Transaction, skill_id: str) -> int:
        self.update_catalog(transaction, skill_id)
        self._mark_installed(transaction, skill_id)
        sql = (
            "insert into index_files (skill_id, wanted, pushed) values (?, 1, 0)"
            " on conflict (skill_id) do update set wanted = index_files.wanted + 1 returning wanted"
        )
        return int(transaction.read(sql, (skill_id,))[0][0])

    def _mark_installed(self, transaction: Transaction, skill_id: str) -> None:
        """Show on the versions of a skill that this service has installed from itself how they are withdrawn."""
        for installed in releases_of(transaction, SOURCE, skill_id):
            sql = "select version from published where skill_id = ? and checksum = ?"
            checksum = installed.record.release.sha256 if installed.record.release else ""
            versions = transaction.read(sql, (skill_id, checksum))
            withdrawn = withdrawals_of(transaction, skill_id)
            now = [withdrawn[name] for (version,) in versions if (name := f"{skill_id}@{version}") in withdrawn]
            set_withdrawn(transaction, self._catalog, installed, now[0] if now else withdrawn.get(skill_id))

    def update_catalog(self, transaction: Transaction, skill_id: str) -> None:
        """Make the catalog show the active versions of a skill.

        This costs the same however many versions there are: a record may be a megabyte, so of the older versions only
        those are read that the catalog lacks.
        """
        rows = transaction.read(
            f"select version from published where skill_id = ? and state = 'active' {_NEWEST_FIRST}", (skill_id,)
        )
        stored = self._catalog.find(transaction, skill_id)
        if not rows:
            if stored is not None:
                self._remember(transaction, stored)
                self._catalog.delete(transaction, stored.key)
            else:
                renew_gone(transaction, skill_id)  # followers that have installed it ask what has changed
            return
        active = [version for (version,) in rows]
        listed = set(self._catalog.all_versions(transaction, stored.key)) if stored is not None else set()
        if stored is not None:
            for removed in listed.difference(active):
                self._catalog.delete_version(transaction, stored.key, removed)
        newest = _found(transaction, skill_id, active[0])
        document = read(newest.skill_file)
        is_enabled, deprecated = self._is_enabled(transaction, skill_id, stored), deprecation_of(transaction, skill_id)
        skill = skill_of(newest, document.fields, enabled=is_enabled, deprecated=deprecated)
        first = transaction.read("select min(published_at) from published where skill_id = ?", (skill_id,))[0][0]
        dates = Dates(first, newest.published_at)
        saved = self._catalog.save(
            transaction, skill, document.body, dates=dates, files=[path for path, _ in newest.record.files]
        )
        key = stored.key if stored is not None else self._catalog.get_for_update(transaction, saved.id).key
        self._catalog.set_version_changes(transaction, key, newest.version, changes_of(newest.record))
        for version in active[1:]:
            if version not in listed:
                self._list_version(transaction, key, skill_id, version)

    def _list_version(self, transaction: Transaction, key: int, skill_id: str, version: str) -> None:
        """Add an older version to the catalog's list of versions."""
        sql = "select published_at, record from published where skill_id = ? and version = ?"
        ((published_at, encoded),) = transaction.read(sql, (skill_id, version))
        record = msgspec.json.decode(encoded, type=RecordExcerpt)
        self._catalog.add_version(transaction, key, version, record.description, changes_of(record), published_at)

    def _remember(self, transaction: Transaction, stored: StoredSkill) -> None:
        """Record whether a skill is disabled that loses its last active version."""
        if stored.skill.enabled or stored.advertised:
            transaction.delete_fact(_disabled(stored.skill.id))
        else:
            transaction.put_fact(_disabled(stored.skill.id), "")

    def _is_enabled(self, transaction: Transaction, skill_id: str, stored: StoredSkill | None) -> bool:
        """Return whether a skill is enabled, or was when it lost its last active version. Deletes that record."""
        was_disabled = read_fact(transaction, _disabled(skill_id)) is not None
        transaction.delete_fact(_disabled(skill_id))
        return not was_disabled if stored is None or stored.advertised else stored.skill.enabled


def _without(waivers: list[Waiver], rule: str, file: str | None) -> list[Waiver]:
    return [waiver for waiver in waivers if (waiver.rule, waiver.file) != (rule, file)]


def _disabled(skill_id: str) -> str:
    """Return the name of the fact that says that a skill without an active version was disabled."""
    return f"disabled:{skill_id}"


def _entry(kind: Kind, skill_id: str, version: str, checksum: str, tree: str) -> LogEntry:
    return LogEntry(kind=kind, skill_id=skill_id, version=version, sha256=checksum, digest=tree)


def _found(reader: Reader, skill_id: str, version: str) -> PublishedVersion:
    rows = reader.read(f"select {_COLUMNS} from published where skill_id = ? and version = ?", (skill_id, version))
    if not rows:
        raise skill_not_found(skill_id, version)
    return _version(rows[0])


def _version(row: tuple[Any, ...]) -> PublishedVersion:
    values = dict(zip(_COLUMNS.split(", "), row, strict=True))
    values["record"] = msgspec.json.decode(values["record"], type=PublishedRecord)
    return PublishedVersion(**values)
