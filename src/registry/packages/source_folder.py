"""A folder as a source of entries: a git checkout or a folder on this machine, read without following a link."""

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

Take = Callable[[PackageEntry, Iterator[bytes]], None]


class _Found(NamedTuple):
    entry: PackageEntry
    name: str
    folder: int
    """A descriptor of the folder it lies in, valid until the next one is asked for."""


class SourceFolder:
    """A folder whose names and kinds of files are in order. The repository it may be a checkout of does not count."""

    def __init__(self, folder: Path, limits: PackageLimits) -> None:
        """Look at everything in the folder without reading it. Raises PackageRefused."""
        self._folder = folder
        self.entries: list[PackageEntry] = []
        for found in self._walk():
            self.entries.append(found.entry)
            if len(self.entries) > limits.entries:
                break  # which the rules refuse
        check_tree(self.entries, limits)

    def each(self, take: Take) -> None:
        """Hand over every entry with its content. Raises PackageRefused where something has changed meanwhile."""
        expected = {entry.name: entry for entry in self.entries}
        for found in self._walk():
            if expected.pop(found.entry.name, None) != found.entry:
                raise _changed(found.entry.name)
            take(found.entry, iter(()) if found.entry.is_folder else _content(found))
        for missing in expected:
            raise _changed(missing)

    def _walk(self) -> Iterator[_Found]:
        for at, folders, files, descriptor in os.fwalk(self._folder, onerror=_unreadable, follow_symlinks=False):
            prefix = Path(at).relative_to(self._folder).as_posix() + "/"
            prefix = "" if prefix == "./" else prefix
            for names in (folders, files):
                names[:] = sorted(name for name in names if not _passed_over(name, prefix))
            for name in (*folders, *files):
                yield _Found(_entry(prefix, name, descriptor), name, descriptor)
            if prefix.count("/") > MAX_DEPTH:
                folders.clear()  # refused for its depth already


def _passed_over(name: str, prefix: str) -> bool:
    return (name == ".git" and not prefix) or name.startswith(TEMPORARY_PREFIX)


def _entry(prefix: str, name: str, folder: int) -> PackageEntry:
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        raise _changed(prefix + name) from None
    if stat.S_ISDIR(status.st_mode):
        return PackageEntry(f"{prefix}{name}/", status.st_mode, 0)
    return PackageEntry(prefix + name, status.st_mode, status.st_size)


def _content(found: _Found) -> Iterator[bytes]:
    try:
        descriptor = os.open(found.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=found.folder)
    except OSError:
        raise _unreadable_file(found.entry.name) from None
    with open(descriptor, "rb") as file:  # noqa: PTH123 - of a descriptor
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise _changed(found.entry.name)
        left = found.entry.size
        while chunk := file.read(min(_CHUNK, left + 1)):
            left -= len(chunk)
            if left < 0:
                break
            yield chunk
    if left:
        raise _changed(found.entry.name)


def _changed(name: str) -> PackageRefused:
    return unsafe("changed", "it was changed while it was being read", name)


def _unreadable_file(name: str) -> PackageRefused:
    return PackageRefused([structure_error("unreadable", "it cannot be read", name)])


def _unreadable(error: OSError) -> None:
    raise PackageRefused([structure_error("unreadable", f"a folder cannot be read: {error.strerror}")])
