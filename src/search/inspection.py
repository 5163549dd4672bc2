"""What index files hold, read beside whoever writes them: nothing here takes a writer's lock or changes a file."""

from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import tantivy

from search import integrity
from search.lexical.disk_segment import IndexState
from search.types import Keys


class IndexDamaged(Exception):
    """An index cannot be trusted; the message says why."""


class LexicalContents(NamedTuple):
    """What a words index says of itself, and the keys of the documents in it."""

    state: IndexState
    keys: Keys


def words_folders(indexes: Path) -> list[Path]:
    """Return the words index that is in use below a folder of index files: the newest, or none."""
    folders = sorted(indexes.glob("words-*"), key=lambda folder: (len(folder.name), folder.name))
    return folders[-1:]


def words_held(folder: Path) -> LexicalContents:
    """Return what the words index in `folder` holds as of its last commit. Raises IndexDamaged."""
    try:
        if fault := integrity.tantivy_fault(folder):
            raise IndexDamaged(fault)
        index = tantivy.Index.open(str(folder))
        searcher = index.searcher()
        schema = index.schema
        marker = searcher.search(tantivy.Query.term_query(schema, "state", "state", "basic"), 1, count=False).hits
        if not marker:
            raise IndexDamaged("it holds no state")
        state = msgspec.json.decode(searcher.doc(marker[0][1]).get_all("state")[1], type=IndexState)
        every = max(1, searcher.num_docs)
        hits = searcher.search(tantivy.Query.exists_query("key"), every, count=False).hits
        keys = searcher.fast_field_values("key", [address for _, address in hits])
    except (OSError, ValueError, IndexError, msgspec.DecodeError) as error:
        raise IndexDamaged(str(error)) from None
    return LexicalContents(state, np.array(keys, np.int64))


class SnapshotInfo(msgspec.Struct):
    """What the sidecar of a vector snapshot says: whose vectors, of which change, how many, the file of the rest."""

    catalog: str
    space: str
    number: int
    count: int
    clusters: str | None


def snapshots(indexes: Path) -> list[Path]:
    """Return the vector snapshots in a folder of index files, each without its file of clusters."""
    return sorted(indexes.glob("vectors-*.npz"))


def snapshot_held(path: Path) -> SnapshotInfo:
    """Return what the snapshot of vectors at `path` holds. Raises IndexDamaged where a checksum does not agree."""
    facts = integrity.read_sidecar(path)
    if facts is None:
        raise IndexDamaged("its checksum does not agree")
    try:
        held = msgspec.convert(facts, SnapshotInfo)
    except msgspec.ValidationError as error:
        raise IndexDamaged(f"its description cannot be read: {error}") from None
    if held.clusters is not None and integrity.read_sidecar(path.with_name(Path(held.clusters).name)) is None:
        raise IndexDamaged("its clusters are missing, or their checksum does not agree")
    return held
