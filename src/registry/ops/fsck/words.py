"""The words indexes: readable, and each document in them that the catalog had at their change number."""

import functools
from collections.abc import Iterator
from pathlib import Path

from registry.ops.fsck.drift import Discrepancy, derived
from registry.ops.fsck.parts import Parts
from search.index_sync import IndexSync
from search.inspection import IndexDamaged, LexicalContents, lexical_folders, read_lexical

_NAMED = 5
"""How many documents are named in one line."""


def check(parts: Parts) -> Iterator[Discrepancy]:
    """Yield indexes that are damaged, or hold too much or too little."""
    for indexes in parts.index_folders:
        for folder in lexical_folders(indexes):
            repair = functools.partial(_rebuild, parts, indexes, folder)
            thing = folder.relative_to(parts.settings.data_dir).as_posix()
            for problem in _problems(parts, folder):
                yield derived("words", thing, problem, repair)


def _problems(parts: Parts, folder: Path) -> Iterator[str]:
    try:
        held = read_lexical(folder)
    except IndexDamaged as damage:
        yield f"it is damaged: {damage}"
        return
    if not held.state.identity.startswith(f"{parts.documents.catalog_id}/"):
        yield "it is of another catalog"
        return
    yield from _against_catalog(parts, held)


def _against_catalog(parts: Parts, held: LexicalContents) -> Iterator[str]:
    """Compare an index with the catalog, read after it: what has changed since is not the index's fault."""
    rows = parts.database.read("select key, id, gone, number from documents")
    number, reached = parts.documents.revision(), held.state.revision
    if reached > number:
        yield f"it holds change {reached}, and the catalog has only {number}: was an older database restored?"
        return
    ids = {key: skill_id for key, skill_id, _, _ in rows}
    settled = {key: gone for key, _, gone, changed in rows if changed <= reached}
    there, wanted = set(held.keys.tolist()), {key for key, gone in settled.items() if not gone}
    if missing := wanted - there:
        yield f"{len(missing)} documents are missing in it: {_named(missing, ids)}"
    if extra := there - wanted - (ids.keys() - settled.keys()):
        yield f"{len(extra)} documents are in it that are gone: {_named(extra, ids)}"


def _named(keys: set[int], ids: dict[int, str]) -> str:
    names = sorted(ids.get(key, f"document {key}") for key in keys)
    return ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")


def _rebuild(parts: Parts, indexes: Path, folder: Path) -> None:
    """Make an index anew, which the one in use is until the next start."""
    (folder / "meta.json").unlink(missing_ok=True)  # what has none counts as no index, and is made anew
    index_sync = IndexSync(parts.documents, indexes)
    try:
        index_sync.sync()
    finally:
        index_sync.close()
