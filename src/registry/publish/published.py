"""Published versions, which are never deleted, and the skills that the catalog shows for them."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Literal

import msgspec

from registry.catalog.record_skills import SOURCE
from registry.catalog.skill_rows import Dates
from registry.catalog.store import Catalog
from registry.db import Database, Reader, Transaction
from registry.domain.findings import Finding, SkillFindings, risk
from registry.domain.models import Skill, version_parts
from registry.errors import forbidden, skill_not_found
from registry.findings.engine import CURRENT_RULES
from registry.inspection.inspector import InspectedPackage
from registry.packages.update_diff import Footprint, update_findings
from registry.parsing.frontmatter import read
from registry.parsing.yaml_text import Value
from registry.publish.lookalikes import lookalike, skeleton
from registry.transparency.log import Kind, LogEntry, TransparencyLog

VersionState = Literal["active", "yanked", "revoked"]

_COLUMNS = "skill_id, version, state, checksum, size, published_at, record, skill_file"
_LOG_KINDS: Mapping[VersionState, Kind] = MappingProxyType({"active": "unyank", "yanked": "yank", "revoked": "revoke"})
LOGGED_STATES: Mapping[Kind, VersionState] = MappingProxyType(
    {"publish": "active", "unyank": "active", "yank": "yanked", "revoke": "revoked"}
)
"""The state of a version after each kind of entry in the log."""

_NEWEST_FIRST = "order by major desc, minor desc, patch desc"


class PublishedRecord(msgspec.Struct, kw_only=True):
    """The stored data of a package. `tree` is the digest of its unpacked files, `files` their paths and sizes.

    `findings` are those in its texts. `notes` are findings from a comparison with earlier versions and other skills.
    """

    title: str
    description: str
    author: str
    license: str | None
    tags: list[str]
    capabilities: list[str]
    tree: str
    findings: SkillFindings
    files: list[tuple[str, int]]
    footprint: Footprint = msgspec.field(name="reach")
    notes: list[Finding] = msgspec.field(default_factory=list)

    @classmethod
    def of(cls, inspected: InspectedPackage) -> "PublishedRecord":
        """Return the stored data of an inspected package."""
        package, footprint = inspected
        copied = ("title", "description", "author", "license", "tags", "capabilities", "findings")
        files = [(file.path, file.size) for file in package.files]
        fields = {name: getattr(package, name) for name in copied}
        return cls(**fields, tree=package.digest, files=files, footprint=footprint)

    def all_findings(self) -> SkillFindings:
        """Return the findings and the notes, with their common risk."""
        findings = [*self.notes, *self.findings.findings]
        return msgspec.structs.replace(self.findings, risk=risk(findings), findings=findings)


class PublishedVersion(msgspec.Struct, kw_only=True):
    """One published version. `checksum` is `sha256:` and the digest of the zip, `skill_file` the text of SKILL.md."""

    skill_id: str
    version: str
    state: VersionState = "active"
    checksum: str
    size: int
    published_at: str
    record: PublishedRecord
    skill_file: str

    @property
    def key(self) -> str:
        """The key of the zip in the blob store (contract, section 6, *Blobs*)."""
        return f"skills/{self.skill_id}-{self.version}.zip"


class PublishedVersions:
    """Reads and writes published versions, and updates their skills in the catalog.

    A skill in the catalog shows the highest active version. Without an active version there is no skill, but its
    versions remain known and cannot be published again.
    """

    def __init__(self, database: Database, catalog: Catalog, log: TransparencyLog) -> None:
        self._database = database
        self._catalog = catalog
        self._log = log

    def find(self, skill_id: str, version: str) -> PublishedVersion:
        """Return a version in any state. Raises SKILL_NOT_FOUND."""
        rows = self._database.read(
            f"select {_COLUMNS} from published where skill_id = ? and version = ?", (skill_id, version)
        )
        if not rows:
            raise skill_not_found(skill_id, version)
        return _version(rows[0])

    def is_published(self, skill_id: str) -> bool:
        """Return whether any version of a skill was ever published."""
        return bool(self._database.read("select 1 from published where skill_id = ? limit 1", (skill_id,)))

    def has(self, reader: Reader, skill_id: str, version: str) -> bool:
        """Return whether this version was ever published."""
        sql = "select 1 from published where skill_id = ? and version = ?"
        return bool(reader.read(sql, (skill_id, version)))

    def versions(self, skill_id: str) -> list[PublishedVersion]:
        """Return every version of a skill, the oldest first."""
        sql = f"select {_COLUMNS} from published where skill_id = ? order by major, minor, patch"
        return [_version(row) for row in self._database.read(sql, (skill_id,))]

    def skill_ids(self) -> list[str]:
        """Return the ids of every skill that was ever published."""
        return [row[0] for row in self._database.read("select distinct skill_id from published order by 1")]

    def add(self, transaction: Transaction, version: PublishedVersion) -> int:
        """Add a version with its notes, and return the revision of the index file that lists it."""
        self._log.append(transaction, _entry("publish", version))
        return self.replay_publish(transaction, version)

    def replay_publish(self, transaction: Transaction, version: PublishedVersion) -> int:
        """Do the same for a version that the log has already."""
        version.record.notes = self.notes(transaction, version)
        transaction.execute(
            "insert into published (skill_id, skeleton, version, major, minor, patch, state,"
            " checksum, size, published_at, record, skill_file)"
            " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
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
        where = "where skill_id = ? and version = ?"
        with self._database.write() as transaction:
            rows = transaction.read(f"select {_COLUMNS} from published {where}", (skill_id, version))
            if not rows:
                raise skill_not_found(skill_id, version)
            record = msgspec.structs.replace(_version(rows[0]).record, findings=findings)
            encoded = msgspec.json.encode(record).decode()
            transaction.execute(f"update published set record = ? {where}", (encoded, skill_id, version))
            self.update_catalog(transaction, skill_id)

    def set_state(self, skill_id: str, versions: Iterable[str] | None, state: VersionState) -> None:
        """Yank, unyank or revoke the given versions of a skill, or all active ones.

        Raises SKILL_NOT_FOUND, and FORBIDDEN for a revoked version, whose state is final.
        """
        with self._database.write() as transaction:
            rows = transaction.read("select version, state from published where skill_id = ?", (skill_id,))
            before: dict[str, VersionState] = dict(rows)
            chosen = [version for version, known in rows if known == "active"] if versions is None else list(versions)
            for version in chosen:
                if version not in before:
                    raise skill_not_found(skill_id, version)
                if before[version] == "revoked" and state != "revoked":
                    raise forbidden(f"Version {version} of skill '{skill_id}' is revoked permanently")
                if before[version] != state:
                    self._set_state(transaction, skill_id, version, state)
            transaction.touched += [f"{skill_id}@{version} {state}" for version in chosen]
            if any(before[version] != state for version in chosen):
                self._schedule_push(transaction, skill_id)

    def _set_state(self, transaction: Transaction, skill_id: str, version: str, state: VersionState) -> None:
        changed = self._store_state(transaction, skill_id, version, state)
        self._log.append(transaction, _entry(_LOG_KINDS[state], changed))

    def replay_state(self, transaction: Transaction, skill_id: str, version: str, state: VersionState) -> None:
        """Set the state of a version to the one that the log has already."""
        self._store_state(transaction, skill_id, version, state)
        self._schedule_push(transaction, skill_id)

    def _store_state(
        self, transaction: Transaction, skill_id: str, version: str, state: VersionState
    ) -> PublishedVersion:
        sql = f"update published set state = ? where skill_id = ? and version = ? returning {_COLUMNS}"
        return _version(transaction.read(sql, (state, skill_id, version))[0])

    def _schedule_push(self, transaction: Transaction, skill_id: str) -> int:
        self.update_catalog(transaction, skill_id)
        sql = (
            "insert into index_files (skill_id, wanted, pushed) values (?, 1, 0)"
            " on conflict (skill_id) do update set wanted = index_files.wanted + 1 returning wanted"
        )
        return int(transaction.read(sql, (skill_id,))[0][0])

    def update_catalog(self, transaction: Transaction, skill_id: str) -> None:
        """Make the catalog show the active versions of a skill."""
        rows = transaction.read(
            f"select {_COLUMNS} from published where skill_id = ? and state = 'active' {_NEWEST_FIRST}", (skill_id,)
        )
        stored = self._catalog.find(transaction, skill_id)
        if not rows:
            if stored is not None:
                self._catalog.delete(transaction, stored.key)
            return
        active = [_version(row) for row in rows]
        if stored is not None:
            listed = set(self._catalog.all_versions(transaction, stored.key))
            for removed in listed - {version.version for version in active}:
                self._catalog.delete_version(transaction, stored.key, removed)
        document = read(active[0].skill_file)
        skill = _skill(active[0], document.fields, enabled=stored is None or stored.skill.enabled)
        first = transaction.read("select min(published_at) from published where skill_id = ?", (skill_id,))[0][0]
        dates = Dates(first, active[0].published_at)
        saved = self._catalog.save(transaction, skill, document.body, dates=dates)
        key = stored.key if stored is not None else self._catalog.get_for_update(transaction, saved.id, None).key
        self._catalog.set_version_changes(transaction, key, active[0].version, changes_of(active[0]))
        for older in active[1:]:
            text, changes = older.record.description, changes_of(older)
            self._catalog.add_version(transaction, key, older.version, text, changes, older.published_at)


def _entry(kind: Kind, version: PublishedVersion) -> LogEntry:
    return LogEntry(
        kind=kind,
        skill_id=version.skill_id,
        version=version.version,
        sha256=version.checksum,
        digest=version.record.tree,
    )


def _version(row: tuple[Any, ...]) -> PublishedVersion:
    values = dict(zip(_COLUMNS.split(", "), row, strict=True))
    values["record"] = msgspec.json.decode(values["record"], type=PublishedRecord)
    return PublishedVersion(**values)


def changes_of(version: PublishedVersion) -> list[str]:
    """Return the changes of a version, as sentences."""
    return [note.message for note in version.record.notes if note.kind == "quality_warning"]


def _skill(version: PublishedVersion, fields: Mapping[str, Value], *, enabled: bool) -> Skill:
    record, metadata = version.record, fields.get("metadata")
    return Skill(
        id=version.skill_id,
        name=record.title,
        description=record.description,
        version=version.version,
        author=record.author,
        tags=record.tags,
        capabilities=record.capabilities,
        enabled=enabled,
        skill_file="SKILL.md",
        scope=version.skill_id.partition("/")[0],
        source=SOURCE,
        source_type="zip",
        installed=False,
        license=record.license,
        digest=version.checksum,
        findings=record.all_findings(),
        metadata=metadata if isinstance(metadata, dict) else {},
    )
