"""Checks the skills of the catalog: the document, text and versions of each."""

import functools
import json
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from registry.catalog.document_rows import decode_examples, embedded_hash, labels, remove_document, restore_document
from registry.catalog.installs import SHADOWED
from registry.catalog.skill_rows import FolderState
from registry.db import Row, Transaction
from registry.domain.counts import counted
from registry.domain.models import Card, Skill, version_parts
from registry.ops.fsck.drift import BACKUP, Discrepancy, derived, lost
from registry.ops.fsck.parts import Parts
from registry.skill_folder import UnreadableSkill

_BATCH_ROWS = 500
_SKILLS = (
    "select s.key, s.id, s.detail, s.folder, s.advertised, d.gone, d.id, d.name, d.description, d.tags, d.capabilities,"
    " d.labels, d.text_hash, d.examples, d.card, b.key is not null,"
    " exists (select 1 from published p where p.skill_id = s.id)"
    " from skills s left join documents d on d.key = s.key left join bodies b on b.key = s.key"
    " where s.key > ? order by s.key limit ?"
)


class _Row(NamedTuple):
    key: int
    id: str
    detail: str
    folder: str | None
    advertised: int
    gone: int | None
    document_id: str | None
    name: str
    description: str
    tags: str
    capabilities: str
    labels: str
    text_hash: str
    examples: str
    card: str
    has_body: bool
    is_published: bool


def check(parts: Parts) -> Iterator[Discrepancy]:
    """Yield skills without a correct document, text or versions, and rows left over from removed skills."""
    last = 0
    while rows := parts.database.read(_SKILLS, (last, _BATCH_ROWS)):
        versions = _versions(parts, rows[0][0], rows[-1][0])
        for row in map(_Row._make, rows):
            yield from _of_skill(parts, row, versions.get(row.key, []))
        last = rows[-1][0]
    yield from _leftovers(parts)


def _versions(parts: Parts, first: int, last: int) -> dict[int, list[Row]]:
    by_key: dict[int, list[Row]] = {}
    sql = "select key, version, major, minor, patch from versions where key between ? and ?"
    for key, *version in parts.database.read(sql, (first, last)):
        by_key.setdefault(key, []).append(tuple(version))
    return by_key


def _of_skill(parts: Parts, row: _Row, versions: list[Row]) -> Iterator[Discrepancy]:
    try:
        skill = msgspec.json.decode(row.detail, type=Skill)
    except msgspec.DecodeError as error:
        yield lost("rows", row.id, f"its record cannot be read: {error}", BACKUP)
        return
    if not row.has_body and _is_only_copy(row):
        yield lost(
            "rows", row.id, "its text is missing", "send its `content` again with PUT, or restore it from a backup"
        )
        return
    repair = functools.partial(_rebuild, parts, row.id)
    for problem in (*_document_problems(row, skill), *([] if row.is_published else _version_problems(skill, versions))):
        yield derived("rows", row.id, problem, repair)


def _is_only_copy(row: _Row) -> bool:
    """Return whether only the database has the text of the skill, and no folder, package or source."""
    return row.folder is None and not row.advertised and not row.is_published


def _document_problems(row: _Row, skill: Skill) -> Iterator[str]:
    if row.gone is None:
        yield "it has no document, so search does not find it"
        return
    if row.gone:
        yield "its document is marked as gone, so search does not find it"
        return
    if not row.has_body:
        yield "its document has no text"
    if differing := _differing(row, skill):
        yield f"its document differs from the skill: {', '.join(differing)}"


def _differing(row: _Row, skill: Skill) -> list[str]:
    try:
        examples = decode_examples(row.examples)
        pairs = {
            "id": (row.document_id, skill.id),
            "name": (row.name, skill.name),
            "description": (row.description, skill.description),
            "tags": (json.loads(row.tags), skill.tags),
            "capabilities": (json.loads(row.capabilities), skill.capabilities),
            "labels": (
                [label for label in json.loads(row.labels) if label != SHADOWED],
                [*labels(skill.card(), skill.scope)],
            ),
            "card": (msgspec.json.decode(row.card, type=Card), skill.card()),
            "hash of the embedded text": (row.text_hash, embedded_hash(skill.card(), examples)),
        }
    except (ValueError, msgspec.DecodeError):
        return ["it cannot be read"]
    return [name for name, (actual, expected) in pairs.items() if actual != expected]


def _version_problems(skill: Skill, versions: list[Row]) -> Iterator[str]:
    version_numbers = [row[0] for row in versions]
    if skill.version not in version_numbers:
        yield f"its version {skill.version} is not among its versions"
    highest = max([skill.version, *version_numbers], key=version_parts)
    if skill.latest_version != highest:
        yield f"its highest version is {highest}, but its latest version is {skill.latest_version or 'none'}"
    for version, *numbers in versions:
        if version_parts(version) != tuple(numbers):
            yield f"version {version} is sorted as {'.'.join(map(str, numbers))}"


def _rebuild(parts: Parts, skill_id: str) -> None:
    """Rebuild the document and versions of a skill from its source."""
    with parts.database.write() as transaction:
        rows = transaction.read("select key, folder, advertised from skills where id = ?", (skill_id,))
        if not rows:
            return
        key, folder, advertised = rows[0]
        restore_document(transaction, key, skill_id)
        if advertised:
            _list_again(parts, transaction, key)
        elif transaction.read("select 1 from published where skill_id = ? limit 1", (skill_id,)):
            parts.published.update_catalog(transaction, skill_id)
        else:
            _save_again(parts, transaction, skill_id, key)
            if folder is not None:
                _read_again(parts, transaction, key, folder)


def _list_again(parts: Parts, transaction: Transaction, key: int) -> None:
    """Remove a listed skill, so that the next refresh of its source adds it again."""
    sql = "update source_states set mark = '' where name in (select source from skills where key = ?)"
    transaction.execute(sql, (key,))
    parts.catalog.delete(transaction, key)


def _save_again(parts: Parts, transaction: Transaction, skill_id: str, key: int) -> None:
    for version in parts.catalog.all_versions(transaction, key):
        sql = "update versions set major = ?, minor = ?, patch = ? where key = ? and version = ?"
        transaction.execute(sql, (*version_parts(version), key, version))
    stored = parts.catalog.find(transaction, skill_id)
    if stored is not None:
        bodies = transaction.read("select body from bodies where key = ?", (key,))
        place = None if stored.folder is None else FolderState(stored.folder, stored.fingerprint or "")
        parts.catalog.save(transaction, stored.skill, bodies[0][0] if bodies else "", place)


def _read_again(parts: Parts, transaction: Transaction, key: int, folder: str) -> None:
    """Read the folder of a skill again as a scan does, also if it has not changed."""
    transaction.execute("update skills set fingerprint = '' where key = ?", (key,))
    try:
        parts.local.record_folder(transaction, parts.local.root / folder)
    except (UnreadableSkill, OSError):
        return  # the next scan reports the reason


_NO_SKILL = "not exists (select 1 from skills s where s.key = {}.key)"
_STRAY_BODIES = "select b.key from bodies b left join documents d on d.key = b.key where d.key is null or d.gone = 1"
_STRAY_VERSIONS = f"select distinct key from versions v where {_NO_SKILL.format('v')}"
_STRAY_EXAMPLES = "select key from examples where key not in (select key from documents where gone = 0)"
_HIGHEST = "select max(number) from (select number from documents union all select number from vectors) numbers"


def _leftovers(parts: Parts) -> Iterator[Discrepancy]:
    read = parts.database.read
    for key, skill_id in read(f"select key, id from documents d where gone = 0 and {_NO_SKILL.format('d')}"):
        repair = functools.partial(_remove_document, parts, key)
        yield derived("rows", skill_id, "search finds it, but the skill does not exist", repair)
    for table, stray in (("bodies", _STRAY_BODIES), ("versions", _STRAY_VERSIONS), ("examples", _STRAY_EXAMPLES)):
        if keys := read(stray):
            repair = functools.partial(parts.run, f"delete from {table} where key in ({stray})")
            yield derived("rows", table, f"there are rows of {counted(len(keys), 'removed skill')}", repair)
    highest, counter = read(f"select coalesce(({_HIGHEST}), 0), value from counter")[0]
    if highest > counter:
        problem = f"the counter is {counter}, but the highest change is {highest}: indexes would miss new changes"
        repair = functools.partial(parts.run, f"update counter set value = ({_HIGHEST}) where value < ({_HIGHEST})")
        yield derived("rows", "change number", problem, repair)


def _remove_document(parts: Parts, key: int) -> None:
    with parts.database.write() as transaction:
        if not transaction.read("select 1 from skills where key = ?", (key,)):
            remove_document(transaction, key)
