"""The objects of git, made of the files of skills."""

import hashlib
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

from registry.services.skill_files import PackagedFile

Kind = Literal["commit", "tree", "blob"]

KIND_NUMBERS: Mapping[Kind, int] = MappingProxyType({"commit": 1, "tree": 2, "blob": 3})
"""The numbers of the kinds in a pack (gitformat-pack)."""

_FILE, _EXECUTABLE, _FOLDER = b"100644", b"100755", b"40000"
_PERSON = "Skill Registry <skill-registry@localhost>"
_DATE = 946_684_800
"""1 January 2000: a commit follows from its files alone, whenever and wherever it is made."""


class GitObject(NamedTuple):
    """An object. `digest` is its name: 20 bytes of SHA-1."""

    digest: bytes
    kind: Kind
    data: bytes


class Entry(NamedTuple):
    """An entry of a tree: the mode of a file or folder, and the digest of its object."""

    mode: bytes
    digest: bytes


def blob(data: bytes) -> GitObject:
    """Return the object of the bytes of a file."""
    return _object("blob", data)


def file_entry(file: GitObject, *, executable: bool = False) -> Entry:
    """Return the entry of a file in a tree."""
    return Entry(_EXECUTABLE if executable else _FILE, file.digest)


def folder_entry(digest: bytes) -> Entry:
    """Return the entry of a folder, whose tree has this digest."""
    return Entry(_FOLDER, digest)


def trees(entries: Mapping[str, Entry]) -> Iterator[GitObject]:
    """Yield the trees of a folder, given the entries below it by path. The tree of the folder itself is the last."""
    here = {path: entry for path, entry in entries.items() if "/" not in path}
    below: dict[str, dict[str, Entry]] = {}
    for path, entry in entries.items():
        folder, separator, rest = path.partition("/")
        if separator:
            below.setdefault(folder, {})[rest] = entry
    for folder, inside in below.items():
        *others, tree = trees(inside)
        yield from others
        yield tree
        here[folder] = folder_entry(tree.digest)
    lines = sorted((_sort_key(name, entry), name, entry) for name, entry in here.items())
    yield _object(
        "tree", b"".join(b"%s %s\0%s" % (entry.mode, name.encode(), entry.digest) for _, name, entry in lines)
    )


def _sort_key(name: str, entry: Entry) -> bytes:
    return name.encode() + b"/" * (entry.mode == _FOLDER)


def folder_objects(files: Mapping[str, PackagedFile]) -> Iterator[GitObject]:
    """Yield the objects of a folder with these files. Its tree is the last."""
    entries = {}
    for path, file in files.items():
        content = blob(file.data)
        entries[path] = file_entry(content, executable=file.executable)
        yield content
    yield from trees(entries)


def commit(tree: bytes, message: str) -> GitObject:
    """Return the commit, without a parent, of the tree with this digest."""
    person = f"{_PERSON} {_DATE} +0000"
    return _object("commit", f"tree {tree.hex()}\nauthor {person}\ncommitter {person}\n\n{message}\n".encode())


def _object(kind: Kind, data: bytes) -> GitObject:
    digest = hashlib.sha1(b"%s %d\0" % (kind.encode(), len(data)), usedforsecurity=False)
    digest.update(data)
    return GitObject(digest.digest(), kind, data)
