"""Stores the added sources, the state of each source, and its skills in the catalog."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from registry.catalog.advertised import AdvertisedSkills
from registry.catalog.installs import follow_listings
from registry.catalog.store import Catalog, Clock
from registry.db import Database, Reader, Transaction
from registry.domain.models import timestamp
from registry.domain.source_entry import Listed, Listing, SourceEntry
from registry.errors import conflict
from registry.outbound import OutboundError
from registry.sources.marketplace import MAX_WARNINGS
from registry.sources.registry_documents import Change, ChangePage

MAX_REGISTRY_SKILLS = 200_000
"""The maximum number of skills of one source of type `registry`."""


class SourceState(msgspec.Struct, kw_only=True):
    """The result of the last refreshes of a source. `error` is null if the last one succeeded."""

    mark: str = ""
    last_tried: str = ""
    last_refreshed: str | None = None
    error: str | None = None
    warnings: list[str] = msgspec.field(default_factory=list)


_ENTRIES = "select entry from source_states order by name"


class Cursor(msgspec.Struct, kw_only=True, frozen=True):
    """How far the change feed of a registry was read.

    `reading` identifies the reading from the first change on, and `is_whole` tells that it has reached the end once.
    """

    catalog: str = ""
    after: int = 0
    etag: str = ""
    reading: str = ""
    is_whole: bool = False


def read_cursor(mark: str) -> Cursor:
    """Return the cursor that a stored mark describes; that of a registry that was not read yet if there is none."""
    try:
        return msgspec.json.decode(mark, type=Cursor)
    except msgspec.DecodeError:  # empty, or of a source that had another type
        return Cursor()


class ReadElsewhere(Exception):
    """Another process has taken over the page already."""


class TakenOver(NamedTuple):
    """The cursor after a page, the mark that stores it, and whether the page changed any skill here."""

    cursor: Cursor
    mark: str
    has_changed: bool


class SourceStore:
    """Reads and writes the added sources, and the state of every source. A refresh is one transaction.

    Attributes:
        skills: The skills of the sources.
    """

    def __init__(self, database: Database, catalog: Catalog, clock: Clock) -> None:
        self._database = database
        self._catalog = catalog
        self.skills = AdvertisedSkills(catalog)
        self._clock = clock

    def added(self) -> list[SourceEntry]:
        """Return the sources that were added at run time."""
        rows = self._database.read("select entry from sources order by name")
        return [msgspec.json.decode(row[0], type=SourceEntry) for row in rows]

    def add(self, source: SourceEntry) -> None:
        """Add a source. Raises CONFLICT if the name exists."""
        entry = msgspec.json.encode(source).decode()
        with self._database.write() as transaction:
            if not transaction.execute(
                "insert into sources (name, entry) values (?, ?) on conflict do nothing", (source.name, entry)
            ):
                raise conflict(f"Source '{source.name}' already exists")

    def remove(self, name: str) -> None:
        """Remove an added source and its skills."""
        with self._database.write() as transaction:
            transaction.execute("delete from sources where name = ?", (name,))
            self._remove_skills(transaction, name)

    def remove_others(self, names: Iterable[str]) -> list[SourceEntry]:
        """Remove the skills of all sources except `names`, and return the removed sources."""
        name_set = set(names)
        entries = (msgspec.json.decode(row[0], type=SourceEntry) for row in self._database.read(_ENTRIES))
        removed = [source for source in entries if source.name not in name_set]
        if removed:
            with self._database.write() as transaction:
                for source in removed:
                    self._remove_skills(transaction, source.name)
        return removed

    def _remove_skills(self, transaction: Transaction, name: str) -> None:
        self.skills.remove(transaction, name)
        transaction.execute("delete from source_states where name = ?", (name,))

    def state(self, source: SourceEntry, reader: Reader | None = None) -> SourceState:
        """Return the state of a source. The mark is empty if the entry of the source has changed."""
        sql = "select entry, mark, last_tried, last_refreshed, error, warnings from source_states where name = ?"
        rows = (reader or self._database).read(sql, (source.name,))
        if not rows:
            return SourceState()
        entry, mark, tried, refreshed, error, warnings = rows[0]
        is_unchanged = entry == _identity(source)
        return SourceState(
            mark=mark if is_unchanged else "",
            last_tried=tried if is_unchanged else "",
            last_refreshed=refreshed,
            error=error,
            warnings=msgspec.json.decode(warnings, type=list[str]),
        )

    def replace(self, source: SourceEntry, mark: str, listing: Listing, *, is_complete: bool = True) -> None:
        """Replace the skills of a source in the catalog by its current listing. One with a rest is soon read again."""
        with self._database.write() as transaction:
            before = self.skills.digests(transaction, source.name)
            for skill in listing.skills:
                key, seen = before.pop(skill.id, (None, ""))
                if seen != (now := _hash(skill)):
                    self.skills.put(transaction, source, skill, key, now)
            for key, _ in before.values():
                self._catalog.delete(transaction, key)
            places = {skill.id: skill.origin for skill in listing.skills if skill.origin is not None}
            follow_listings(transaction, source.name, places)
            self._save_state(transaction, source, mark, listing.warnings)
            if not is_complete:
                transaction.execute("update source_states set last_tried = '' where name = ?", (source.name,))

    def apply_page(self, source: SourceEntry, mark: str, cursor: Cursor, page: ChangePage) -> TakenOver:
        """Take over a page of the change feed of a registry, which was read at `cursor`.

        `mark` is that of the stored state. At the end of the first reading, skills that it did not mention are removed.
        Raises ReadElsewhere if the stored state is another one, OutboundError if there are too many skills.
        """
        etag = page.validators.etag if page.is_complete else ""  # an incomplete page has the ETag of a part
        is_whole = cursor.is_whole or page.is_complete
        new = msgspec.structs.replace(cursor, after=page.revision, etag=etag, is_whole=is_whole)
        encoded = msgspec.json.encode(new).decode()
        with self._database.write() as transaction:
            state = self.state(source, transaction)
            if state.mark != mark:
                raise ReadElsewhere
            has_changed = self._apply_changes(transaction, source, cursor.reading, page.changes)
            if is_whole and not cursor.is_whole:
                for key in self.skills.without_prefix(transaction, source.name, cursor.reading):
                    self._catalog.delete(transaction, key)
            warnings = _merged(state.warnings if cursor.after else [], page.changes, page.warnings)
            self._save_state(transaction, source, encoded, warnings)
        return TakenOver(new, encoded, has_changed)

    def file(self, source: SourceEntry, changes: Sequence[Change], warnings: Sequence[str]) -> None:
        """Take over changes that did not come from the feed of a registry, which is read on from where it was.

        Raises OutboundError if there are too many skills.
        """
        with self._database.write() as transaction:
            state = self.state(source, transaction)
            self._apply_changes(transaction, source, read_cursor(state.mark).reading, changes)
            self._save_state(transaction, source, state.mark, _merged(state.warnings, changes, warnings))

    def _apply_changes(
        self, transaction: Transaction, source: SourceEntry, reading: str, changes: Sequence[Change]
    ) -> bool:
        has_changed = False
        for skill_id, listed in changes:
            key, seen = self.skills.digest(transaction, source.name, skill_id) or (None, "")
            if listed is None:
                if key is not None:
                    self._catalog.delete(transaction, key)
                    has_changed = True
                continue
            digest = _hash(listed)
            if key is not None and seen.endswith(f":{digest}"):
                self.skills.set_digest(transaction, key, f"{reading}:{digest}")
            else:
                self.skills.put(transaction, source, listed, key, f"{reading}:{digest}")
                has_changed = True
        if self.skills.count(transaction, source.name) > MAX_REGISTRY_SKILLS:
            raise OutboundError(f"the registry lists more than {MAX_REGISTRY_SKILLS:,} skills")
        return has_changed

    def unchanged(self, source: SourceEntry, mark: str) -> None:
        """Record that a source was read and has not changed."""
        with self._database.write() as transaction:
            self._save_state(transaction, source, mark, None)

    def failed(self, source: SourceEntry, error: str) -> None:
        """Record that a source could not be read. Its skills stay."""
        with self._database.write() as transaction:
            now = timestamp(self._clock())
            transaction.execute(
                "insert into source_states (name, entry, mark, last_tried, last_refreshed, error, warnings)"
                " values (?, ?, '', ?, null, ?, '[]') on conflict (name) do update set"
                " mark = case when source_states.entry = excluded.entry then source_states.mark else '' end,"
                " entry = excluded.entry,"
                " last_tried = excluded.last_tried, error = excluded.error",
                (source.name, _identity(source), now, error),
            )

    def _save_state(
        self, transaction: Transaction, source: SourceEntry, mark: str, warnings: Sequence[str] | None
    ) -> None:
        now = timestamp(self._clock())
        entry = _identity(source)
        encoded = None if warnings is None else msgspec.json.encode(warnings).decode()
        transaction.execute(
            "insert into source_states (name, entry, mark, last_tried, last_refreshed, error, warnings)"
            " values (?, ?, ?, ?, ?, null, ?) on conflict (name) do update set"
            " entry = excluded.entry, mark = excluded.mark, last_tried = excluded.last_tried,"
            " last_refreshed = excluded.last_refreshed, error = excluded.error,"
            " warnings = coalesce(?, source_states.warnings)",
            (source.name, entry, mark, now, now, encoded or "[]", encoded),
        )


def _identity(source: SourceEntry) -> str:
    """Return the text that changes if other skills may be listed. Another credential lists the same ones."""
    return msgspec.json.encode(msgspec.structs.replace(source, api_key=None, mirror=False)).decode()


def _merged(before: Sequence[str], changes: Sequence[Change], warnings: Sequence[str]) -> list[str]:
    """Return the warnings after changes: those about the changed skills are replaced."""
    subjects = {f"'{change.skill_id}'" for change in changes} | {_subject(warning) for warning in warnings}
    return [*warnings, *(warning for warning in before if _subject(warning) not in subjects)][:MAX_WARNINGS]


def _subject(warning: str) -> str:
    return warning.partition(" was skipped")[0]


def _hash(skill: Listed) -> str:
    return hashlib.sha256(msgspec.json.encode(skill)).hexdigest()
