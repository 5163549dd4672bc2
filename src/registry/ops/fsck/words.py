"""Checks the keyword indexes: their integrity, and their documents against the catalog at their change number."""

import functools
from collections.abc import Iterator
from pathlib import Path

from registry.domain.counts import counted
from registry.ops.fsck.drift import MAX_NAMES, Discrepancy, derived, some_of
from registry.ops.fsck.parts import Parts
from search.index_sync import IndexSync
from search.inspection import IndexDamaged, LexicalContents, lexical_folders, read_lexical

"""How many documents one line names."""


def check(parts: Parts) -> Iterator[Discrepancy]:
    """Yield indexes that are damaged, or have missing or surplus documents."""
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
        yield "it belongs to another catalog"
        return
    yield from _against_catalog(parts, held)


def _against_catalog(parts: Parts, held: LexicalContents) -> Iterator[str]:
    """Compare an index with the catalog, which was read later. Documents that changed since are ignored."""
    rows = parts.database.read("select key, id, gone, number from documents")
    revision, reached = parts.documents.revision(), held.state.revision
    if reached > revision:
        yield f"it holds change {reached}, but the catalog has only {revision}: was an older database restored?"
        return
    ids = {key: skill_id for key, skill_id, _, _ in rows}
    unchanged = {key: gone for key, _, gone, changed in rows if changed <= reached}
    actual, expected = set(held.keys.tolist()), {key for key, gone in unchanged.items() if not gone}
    if missing := expected - actual:
        yield f"it lacks {counted(len(missing), 'document')}: {_named(missing, ids)}"
    if surplus := actual - expected - (ids.keys() - unchanged.keys()):
        yield f"it holds {counted(len(surplus), 'removed document')}: {_named(surplus, ids)}"


def _named(keys: set[int], ids: dict[int, str]) -> str:
    names = sorted(ids.get(key, f"document {key}") for key in keys)
    return some_of(names[:MAX_NAMES], len(names))


def _rebuild(parts: Parts, indexes: Path, folder: Path) -> None:
    """Rebuild an index. The next start of the service uses it."""
    (folder / "meta.json").unlink(missing_ok=True)  # a folder without it counts as no index, and is rebuilt
    index_sync = IndexSync(parts.documents, indexes)
    try:
        index_sync.sync()
    finally:
        index_sync.close()
