"""Inspection of index files while another process may write them: takes no writer's lock, changes no file."""

from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import tantivy

from search import integrity
from search.lexical.disk_segment import IndexState, read_state
from search.types import Keys


class IndexDamaged(Exception):
    """An index is damaged. The message says how."""


class LexicalContents(NamedTuple):
    """The state of a keyword index, and the keys of its documents."""

    state: IndexState
    keys: Keys


def lexical_folders(indexes: Path) -> list[Path]:
    """Return the keyword index that is in use in a folder of index files: the newest, or none."""
    folders = sorted(indexes.glob("words-*"), key=lambda folder: (len(folder.name), folder.name))
    return folders[-1:]


def read_lexical_state(folder: Path) -> IndexState:
    """Return the state of a keyword index, without checking its other files. Raises IndexDamaged."""
    try:
        return read_state(folder)
    except (OSError, msgspec.DecodeError) as error:
        raise IndexDamaged(str(error)) from None


def read_lexical(folder: Path) -> LexicalContents:
    """Return the contents of the keyword index in `folder` at its last commit. Raises IndexDamaged.

    If another process writes it meanwhile, the documents may be newer than the state.
    """
    state = read_lexical_state(folder)
    try:
        if fault := integrity.tantivy_fault(folder):
            raise IndexDamaged(fault)
        index = tantivy.Index.open(str(folder))
        searcher = index.searcher()
        limit = max(1, searcher.num_docs)
        hits = searcher.search(tantivy.Query.exists_query("key"), limit, count=False).hits
        keys = searcher.fast_field_values("key", [address for _, address in hits])
    except (OSError, ValueError, IndexError) as error:
        raise IndexDamaged(str(error)) from None
    return LexicalContents(state, np.array(keys, np.int64))


class SnapshotInfo(msgspec.Struct):
    """The sidecar of a vector snapshot: its catalog, space, revision, number of vectors and IVF file, if it has one.

    The JSON fields of `revision` and `ivf_file` are `number` and `clusters`: their names in existing snapshots.
    """

    catalog: str
    space: str
    revision: int = msgspec.field(name="number")
    count: int
    ivf_file: str | None = msgspec.field(name="clusters")


def vector_snapshots(indexes: Path) -> list[Path]:
    """Return the vector snapshots in a folder of index files: for each, the path of its flat segment."""
    return sorted(indexes.glob("vectors-*.npz"))


def read_snapshot_info(path: Path) -> SnapshotInfo:
    """Return the sidecar of the vector snapshot at `path`. Raises IndexDamaged if a checksum does not match."""
    metadata = integrity.read_sidecar(path)
    if metadata is None:
        raise IndexDamaged("its checksum does not match")
    try:
        info = msgspec.convert(metadata, SnapshotInfo)
    except msgspec.ValidationError as error:
        raise IndexDamaged(f"its sidecar cannot be read: {error}") from None
    if info.ivf_file is not None and integrity.read_sidecar(path.with_name(Path(info.ivf_file).name)) is None:
        raise IndexDamaged("its IVF file is missing, or its checksum does not match")
    return info
