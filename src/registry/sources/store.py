"""Stores the added sources, the state of each source, and its skills in the catalog."""

import hashlib
from collections.abc import Iterable, Sequence

import msgspec

from registry.catalog.advertised import AdvertisedSkills
from registry.catalog.store import Catalog, Clock
from registry.db import Database, Transaction
from registry.domain.models import timestamp
from registry.domain.source_entry import Listed, Listing, SourceEntry
from registry.errors import conflict


class SourceState(msgspec.Struct, kw_only=True):
    """The result of the last refreshes of a source. `error` is null if the last one succeeded."""

    mark: str = ""
    last_tried: str = ""
    last_refreshed: str | None = None
    error: str | None = None
    warnings: list[str] = msgspec.field(default_factory=list)


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

    def remove_others(self, names: Iterable[str]) -> list[str]:
        """Remove the skills of all sources except `names`, and return the names of the removed sources."""
        known = self._database.read("select name from source_states")
        removed = sorted({name for (name,) in known} - set(names))
        if removed:
            with self._database.write() as transaction:
                for name in removed:
                    self._remove_skills(transaction, name)
        return removed

    def _remove_skills(self, transaction: Transaction, name: str) -> None:
        self.skills.remove(transaction, name)
        transaction.execute("delete from source_states where name = ?", (name,))

    def state(self, source: SourceEntry) -> SourceState:
        """Return the state of a source. The mark is empty if the entry of the source has changed."""
        sql = "select entry, mark, last_tried, last_refreshed, error, warnings from source_states where name = ?"
        rows = self._database.read(sql, (source.name,))
        if not rows:
            return SourceState()
        entry, mark, tried, refreshed, error, warnings = rows[0]
        is_unchanged = entry == msgspec.json.encode(source).decode()
        return SourceState(
            mark=mark if is_unchanged else "",
            last_tried=tried if is_unchanged else "",
            last_refreshed=refreshed,
            error=error,
            warnings=msgspec.json.decode(warnings, type=list[str]),
        )

    def replace(self, source: SourceEntry, mark: str, listing: Listing) -> None:
        """Replace the skills of a source in the catalog by its current listing."""
        with self._database.write() as transaction:
            before = self.skills.digests(transaction, source.name)
            for skill in listing.skills:
                key, seen = before.pop(skill.id, (None, ""))
                if seen != (now := _hash(skill)):
                    self.skills.put(transaction, source, skill, key, now)
            for key, _ in before.values():
                self._catalog.delete(transaction, key)
            self._save_state(transaction, source, mark, listing.warnings)

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
                (source.name, msgspec.json.encode(source).decode(), now, error),
            )

    def _save_state(
        self, transaction: Transaction, source: SourceEntry, mark: str, warnings: Sequence[str] | None
    ) -> None:
        now = timestamp(self._clock())
        entry = msgspec.json.encode(source).decode()
        encoded = None if warnings is None else msgspec.json.encode(warnings).decode()
        transaction.execute(
            "insert into source_states (name, entry, mark, last_tried, last_refreshed, error, warnings)"
            " values (?, ?, ?, ?, ?, null, ?) on conflict (name) do update set"
            " entry = excluded.entry, mark = excluded.mark, last_tried = excluded.last_tried,"
            " last_refreshed = excluded.last_refreshed, error = excluded.error,"
            " warnings = coalesce(?, source_states.warnings)",
            (source.name, entry, mark, now, now, encoded or "[]", encoded),
        )


def _hash(skill: Listed) -> str:
    return hashlib.sha256(msgspec.json.encode(skill)).hexdigest()
