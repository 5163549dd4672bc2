"""The skills that sources advertise: rows of the catalog like any other, but not installed."""

import itertools
from collections.abc import Mapping
from types import MappingProxyType
from typing import get_args

import msgspec

from registry.catalog.installs import INTERNAL_MARK, installed_folder, set_shadowed
from registry.catalog.store import Catalog
from registry.db import Transaction
from registry.domain.models import RESERVED_IDS, Skill, SourceType
from registry.domain.origins import source_type
from registry.domain.runtime_needs import NEEDS
from registry.domain.source_entry import LOCAL, REGISTRY, Listed, SourceEntry

_NOWHERE = "its source names no place to fetch it from"
_SOURCE_TYPES: Mapping[str, SourceType] = MappingProxyType({name: name for name in get_args(SourceType)})
"""The type of a skill whose source names no place: that of the source where it is one, else a zip."""

_INSTALLED = (
    "from installs i join skills s on s.folder = i.folder join documents d on d.key = s.key"
    " where i.source = a.source and i.listed = a.id"
)
"""Selects the document `d` of the installed skill of an advertised one, `a`."""

_SHOWN = f"a.record not like '%{INTERNAL_MARK}%'"
"""The SQL condition for the advertised skills `a` that are listed. In a text of a record, the quotes are escaped."""


def _built_in(name: str) -> str:
    """Return the SQL condition for the skills `s` of a built-in source: records, or folders of no other source."""
    if name == REGISTRY:
        return "s.advertised = 0 and s.folder is null"
    return (
        "s.folder is not null and not exists (select 1 from installs i join advertised a"
        " on a.source = i.source and a.id = i.listed where i.folder = s.folder)"
        f" and not exists (select 1 from installs i join skills r on r.id = i.listed"
        f" where i.folder = s.folder and i.source = '{REGISTRY}')"
    )


class AdvertisedSkills:
    """Reads and writes the skills of sources, and reads those of the built-in sources.

    The id of a skill that is not installed is `source/id`, with a dot for the slash after a scope. So no source can use
    the id of a local skill or of a skill from another source.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._database = catalog.database

    def digests(self, transaction: Transaction, source: str) -> dict[str, tuple[int, str]]:
        """Return key and digest of each skill of a source, by the id in the source."""
        rows = transaction.read("select id, key, hash from advertised where source = ?", (source,))
        return {skill_id: (key, digest) for skill_id, key, digest in rows}

    def digest(self, transaction: Transaction, source: str, skill_id: str) -> tuple[int, str] | None:
        """Return key and digest of a skill of a source, None if the source has no such skill."""
        rows = transaction.read("select key, hash from advertised where source = ? and id = ?", (source, skill_id))
        return rows[0] if rows else None

    def set_digest(self, transaction: Transaction, key: int, digest: str) -> None:
        """Set the digest of a skill whose content is the same."""
        transaction.execute("update advertised set hash = ? where key = ?", (digest, key))

    def without_prefix(self, transaction: Transaction, source: str, prefix: str) -> list[int]:
        """Return the keys of the skills of a source whose digest does not begin with `prefix` and a colon."""
        sql = "select key from advertised where source = ? and hash not like ?"
        return [row[0] for row in transaction.read(sql, (source, f"{prefix}:%"))]

    def count(self, transaction: Transaction, source: str) -> int:
        """Return the number of skills of a source."""
        return int(transaction.read("select count(*) from advertised where source = ?", (source,))[0][0])

    def put(self, transaction: Transaction, source: SourceEntry, skill: Listed, key: int | None, digest: str) -> None:
        """Create the skill of a source, or replace the one with `key`. `digest` identifies its content."""
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
            (source.name, skill.id, digest, record, catalog_id),
        )
        hidden = skill.internal or installed_folder(transaction, source.name, skill.id) is not None
        set_shadowed(transaction, source.name, skill.id, hidden=hidden)

    def _free_id(self, transaction: Transaction, preferred: str) -> str:
        """Return the preferred id, with a number if a local skill already has it."""
        candidates = itertools.chain((preferred,), (f"{preferred}-{number}" for number in itertools.count(2)))
        return next(skill_id for skill_id in candidates if not self._catalog.find(transaction, skill_id))

    def remove(self, transaction: Transaction, source: str) -> None:
        """Remove the skills of a source."""
        for key, _ in self.digests(transaction, source).values():
            self._catalog.delete(transaction, key)

    def cards(self, name: str) -> list[bytes]:
        """Return the encoded cards of a source in order of id. Installed skills have the card of the installed one."""
        sql = (
            f"select coalesce((select d.card {_INSTALLED} limit 1),"
            " (select d.card from documents d where d.key = a.key))"
            f" from advertised a where a.source = ? and {_SHOWN} order by a.id"
        )
        return [row[0].encode() for row in self._database.read(sql, (name,))]

    def built_in_cards(self, name: str) -> list[bytes]:
        """Return the encoded cards of a built-in source in order of id. Installed skills have that of their folder."""
        installed = (
            "select d.card from installs i join skills f on f.folder = i.folder join documents d on d.key = f.key"
            " where i.source = ? and i.listed = s.id"
        )
        sql = (
            f"select coalesce(({installed} limit 1), d.card) from skills s join documents d on d.key = s.key"
            f" where {_built_in(name)} order by s.id"
        )
        return [row[0].encode() for row in self._database.read(sql, (name,))]

    def listed(self, name: str) -> list[Listed]:
        """Return the skills of a source in order of id, without their texts."""
        rows = self._database.read(
            f"select a.record from advertised a where source = ? and {_SHOWN} order by id", (name,)
        )
        return [msgspec.json.decode(row[0], type=Listed) for row in rows]

    def built_in_skills(self, name: str) -> list[Skill]:
        """Return the skills of a built-in source in order of id."""
        rows = self._database.read(f"select s.detail from skills s where {_built_in(name)} order by s.id")
        return [msgspec.json.decode(row[0], type=Skill) for row in rows]

    def counts(self) -> dict[str, int]:
        """Return the number of skills of each source. The built-in sources are always included."""
        counts = dict(self._database.read(f"select source, count(*) from advertised a where {_SHOWN} group by source"))
        for name in (LOCAL, REGISTRY):
            counts[name] = self._database.read(f"select count(*) from skills s where {_built_in(name)}")[0][0]
        return counts

    def named(self, skill: str) -> list[tuple[str, Listed, str]]:
        """Return source, skill and catalog id of each advertised skill with this id, in its source or in search."""
        sql = (
            "select a.source, a.record, s.id from advertised a join skills s on s.key = a.key"
            " where a.id = ? or s.id = ? order by s.id"
        )
        rows = self._database.read(sql, (skill, skill))
        return [(source, msgspec.json.decode(record, type=Listed), catalog_id) for source, record, catalog_id in rows]


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
        dependencies=skill.dependencies,
        warnings=skill.warnings,
        installable=skill.installable and skill.origin is not None,
        not_installable=skill.not_installable or (None if skill.origin else _NOWHERE),
        **{name: getattr(skill, name) for name in NEEDS},
        source_url=getattr(skill.origin, "url", None),
        source_type=source_type(skill.origin) if skill.origin else _SOURCE_TYPES.get(source.type, "zip"),
        source_branch=source.branch,
        withdrawn=skill.withdrawn,
    )
