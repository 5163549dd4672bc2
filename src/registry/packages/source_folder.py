"""Reads the entries of a folder, such as a git checkout, without following links."""

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from registry.packages.limits import PackageLimits
from registry.packages.paths import MAX_DEPTH
from registry.packages.refusal import PackageRefused, structure_error, unsafe
from registry.packages.tree import PackageEntry, check_tree
from registry.runtime.atomic_files import TEMPORARY_PREFIX

_CHUNK = 64 * 1024

EntryHandler = Callable[[PackageEntry, Iterator[bytes]], None]
LeavesOut = Callable[[str], bool]
"""Whether a path in the folder is left out. That of a folder ends with `/`, and stands for everything in it."""


class _FolderItem(NamedTuple):
    entry: PackageEntry
    name: str
    folder: int
    """A descriptor of the parent folder, valid until the next item is requested."""


class SourceFolder:
    """A folder with valid names and file types. A `.git` at its top level is ignored.

    Args:
        folder: The folder.
        limits: The limits of its files.
        leaves_out: What else is ignored, by path. Without it, nothing.
    """

    def __init__(self, folder: Path, limits: PackageLimits, leaves_out: LeavesOut | None = None) -> None:
        """List the folder recursively without reading files. Raises PackageRefused."""
        self._folder = folder
        self._leaves_out = leaves_out
        self.entries: list[PackageEntry] = []
        for item in self._walk():
            self.entries.append(item.entry)
            if len(self.entries) > limits.entries:
                break  # check_tree refuses it
        check_tree(self.entries, limits)

    def for_each(self, handle: EntryHandler) -> None:
        """Call `handle` with every entry and its content. Raises PackageRefused if the folder changed meanwhile."""
        expected = {entry.name: entry for entry in self.entries}
        for item in self._walk():
            if expected.pop(item.entry.name, None) != item.entry:
                raise _changed(item.entry.name)
            handle(item.entry, iter(()) if item.entry.is_folder else _content(item))
        for missing in expected:
            raise _changed(missing)

    def contents(self) -> Iterator[tuple[str, bytes]]:
        """Yield the name and the content of every file, without a look for changes. Raises PackageRefused."""
        for entry in self.entries:
            if not entry.is_folder:
                yield entry.name, _bytes(f"{self._folder}/{entry.name}", entry)

    def _walk(self) -> Iterator[_FolderItem]:
        top = len(str(self._folder))
        for at, folders, files, descriptor in os.fwalk(str(self._folder), onerror=_unreadable, follow_symlinks=False):
            prefix = f"{at[top:]}/".removeprefix("/")
            for names, end in ((folders, "/"), (files, "")):
                names[:] = sorted(name for name in names if not self._is_skipped(prefix, name, end))
            for name in (*folders, *files):
                yield _FolderItem(_entry(prefix, name, descriptor), name, descriptor)
            if prefix.count("/") > MAX_DEPTH:
                folders.clear()  # its depth is refused already

    def _is_skipped(self, prefix: str, name: str, end: str) -> bool:
        if (name == ".git" and not prefix) or name.startswith(TEMPORARY_PREFIX):
            return True
        return self._leaves_out is not None and self._leaves_out(f"{prefix}{name}{end}")


def _entry(prefix: str, name: str, folder: int) -> PackageEntry:
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        raise _changed(prefix + name) from None
    if stat.S_ISDIR(status.st_mode):
        return PackageEntry(f"{prefix}{name}/", status.st_mode, 0)
    return PackageEntry(prefix + name, status.st_mode, status.st_size)


def _content(item: _FolderItem) -> Iterator[bytes]:
    try:
        descriptor = os.open(item.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=item.folder)
    except OSError:
        raise _unreadable_file(item.entry.name) from None
    with open(descriptor, "rb") as file:  # noqa: PTH123 - of a descriptor
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise _changed(item.entry.name)
        left = item.entry.size
        while chunk := file.read(min(_CHUNK, left + 1)):
            left -= len(chunk)
            if left < 0:
                break
            yield chunk
    if left:
        raise _changed(item.entry.name)


def _bytes(path: str, entry: PackageEntry) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, "rb", buffering=0) as file:  # noqa: PTH123 - of a descriptor
            return file.read(entry.size) or b""
    except OSError:
        raise _unreadable_file(entry.name) from None


def _changed(name: str) -> PackageRefused:
    return unsafe("changed", "the file or folder changed while it was read", name)


def _unreadable_file(name: str) -> PackageRefused:
    return PackageRefused([structure_error("unreadable", "the file cannot be read", name)])


def _unreadable(error: OSError) -> None:
    raise PackageRefused([structure_error("unreadable", f"a folder cannot be read: {error.strerror}")])
