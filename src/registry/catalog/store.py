"""The catalog: skills and their versions, kept with the documents search follows in one transaction."""

import datetime
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import msgspec

from registry.catalog.documents import ensure_document, put_document, remove_document
from registry.catalog.installs import delete_install, update_shadowing_of_folder
from registry.db import Database, Row, Transaction
from registry.domain.models import Skill, SkillVersion, VersionItem, timestamp, version_parts
from registry.errors import conflict, precondition_failed, skill_not_found

Clock = Callable[[], datetime.datetime]

ANY_ETAG = "*"


class FolderState(NamedTuple):
    """Where a skill's folder is, relative to the skills directory, and what it looked like when it was read."""

    folder: str
    fingerprint: str


class StoredSkill(NamedTuple):
    """A skill as the catalog keeps it."""

    key: int
    skill: Skill
    folder: str | None
    fingerprint: str | None
    advertised: bool


_STORED = (
    "select s.key, s.detail, s.enabled, s.created_at, s.updated_at, d.number, s.folder, s.fingerprint, s.advertised"
    " from skills s join documents d on d.key = s.key"
)

_VERSION = "s.id, v.version, v.description, v.created_at, v.changes"
_VERSIONS = "from skills s join versions v on v.key = s.key"
_NEWEST_FIRST = "order by v.major desc, v.minor desc, v.patch desc"


class Catalog:
    """Reads and writes skills. What takes a transaction becomes visible, and durable, when that commits."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self.database = database
        self._clock = clock

    def get(self, skill_id: str) -> Skill:
        """Return a skill in full. Raises SKILL_NOT_FOUND."""
        return _one(self.database.read(f"{_STORED} where s.id = ?", (skill_id,)), skill_id).skill

    def find(self, transaction: Transaction, skill_id: str) -> StoredSkill | None:
        """Return the skill with this id, if there is one."""
        rows = transaction.read(f"{_STORED} where s.id = ?", (skill_id,))
        return _stored(rows[0]) if rows else None

    def find_at(self, transaction: Transaction, folder: str) -> StoredSkill | None:
        """Return the skill whose folder this is, if there is one."""
        rows = transaction.read(f"{_STORED} where s.folder = ?", (folder,))
        return _stored(rows[0]) if rows else None

    def get_for_update(self, transaction: Transaction, skill_id: str, etags: Collection[str] | None) -> StoredSkill:
        """Return the skill to be changed.

        Raises SKILL_NOT_FOUND; CONFLICT where it is only advertised by a source; PRECONDITION_FAILED where `etags` lack
        its own.
        """
        stored = _one(transaction.read(f"{_STORED} where s.id = ?", (skill_id,)), skill_id)
        if stored.advertised:
            raise conflict(f"Skill '{skill_id}' is not installed: only its source can change it")
        if etags is not None and ANY_ETAG not in etags and stored.skill.etag not in etags:
            raise precondition_failed()
        return stored

    def folder_fingerprints(self) -> dict[str, str]:
        """Return the fingerprint of every skill folder, by its place."""
        # Every text there is; with `is not null` SQLite looks at all skills, of which few may be folders.
        sql = "select folder, fingerprint from skills where folder >= ''"
        return dict(self.database.read(sql))

    def is_folder(self, skill_id: str) -> bool:
        """Return whether a skill is a folder of the skills directory. Raises SKILL_NOT_FOUND."""
        rows = self.database.read("select folder is not null from skills where id = ?", (skill_id,))
        if not rows:
            raise skill_not_found(skill_id)
        return bool(rows[0][0])

    def installed(self) -> list[StoredSkill]:
        """Return every skill that is a folder below the skills directory, in order of id."""
        rows = self.database.read(f"{_STORED} where s.folder is not null order by s.id")
        return [_stored(row) for row in rows]

    def installed_version(self, skill_id: str) -> str | None:
        """Return the version of a skill that is a folder below the skills directory; None where there is none."""
        rows = self.database.read("select detail from skills where id = ? and folder is not null", (skill_id,))
        return msgspec.json.decode(rows[0][0], type=Skill).version if rows else None

    def cards(self, limit: int, offset: int, enabled: bool | None) -> tuple[list[bytes], int]:
        """Return one page of encoded cards of our own skills, oldest first, and how many there are in all."""
        where = " where s.advertised = 0" + ("" if enabled is None else " and s.enabled = ?")
        wanted = () if enabled is None else (int(enabled),)
        total = self.database.read(f"select count(*) from skills s{where}", wanted)[0][0]
        rows = self.database.read(
            f"select d.card from skills s join documents d on d.key = s.key{where} order by s.sequence, s.id"
            " limit ? offset ?",
            (*wanted, limit, offset),
        )
        return [row[0].encode() for row in rows], total

    def save(
        self,
        transaction: Transaction,
        skill: Skill,
        body: str,
        place: FolderState | None = None,
        *,
        advertised: bool = False,
    ) -> Skill:
        """Create or replace a skill with its document and, where it is new, its version; return it as stored.

        One that is `advertised` is a source's: it is found and read like any other, but not listed and not changed.
        """
        key = ensure_document(transaction, skill.id)
        transaction.touched.append(skill.id)
        now = timestamp(self._clock())
        created_at, touched_at = _times(transaction, key) or (now, now)
        skill = msgspec.structs.replace(
            skill,
            created_at=created_at,
            updated_at=max(now, touched_at),  # the clock may have been set back
            timeout=skill.execution_timeout,
            latest_version=max([skill.version, *self.all_versions(transaction, key)], key=version_parts),
        )
        number = put_document(transaction, key, skill.card(), skill.scope, body)
        skill = msgspec.structs.replace(skill, etag=_etag(number))
        folder, fingerprint = place or (None, None)
        transaction.execute(
            "insert into skills (key, id, sequence, enabled, advertised, source, folder,"
            " fingerprint, detail, created_at, updated_at)"
            " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict (key) do update set"
            " enabled = excluded.enabled, advertised = excluded.advertised, source = excluded.source,"
            " folder = excluded.folder, fingerprint = excluded.fingerprint,"
            " detail = excluded.detail, updated_at = excluded.updated_at",
            (
                key,
                skill.id,
                number,
                int(skill.enabled),
                int(advertised),
                skill.source,
                folder,
                fingerprint,
                msgspec.json.encode(skill).decode(),
                skill.created_at,
                skill.updated_at,
            ),
        )
        _insert_version(transaction, key, skill.version, skill.description, (), now)
        update_shadowing_of_folder(transaction, folder)
        return skill

    def delete(self, transaction: Transaction, key: int) -> None:
        """Remove a skill, its versions and its document."""
        found = transaction.read("select id, folder from skills where key = ?", (key,))
        transaction.touched += [row[0] for row in found]
        transaction.execute("delete from skills where key = ?", (key,))
        for folder in (row[1] for row in found if row[1] is not None):
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
        """Return one page of a skill's versions, newest first, and how many there are. Raises SKILL_NOT_FOUND."""
        total = self.database.read(f"select count(*) {_VERSIONS} where s.id = ?", (skill_id,))[0][0]
        if not total:  # a skill has at least one
            raise skill_not_found(skill_id)
        rows = self.database.read(
            f"select {_VERSION} {_VERSIONS} where s.id = ? {_NEWEST_FIRST} limit ? offset ?", (skill_id, limit, offset)
        )
        return [
            VersionItem(skill_id=row[0], version=row[1], description=row[2], created_at=row[3]) for row in rows
        ], total

    def version(self, skill_id: str, version: str) -> SkillVersion:
        """Return one version of a skill. Raises SKILL_NOT_FOUND, which says whether it is the skill that is missing."""
        rows = self.database.read(
            f"select {_VERSION} {_VERSIONS} where s.id = ? and v.version = ?", (skill_id, version)
        )
        if not rows:
            self.get(skill_id)
            raise skill_not_found(skill_id, version)
        skill_id, number, description, created_at, changes = rows[0]
        return SkillVersion(
            skill_id=skill_id,
            version=number,
            description=description,
            created_at=created_at,
            changes=msgspec.json.decode(changes, type=list[str]),
        )

    def all_versions(self, transaction: Transaction, key: int) -> list[str]:
        """Return a skill's versions, newest first."""
        sql = f"select v.version {_VERSIONS} where v.key = ? {_NEWEST_FIRST}"
        return [row[0] for row in transaction.read(sql, (key,))]

    def add_version(
        self, transaction: Transaction, key: int, version: str, description: str, changes: Sequence[str]
    ) -> None:
        """Add a version to a skill, unless it has it already."""
        _insert_version(transaction, key, version, description, changes, timestamp(self._clock()))

    def set_version_changes(self, transaction: Transaction, key: int, version: str, changes: Sequence[str]) -> None:
        """Make these the changes of a version of a skill, if there are any."""
        if changes:
            sql = "update versions set changes = ? where key = ? and version = ?"
            transaction.execute(sql, (msgspec.json.encode(changes).decode(), key, version))

    def delete_version(self, transaction: Transaction, key: int, version: str) -> None:
        """Take a version from a skill."""
        transaction.execute("delete from versions where key = ? and version = ?", (key, version))

    def set_problems(self, transaction: Transaction, problems: dict[str, str]) -> None:
        """Keep which folders could not be read and why, in place of what was kept before."""
        transaction.execute("delete from scan_problems")
        transaction.execute_many("insert into scan_problems (path, reason) values (?, ?)", list(problems.items()))

    def problems(self) -> dict[str, str]:
        """Return which folders could not be read and why, by their place."""
        return dict(self.database.read("select path, reason from scan_problems order by path"))

    def warnings(self) -> dict[str, list[str]]:
        """Return what was amiss with our own skills that were read all the same, by id."""
        sql = "select id, detail from skills where advertised = 0 and detail like ? order by id"
        rows = self.database.read(sql, ('%"warnings":["%',))  # spares decoding most of them
        found = {skill_id: msgspec.json.decode(detail, type=Skill).warnings for skill_id, detail in rows}
        return {skill_id: warnings for skill_id, warnings in found.items() if warnings}

    def count(self) -> int:
        """Return how many skills are our own: installed, or kept as records."""
        return int(self.database.read("select count(*) from skills where advertised = 0")[0][0])


def _times(transaction: Transaction, key: int) -> Row | None:
    found = transaction.read("select created_at, updated_at from skills where key = ?", (key,))
    return found[0] if found else None


def _insert_version(
    transaction: Transaction, key: int, version: str, description: str, changes: Sequence[str], at: str
) -> None:
    transaction.execute(
        "insert into versions (key, version, major, minor, patch, description, changes, created_at)"
        " values (?, ?, ?, ?, ?, ?, ?, ?) on conflict do nothing",
        (key, version, *version_parts(version), description, msgspec.json.encode(changes).decode(), at),
    )


def _one(rows: Sequence[Row], skill_id: str) -> StoredSkill:
    if not rows:
        raise skill_not_found(skill_id)
    return _stored(rows[0])


def _stored(row: Row) -> StoredSkill:
    key, detail, enabled, created_at, updated_at, number, folder, fingerprint, advertised = row
    skill = msgspec.json.decode(detail, type=Skill)
    skill.enabled, skill.created_at, skill.updated_at = bool(enabled), created_at, updated_at
    skill.etag = _etag(number)
    return StoredSkill(key, skill, folder, fingerprint, bool(advertised))


def _etag(number: int) -> str:
    """Return the entity tag of a record: the number of the change that made it what it is."""
    return f'"{number:x}"'
