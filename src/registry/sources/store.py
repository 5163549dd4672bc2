"""Stores the added sources, the state of each source, and its skills in the catalog."""

import hashlib
import itertools
from collections.abc import Iterable, Sequence
from typing import cast

import msgspec

from registry.catalog.installs import installed_folder, set_shadowed
from registry.catalog.store import Catalog, Clock
from registry.db import Database, Transaction
from registry.domain.models import RESERVED_IDS, Skill, SourceType, timestamp
from registry.domain.source_entry import LOCAL, REGISTRY, Listed, Listing, SourceEntry
from registry.errors import conflict

_INSTALLED = (
    "from installs i join skills s on s.folder = i.folder join documents d on d.key = s.key"
    " where i.source = a.source and i.listed = a.id"
)
"""Selects the document `d` of the installed skill of an advertised one, `a`."""


def _built_in(name: str) -> str:
    """Return the SQL condition for the skills `s` of a built-in source: records, or folders of no other source."""
    if name == REGISTRY:
        return "s.advertised = 0 and s.folder is null"
    return (
        "s.folder is not null and not exists (select 1 from installs i join advertised a"
        " on a.source = i.source and a.id = i.listed where i.folder = s.folder)"
    )


class SourceState(msgspec.Struct, kw_only=True):
    """The result of the last refreshes of a source. `error` is null if the last one succeeded."""

    mark: str = ""
    last_tried: str = ""
    last_refreshed: str | None = None
    error: str | None = None
    warnings: list[str] = msgspec.field(default_factory=list)


class SourceStore:
    """Reads and writes the skills of sources. A refresh changes them in one transaction.

    The id of a skill that is not installed is `source/id`, with a dot for the slash after a scope. So no source can use
    the id of a local skill or of a skill from another source.
    """

    def __init__(self, database: Database, catalog: Catalog, clock: Clock) -> None:
        self._database = database
        self._catalog = catalog
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
        for (key,) in transaction.read("select key from advertised where source = ?", (name,)):
            self._catalog.delete(transaction, key)
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
            known = transaction.read("select id, key, hash from advertised where source = ?", (source.name,))
            before = {skill_id: (key, seen) for skill_id, key, seen in known}
            for skill in listing.skills:
                key, seen = before.pop(skill.id, (None, ""))
                if seen != (now := _hash(skill)):
                    self._put(transaction, source, skill, key, now)
            for key, _ in before.values():
                self._catalog.delete(transaction, key)
            self._save_state(transaction, source, mark, listing.warnings)

    def _put(self, transaction: Transaction, source: SourceEntry, skill: Listed, key: int | None, seen: str) -> None:
        if key is None:
            bare = skill.id.replace("/", ".")
            bare = f"{bare}-skill" if bare in RESERVED_IDS else bare
            catalog_id = self._free_id(transaction, f"{source.name}/{bare}")
        else:
            catalog_id = str(transaction.read("select id from skills where key = ?", (key,))[0][0])
        self._catalog.save(transaction, _record(source, skill, catalog_id), skill.body, advertised=True)
        record = msgspec.json.encode(msgspec.structs.replace(skill, body="", warnings=[])).decode()
        transaction.execute(
            "insert into advertised select key, ?, ?, ?, ? from skills where id = ?"
            " on conflict (key) do update set hash = excluded.hash, record = excluded.record",
            (source.name, skill.id, seen, record, catalog_id),
        )
        hidden = installed_folder(transaction, source.name, skill.id) is not None
        set_shadowed(transaction, source.name, skill.id, hidden=hidden)

    def _free_id(self, transaction: Transaction, preferred: str) -> str:
        """Return the preferred id, with a number if a local skill already has it."""
        candidates = itertools.chain((preferred,), (f"{preferred}-{number}" for number in itertools.count(2)))
        return next(skill_id for skill_id in candidates if not self._catalog.find(transaction, skill_id))

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

    def cards(self, name: str) -> list[bytes]:
        """Return the encoded cards of a source in order of id. Installed skills have the card of the installed one."""
        sql = (
            f"select coalesce((select d.card {_INSTALLED} limit 1),"
            " (select d.card from documents d where d.key = a.key))"
            " from advertised a where a.source = ? order by a.id"
        )
        return [row[0].encode() for row in self._database.read(sql, (name,))]

    def built_in_cards(self, name: str) -> list[bytes]:
        """Return the encoded cards of a built-in source in order of id."""
        sql = f"select d.card from skills s join documents d on d.key = s.key where {_built_in(name)} order by s.id"
        return [row[0].encode() for row in self._database.read(sql)]

    def listed(self, name: str) -> list[Listed]:
        """Return the skills of a source in order of id, without their texts."""
        rows = self._database.read("select record from advertised where source = ? order by id", (name,))
        return [msgspec.json.decode(row[0], type=Listed) for row in rows]

    def built_in_listed(self, name: str) -> list[Listed]:
        """Return the skills of a built-in source in the form of a listing."""
        rows = self._database.read(f"select s.detail from skills s where {_built_in(name)} order by s.id")
        skills = (msgspec.json.decode(row[0], type=Skill) for row in rows)
        return [
            Listed(**{name: getattr(skill, name) for name in Listed.__struct_fields__ if hasattr(skill, name)})
            for skill in skills
        ]

    def counts(self) -> dict[str, int]:
        """Return the number of skills of each source. The built-in sources are always included."""
        counts = dict(self._database.read("select source, count(*) from advertised group by source"))
        for name in (LOCAL, REGISTRY):
            counts[name] = self._database.read(f"select count(*) from skills s where {_built_in(name)}")[0][0]
        return counts

    def find(self, key: int) -> Listed | None:
        """Return the listed skill with a key, None if the skill is installed."""
        rows = self._database.read("select record from advertised where key = ?", (key,))
        return msgspec.json.decode(rows[0][0], type=Listed) if rows else None


def _hash(skill: Listed) -> str:
    return hashlib.sha256(msgspec.json.encode(skill)).hexdigest()


def _record(source: SourceEntry, skill: Listed, catalog_id: str) -> Skill:
    scope, _, _ = skill.id.rpartition("/")
    return Skill(
        id=catalog_id,
        name=skill.name,
        description=skill.description,
        version=skill.version,
        author=skill.author,
        tags=skill.tags,
        capabilities=skill.capabilities,
        scope=scope or None,
        source=source.name,
        installed=False,
        license=skill.license,
        warnings=skill.warnings,
        source_url=getattr(skill.origin, "url", None),
        source_type=cast(SourceType, skill.origin.__struct_config__.tag if skill.origin else source.type),
        source_branch=source.branch,
    )
