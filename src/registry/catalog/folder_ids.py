"""The ids of the folders in the skills directory: they depend on the folders that are there, and on nothing before.

Of several folders that could have the same id, the one with the shortest path has it, of these one whose name is the
id, of these the first. The others have an id with the name of a parent folder, or with a hash of their path.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from registry.catalog.document_rows import blank_document
from registry.catalog.skill_rows import FolderState
from registry.catalog.store import Catalog
from registry.db import Reader, Transaction, read_fact
from registry.domain.models import RESERVED_IDS
from registry.skill_folder import UnreadableSkill, id_of_name, qualified_ids, read_skill_folder, suggest_id

_FACT = "renamed_ids"
"""The fact with the present id of each former one."""

_MAX_REMEMBERED = 1_000


class IdChanges(NamedTuple):
    """What the folders that are there now change in the ids of the catalog.

    Args:
        ids: The id of each folder, by its path.
        moved: The new path of each known folder that is gone, if a new folder has its id.
        renamed: The new id of each known folder whose id changes, by its path, after the moves.
    """

    ids: dict[str, str]
    moved: dict[str, str]
    renamed: dict[str, str]


def id_changes(catalog: Catalog, root: Path, paths: Iterable[str]) -> IdChanges:
    """Return the ids of the folders at these paths below `root`, and what that changes."""
    former_ids = catalog.folder_ids()
    ids: dict[str, str] = {}
    used: set[str] = set()
    for path in sorted(paths, key=_precedence):
        own = former_ids.get(path)
        for skill_id in _candidates(root, path):
            if skill_id not in used and (skill_id == own or not catalog.has_without_folder(skill_id)):
                ids[path] = skill_id
                used.add(skill_id)
                break
    gone = {former_ids[path]: path for path in former_ids.keys() - ids.keys()}
    moved = {gone[ids[path]]: path for path in sorted(ids.keys() - former_ids.keys()) if ids[path] in gone}
    renamed = {path: ids[path] for path in ids.keys() & former_ids.keys() if ids[path] != former_ids[path]}
    return IdChanges(ids, moved, renamed)


def _precedence(path: str) -> tuple[int, bool, str]:
    name = path.rpartition("/")[2]
    return path.count("/"), id_of_name(name) != name, path


def _candidates(root: Path, path: str) -> Iterator[str]:
    folder = root / path
    skill_id = id_of_name(folder.name)
    if not skill_id:
        try:
            skill_id = suggest_id(folder, root, read_skill_folder(folder))
        except (UnreadableSkill, OSError):
            skill_id = "skill"
    return qualified_ids(folder, root, f"{skill_id}-skill" if skill_id in RESERVED_IDS else skill_id)


def move_folders(transaction: Transaction, moved: Mapping[str, str]) -> None:
    """Record that known folders have other paths. The scan then reads them, because they have no fingerprint."""
    for before, after in moved.items():
        transaction.execute("update skills set folder = ?, fingerprint = '' where folder = ?", (after, before))
        transaction.execute("delete from installs where folder = ?", (after,))
        transaction.execute("update installs set folder = ? where folder = ?", (after, before))


def rename_skills(catalog: Catalog, transaction: Transaction, renamed: Mapping[str, str]) -> dict[str, str]:
    """Give the skills in these folders other ids, and return the new id of each former one.

    Keys, versions, vectors and choices stay. Readers of the changes see that the former id is gone and the new one is
    there.
    """
    stored = {path: entry for path in renamed if (entry := catalog.find_at(transaction, path)) is not None}
    for skill in stored.values():  # all first, since two may exchange their ids
        _set_id(transaction, skill.key, f"?{skill.key}")
    ids: dict[str, str] = {}
    for path, skill in stored.items():
        is_free = catalog.find(transaction, renamed[path]) is None  # another process may have created it meanwhile
        new = renamed[path] if is_free else skill.skill.id
        # The document of a deleted skill of this id announces the deletion of the former id instead, below.
        transaction.execute("update documents set id = ? where id = ?", (_left(skill.key), new))
        _set_id(transaction, skill.key, new)
        body = transaction.read("select body from bodies where key = ?", (skill.key,))
        changed = msgspec.structs.replace(skill.skill, id=new)
        state = FolderState(path, str(skill.fingerprint))
        catalog.save(transaction, changed, str(body[0][0]) if body else "", state)
        if new != skill.skill.id:
            ids[skill.skill.id] = new
    for skill in stored.values():
        _announce_gone(
            transaction, skill.skill.id, _left(skill.key), is_gone=skill.skill.id in ids.keys() - set(ids.values())
        )
    _remember(transaction, ids)
    return ids


def present_id(catalog: Catalog, skill_id: str) -> str:
    """Return the id that a skill has now: another one only if no skill has this one and a skill had it."""
    if catalog.has(skill_id):
        return skill_id
    renamed = _remembered(catalog.database)
    now = skill_id
    while now in renamed:  # each is followed once
        now = renamed.pop(now)
    return now


def _left(key: int) -> str:
    """Return an id that no skill can have, for the document that the skill with this key has displaced."""
    return f"?left-{key}"


def _announce_gone(transaction: Transaction, former: str, left: str, *, is_gone: bool) -> None:
    """Tell readers of the changes that no skill has an id any more, with the displaced document if there is one."""
    if not is_gone:
        transaction.execute("delete from documents where id = ?", (left,))
        return
    transaction.touched.append(former)
    if transaction.read("select 1 from documents where id = ?", (left,)):
        sql = "update documents set id = ?, number = ? where id = ?"
        transaction.execute(sql, (former, transaction.next_revision(), left))
    else:
        blank_document(transaction, former)


def _remembered(reader: Reader) -> dict[str, str]:
    return msgspec.json.decode(read_fact(reader, _FACT) or "{}", type=dict[str, str])


def _remember(transaction: Transaction, ids: Mapping[str, str]) -> None:
    if ids:
        in_use = ids.keys() | set(ids.values())
        renamed = {former: now for former, now in _remembered(transaction).items() if former not in in_use} | dict(ids)
        latest = dict(list(renamed.items())[-_MAX_REMEMBERED:])
        transaction.put_fact(_FACT, msgspec.json.encode(latest).decode())


def _set_id(transaction: Transaction, key: int, skill_id: str) -> None:
    transaction.execute("update skills set id = ? where key = ?", (skill_id, key))
    transaction.execute("update documents set id = ? where key = ?", (skill_id, key))
