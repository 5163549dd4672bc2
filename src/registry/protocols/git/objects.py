"""The objects of git, made of the files of skills."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from dulwich.index import commit_tree
from dulwich.object_store import MemoryObjectStore
from dulwich.objects import Blob, Commit, ObjectID, ShaFile

from registry.services.skill_files import PackagedFile

_FILE, _EXECUTABLE, _FOLDER = 0o100644, 0o100755, 0o040000
_PERSON = b"Skill Registry <skill-registry@localhost>"
_TIME = 946_684_800
"""1 January 2000: a commit follows from its files alone, whenever and wherever it is made."""


class Entry(NamedTuple):
    """An entry of a tree: the mode of a file or folder, and the id of its object."""

    mode: int
    id: ObjectID


def blob(data: bytes) -> Blob:
    """Return the object of the bytes of a file."""
    return Blob.from_string(data)


def file_entry(file: Blob, *, executable: bool = False) -> Entry:
    """Return the entry of a file in a tree."""
    return Entry(_EXECUTABLE if executable else _FILE, file.id)


def folder_entry(tree: ObjectID) -> Entry:
    """Return the entry of a folder, whose tree has this id."""
    return Entry(_FOLDER, tree)


def trees(entries: Mapping[str, Entry]) -> list[ShaFile]:
    """Return the trees of a folder, given the entries below it by path. The tree of the folder itself is the last."""
    store = MemoryObjectStore()
    root = commit_tree(store, [(path.encode(), entry.id, entry.mode) for path, entry in entries.items()])
    return [*(store[name] for name in store if name != root), store[root]]


def folder_objects(files: Mapping[str, PackagedFile]) -> Iterator[ShaFile]:
    """Yield the objects of a folder with these files. Its tree is the last."""
    entries = {}
    for path, file in files.items():
        content = blob(file.data)
        entries[path] = file_entry(content, executable=file.executable)
        yield content
    yield from trees(entries)


def commit(tree: ObjectID, message: str) -> Commit:
    """Return the commit, without a parent, of the tree with this id."""
    result = Commit()
    result.tree = tree
    result.author = result.committer = _PERSON
    result.author_time = result.commit_time = _TIME
    result.author_timezone = result.commit_timezone = 0
    result.message = f"{message}\n".encode()
    return result
