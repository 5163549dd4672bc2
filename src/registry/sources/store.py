"""What sources list, in the catalog: added sources, how each stands, and its skills with their documents."""

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

_TWIN = (
    "from installs i join skills s on s.folder = i.folder join documents d on d.key = s.key"
    " where i.source = a.source and i.listed = a.id"
)
"""The installed skill of an advertised one, `a`."""


def _own(name: str) -> str:
    """Return which skills, `s`, a source of our own lists: folders that no other source lists, or records."""
    if name == REGISTRY:
        return "s.advertised = 0 and s.folder is null"
    return (
        "s.folder is not null and not exists (select 1 from installs i join advertised a"
        " on a.source = i.source and a.id = i.listed where i.folder = s.folder)"
    )


class SourceState(msgspec.Struct, kw_only=True):
    """How the last refreshes of a source went; `error` is null where the last one did well."""

    mark: str = ""
    last_tried: str = ""
    last_refreshed: str | None = None
    error: str | None = None
    warnings: list[str] = msgspec.field(default_factory=list)


class SourceStore:
    """Reads and writes what sources list. The skills of one refresh change in one transaction.

    A skill that is not installed has the id `source/id`, a scope's slash written as a dot, so that no source can take
    the id of a local skill or of another source's.
    """

    def __init__(self, database: Database, catalog: Catalog, clock: Clock) -> None:
        self._database = database
        self._catalog = catalog
        self._clock = clock

    def added(self) -> list[SourceEntry]:
        """Return the sources that were added while running."""
        rows = self._database.read("select entry from sources order by name")
        return [msgspec.json.decode(row[0], type=SourceEntry) for row in rows]

    def add(self, source: SourceEntry) -> None:
        """Add a source. Raises CONFLICT where one of its name was added before."""
        entry = msgspec.json.encode(source).decode()
        with self._database.write() as transaction:
            if not transaction.execute(
                "insert into sources (name, entry) values (?, ?) on conflict do nothing", (source.name, entry)
            ):
                raise conflict(f"Source '{source.name}' already exists")

    def remove(self, name: str) -> None:
        """Remove an added source, with all it listed."""
        with self._database.write() as transaction:
            transaction.execute("delete from sources where name = ?", (name,))
            self._forget(transaction, name)

    def keep_only(self, names: Iterable[str]) -> list[str]:
        """Forget what sources listed that are not there any more, and return their names."""
        known = self._database.read("select name from source_states")
        gone = sorted({name for (name,) in known} - set(names))
        if gone:
            with self._database.write() as transaction:
                for name in gone:
                    self._forget(transaction, name)
        return gone

    def _forget(self, transaction: Transaction, name: str) -> None:
        for (key,) in transaction.read("select key from advertised where source = ?", (name,)):
            self._catalog.delete(transaction, key)
        transaction.execute("delete from source_states where name = ?", (name,))

    def state(self, source: SourceEntry) -> SourceState:
        """Return how a source stands. The mark counts only as long as the source is the same."""
        sql = "select entry, mark, last_tried, last_refreshed, error, warnings from source_states where name = ?"
        rows = self._database.read(sql, (source.name,))
        if not rows:
            return SourceState()
        entry, mark, tried, refreshed, error, warnings = rows[0]
        same = entry == msgspec.json.encode(source).decode()
        return SourceState(
            mark=mark if same else "",
            last_tried=tried if same else "",
            last_refreshed=refreshed,
            error=error,
            warnings=msgspec.json.decode(warnings, type=list[str]),
        )

    def keep(self, source: SourceEntry, mark: str, listing: Listing) -> None:
        """Make the catalog hold what a source lists now, and nothing else of it."""
        with self._database.write() as transaction:
            known = transaction.read("select id, key, hash from advertised where source = ?", (source.name,))
            before = {skill_id: (key, seen) for skill_id, key, seen in known}
            for skill in listing.skills:
                key, seen = before.pop(skill.id, (None, ""))
                if seen != (now := _hash(skill)):
                    self._put(transaction, source, skill, key, now)
            for key, _ in before.values():
                self._catalog.delete(transaction, key)
            self._keep_state(transaction, source, mark, listing.warnings)

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

    def _free_id(self, transaction: Transaction, wanted: str) -> str:
        """Return the id, with a number where a local skill in a folder of the source's name has it already."""
        candidates = itertools.chain((wanted,), (f"{wanted}-{number}" for number in itertools.count(2)))
        return next(one for one in candidates if not self._catalog.find(transaction, one))

    def unchanged(self, source: SourceEntry, mark: str) -> None:
        """Note that a source was asked and still lists what it did."""
        with self._database.write() as transaction:
            self._keep_state(transaction, source, mark, None)

    def failed(self, source: SourceEntry, error: str) -> None:
        """Note that a source could not be read; what it listed stays."""
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

    def _keep_state(
        self, transaction: Transaction, source: SourceEntry, mark: str, warnings: Sequence[str] | None
    ) -> None:
        now = timestamp(self._clock())
        entry = msgspec.json.encode(source).decode()
        told = None if warnings is None else msgspec.json.encode(warnings).decode()
        transaction.execute(
            "insert into source_states (name, entry, mark, last_tried, last_refreshed, error, warnings)"
            " values (?, ?, ?, ?, ?, null, ?) on conflict (name) do update set"
            " entry = excluded.entry, mark = excluded.mark, last_tried = excluded.last_tried,"
            " last_refreshed = excluded.last_refreshed, error = excluded.error,"
            " warnings = coalesce(?, source_states.warnings)",
            (source.name, entry, mark, now, now, told or "[]", told),
        )

    def cards(self, name: str) -> list[bytes]:
        """Return the encoded cards of what a source lists, in order of id; of what is installed the installed one's."""
        sql = (
            f"select coalesce((select d.card {_TWIN} limit 1), (select d.card from documents d where d.key = a.key))"
            " from advertised a where a.source = ? order by a.id"
        )
        return [row[0].encode() for row in self._database.read(sql, (name,))]

    def own_cards(self, name: str) -> list[bytes]:
        """Return the encoded cards of a source of our own, in order of id."""
        sql = f"select d.card from skills s join documents d on d.key = s.key where {_own(name)} order by s.id"
        return [row[0].encode() for row in self._database.read(sql)]

    def listed(self, name: str) -> list[Listed]:
        """Return what a source lists, in order of id, without the texts."""
        rows = self._database.read("select record from advertised where source = ? order by id", (name,))
        return [msgspec.json.decode(row[0], type=Listed) for row in rows]

    def own_listed(self, name: str) -> list[Listed]:
        """Return the skills of a source of our own as another would list them."""
        rows = self._database.read(f"select s.detail from skills s where {_own(name)} order by s.id")
        skills = (msgspec.json.decode(row[0], type=Skill) for row in rows)
        return [
            Listed(**{name: getattr(skill, name) for name in Listed.__struct_fields__ if hasattr(skill, name)})
            for skill in skills
        ]

    def counts(self) -> dict[str, int]:
        """Return how many skills each source lists: our own two always, others where there are any."""
        counted = dict(self._database.read("select source, count(*) from advertised group by source"))
        for name in (LOCAL, REGISTRY):
            counted[name] = self._database.read(f"select count(*) from skills s where {_own(name)}")[0][0]
        return counted

    def find(self, key: int) -> Listed | None:
        """Return the skill with this key as its source lists it, or None where it is installed."""
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
