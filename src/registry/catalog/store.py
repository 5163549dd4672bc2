"""The catalog of skills and their versions. One transaction writes a skill and the document that search indexes."""

import datetime
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import msgspec
from msgspec import UNSET

from registry.catalog.conditions import NO_CONDITIONS, Conditions
from registry.catalog.document_rows import former_document, put_document, remove_document
from registry.catalog.examples import put_author_examples
from registry.catalog.installs import delete_install, update_shadowing_of_folder
from registry.catalog.skill_rows import Dates, FolderState, former_row, insert_version, put_skill
from registry.database.counts import DISABLED, ENABLED, Listed, count_listed, total
from registry.db import Database, Reader, Row, Transaction
from registry.domain.models import Skill, SkillVersion, VersionItem, timestamp, version_parts
from registry.errors import conflict, skill_not_found

Clock = Callable[[], datetime.datetime]


class StoredSkill(NamedTuple):
    """A skill and its row in the catalog."""

    key: int
    skill: Skill
    folder: str | None
    fingerprint: str | None
    advertised: bool


_STORED = (
    "select s.key, s.detail, s.enabled, s.created_at, s.updated_at, d.number, s.folder, s.fingerprint, s.advertised"
    " from skills s join documents d on d.key = s.key"
)

_VERSION_ITEM = "s.id, v.version, v.description, v.created_at"
_VERSION = f"{_VERSION_ITEM}, v.changes"
_VERSIONS = "from skills s join versions v on v.key = s.key"
_NEWEST_FIRST = "order by v.major desc, v.minor desc, v.patch desc"


class Catalog:
    """Reads and writes skills. Changes in a transaction become visible and durable when it commits."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self.database = database
        self.clock = clock

    def get(self, skill_id: str) -> Skill:
        """Return a skill. Raises SKILL_NOT_FOUND."""
        return _single(self.database.read(f"{_STORED} where s.id = ?", (skill_id,)), skill_id).skill

    def find(self, reader: Reader, skill_id: str) -> StoredSkill | None:
        """Return the skill with this id; None if it does not exist."""
        rows = reader.read(f"{_STORED} where s.id = ?", (skill_id,))
        return _stored(rows[0]) if rows else None

    def find_at(self, reader: Reader, folder: str) -> StoredSkill | None:
        """Return the skill in this folder; None if there is none."""
        rows = reader.read(f"{_STORED} where s.folder = ?", (folder,))
        return _stored(rows[0]) if rows else None

    def get_for_update(
        self, transaction: Transaction, skill_id: str, conditions: Conditions = NO_CONDITIONS
    ) -> StoredSkill:
        """Return a skill that the transaction changes.

        Raises SKILL_NOT_FOUND, CONFLICT for a skill that a source only advertises, and FORBIDDEN or PRECONDITION_FAILED
        if it does not meet the conditions.
        """
        stored = _single(transaction.read(f"{_STORED} where s.id = ?", (skill_id,)), skill_id)
        if stored.advertised:
            raise conflict(f"Skill '{skill_id}' is not installed: install it before you change it")
        conditions.check(stored.skill)
        return stored

    def keys(self, skill_ids: Sequence[str]) -> dict[str, int]:
        """Return the keys of those skills that exist, by id."""
        placeholders = ", ".join("?" * len(skill_ids))
        return dict(self.database.read(f"select id, key from skills where id in ({placeholders})", skill_ids))

    def folder_fingerprints(self) -> dict[str, str]:
        """Return the fingerprints of all skill folders, by path."""
        # This matches all texts and uses the index. With `is not null` SQLite reads all skills.
        sql = "select folder, fingerprint from skills where folder >= ''"
        return dict(self.database.read(sql))

    def folder_ids(self) -> dict[str, str]:
        """Return the ids of all skill folders, by path."""
        return dict(self.database.read("select folder, id from skills where folder >= ''"))

    def has_without_folder(self, skill_id: str) -> bool:
        """Return whether a skill that has no folder has this id: a record, or one that a source advertises."""
        return bool(self.database.read("select 1 from skills where id = ? and folder is null", (skill_id,)))

    def has(self, skill_id: str) -> bool:
        """Return whether a skill with this id exists."""
        return bool(self.database.read("select 1 from skills where id = ?", (skill_id,)))

    def is_folder(self, skill_id: str) -> bool:
        """Return whether a skill has a folder in the skills directory. Raises SKILL_NOT_FOUND."""
        rows = self.database.read("select folder is not null from skills where id = ?", (skill_id,))
        if not rows:
            raise skill_not_found(skill_id)
        return bool(rows[0][0])

    def record_scope(self, skill_id: str) -> str | None:
        """Return the scope of a record; None if it has none, or if no record has this id."""
        sql = "select detail from skills where id = ? and folder is null and advertised = 0"
        rows = self.database.read(sql, (skill_id,))
        return msgspec.json.decode(rows[0][0], type=Skill).scope if rows else None

    def installed(self) -> list[StoredSkill]:
        """Return all skills with a folder in the skills directory, in order of id."""
        rows = self.database.read(f"{_STORED} where s.folder is not null order by s.id")
        return [_stored(row) for row in rows]

    def installed_version(self, skill_id: str) -> str | None:
        """Return the version of a skill with a folder in the skills directory; None if there is no such skill."""
        rows = self.database.read("select detail from skills where id = ? and folder is not null", (skill_id,))
        return msgspec.json.decode(rows[0][0], type=Skill).version if rows else None

    def save(
        self,
        transaction: Transaction,
        skill: Skill,
        body: str,
        folder: FolderState | None = None,
        *,
        advertised: bool = False,
        dates: Dates | None = None,
        files: Iterable[str] | None = None,
    ) -> Skill:
        """Create or replace a skill, its document and, if it is new, its version; return the skill as stored.

        `dates` are those of a new skill and a new version, now by default. `files` are the paths of the skill's files,
        None if they are unknown or the same as before.

        An `advertised` skill belongs to a source. It can be searched and read, but is not listed and cannot be changed.
        """
        transaction.touched.append(skill.id)
        now = timestamp(self.clock())
        document = former_document(transaction, skill.id)
        former = former_row(transaction, document.key) if document else None
        dates = dates or Dates(now, now)
        created_at, updated_at = former[:2] if former else (dates.skill, now)
        versions = self.all_versions(transaction, document.key) if document and former else ()
        skill = msgspec.structs.replace(
            skill,
            created_at=created_at,
            updated_at=max(now, updated_at),  # the clock may have been set back
            timeout=skill.execution_timeout,
            latest_version=max([skill.version, *versions], key=version_parts),
        )
        document = put_author_examples(transaction, document, skill, now)
        key, revision = put_document(transaction, document, skill.card(), skill.scope, body, files)
        skill = msgspec.structs.replace(skill, etag=_etag(revision))
        sequence = former.listed.sequence if former else revision
        listed = Listed(sequence, int(skill.enabled), int(advertised))
        put_skill(transaction, key, skill, folder, listed, former)
        insert_version(transaction, key, skill.version, skill.description, (), dates.version)
        update_shadowing_of_folder(transaction, folder.folder if folder else None)
        return skill

    def delete(self, transaction: Transaction, key: int) -> None:
        """Delete a skill, its versions, its install record and its document."""
        sql = "select id, folder, sequence, enabled, advertised from skills where key = ?"
        rows = transaction.read(sql, (key,))
        transaction.touched += [row[0] for row in rows]
        transaction.execute("delete from skills where key = ?", (key,))
        for _, folder, *listed in rows:
            count_listed(transaction, Listed(*listed), -1)
            if folder is not None:
                delete_install(transaction, folder)
        remove_document(transaction, key)

    def body(self, skill_id: str) -> str:
        """Return the text below a skill's front matter. Raises SKILL_NOT_FOUND."""
        rows = self.database.read(
            "select b.body from documents d join bodies b on b.key = d.key where d.id = ?", (skill_id,)
        )
        if not rows:
            raise skill_not_found(skill_id)
        return str(rows[0][0])

    def versions(self, skill_id: str, limit: int, offset: int) -> tuple[list[VersionItem], int]:
        """Return one page of a skill's versions, newest first, and their total number. Raises SKILL_NOT_FOUND."""
        total = self.database.read(f"select count(*) {_VERSIONS} where s.id = ?", (skill_id,))[0][0]
        if not total:  # every skill has a version
            raise skill_not_found(skill_id)
        rows = self.database.read(
            f"select {_VERSION_ITEM} {_VERSIONS} where s.id = ? {_NEWEST_FIRST} limit ? offset ?",
            (skill_id, limit, offset),
        )
        return [
            VersionItem(skill_id=row[0], version=row[1], description=row[2], created_at=row[3]) for row in rows
        ], total

    def version(self, skill_id: str, version: str) -> SkillVersion:
        """Return one version of a skill. Raises SKILL_NOT_FOUND, whose message says what does not exist."""
        rows = self.database.read(
            f"select {_VERSION}, s.detail {_VERSIONS} where s.id = ? and v.version = ?", (skill_id, version)
        )
        if not rows:
            self.get(skill_id)
            raise skill_not_found(skill_id, version)
        skill_id, version, description, created_at, changes, detail = rows[0]
        skill = msgspec.json.decode(detail, type=Skill)
        return SkillVersion(
            skill_id=skill_id,
            version=version,
            description=description,
            created_at=created_at,
            changes=msgspec.json.decode(changes, type=list[str]),
            dependencies=(skill.dependencies if version == skill.version else []) or UNSET,
        )

    def all_versions(self, transaction: Transaction, key: int) -> list[str]:
        """Return a skill's versions, newest first."""
        sql = f"select v.version {_VERSIONS} where v.key = ? {_NEWEST_FIRST}"
        return [row[0] for row in transaction.read(sql, (key,))]

    def add_version(
        self,
        transaction: Transaction,
        key: int,
        version: str,
        description: str,
        changes: Sequence[str],
        created_at: str | None = None,
    ) -> None:
        """Add a version to a skill, unless it exists; created now by default."""
        insert_version(transaction, key, version, description, changes, created_at or timestamp(self.clock()))

    def set_version_changes(self, transaction: Transaction, key: int, version: str, changes: Sequence[str]) -> None:
        """Set the changes of a version, unless `changes` is empty."""
        if changes:
            sql = "update versions set changes = ? where key = ? and version = ?"
            transaction.execute(sql, (msgspec.json.encode(changes).decode(), key, version))

    def delete_version(self, transaction: Transaction, key: int, version: str) -> None:
        """Delete a version of a skill."""
        transaction.execute("delete from versions where key = ? and version = ?", (key, version))

    def set_problems(self, transaction: Transaction, problems: dict[str, str]) -> None:
        """Replace the stored scan problems: the reason for each folder that could not be read."""
        transaction.execute("delete from scan_problems")
        transaction.execute_many("insert into scan_problems (path, reason) values (?, ?)", list(problems.items()))

    def problems(self) -> dict[str, str]:
        """Return the reason for each folder that could not be read, by path."""
        return dict(self.database.read("select path, reason from scan_problems order by path"))

    def warnings(self) -> dict[str, list[str]]:
        """Return the warnings about skills that are not advertised, by id; skills without warnings are omitted."""
        # The condition on the text is that of an index. Without the plus sign, SQLite would choose another index.
        sql = """select id, detail from skills where detail like '%"warnings":["%' and +advertised = 0 order by id"""
        rows = self.database.read(sql)
        warnings = {skill_id: msgspec.json.decode(detail, type=Skill).warnings for skill_id, detail in rows}
        return {skill_id: texts for skill_id, texts in warnings.items() if texts}

    def count(self) -> int:
        """Return the number of skills that are not advertised: folders, records and published skills."""
        return total(self.database, ENABLED, DISABLED)


def _single(rows: Sequence[Row], skill_id: str) -> StoredSkill:
    if not rows:
        raise skill_not_found(skill_id)
    return _stored(rows[0])


def _stored(row: Row) -> StoredSkill:
    key, detail, enabled, created_at, updated_at, revision, folder, fingerprint, advertised = row
    skill = msgspec.json.decode(detail, type=Skill)
    skill.enabled, skill.created_at, skill.updated_at = bool(enabled), created_at, updated_at
    skill.etag = _etag(revision)
    return StoredSkill(key, skill, folder, fingerprint, bool(advertised))


def _etag(revision: int) -> str:
    """Return the entity tag of a skill: the revision of its last change."""
    return f'"{revision:x}"'
