"""Rules for the entries of a package together: what they are, how they go together, how much they hold."""

import stat
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

from registry.domain.findings import Finding
from registry.packages.limits import PackageLimits
from registry.packages.paths import MAX_DEPTH, path_faults
from registry.packages.refusal import PackageRefused, security_issue, structure_error, unsafe

_MAX_FAULTS = 50


class PackageEntry(NamedTuple):
    """A file or folder as its source names it.

    `name` has `/` between its parts and at the end of a folder's; `mode` is a Unix mode, its type 0 where unknown;
    `size` is what the source says.
    """

    name: str
    mode: int
    size: int

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder, by its name."""
        return self.name.endswith("/")

    @property
    def executable(self) -> bool:
        """Whether anybody may execute it."""
        return bool(self.mode & 0o111)


def check_tree(entries: Iterable[PackageEntry], limits: PackageLimits) -> None:
    """Refuse entries that break a rule, with all their faults up to fifty. Raises PackageRefused."""
    faults: list[Finding] = []
    known: dict[str, str] = {}
    total = 0
    for count, entry in enumerate(entries, 1):
        if count > limits.entries:
            raise too_many_entries(limits)
        faults += path_faults(entry.name)
        faults += _kind_faults(entry)
        faults += _clashes(entry, known)
        faults += _size_faults(entry, limits)
        total += entry.size
        if len(faults) >= _MAX_FAULTS:
            break
    if total > limits.total_bytes:
        faults.append(_too_large_in_all(limits))
    if faults:
        raise PackageRefused(faults[:_MAX_FAULTS])


def too_many_entries(limits: PackageLimits) -> PackageRefused:
    """Return the refusal of more entries than are allowed."""
    return unsafe("too-many-entries", f"there are more than {limits.entries:,} entries")


def _kind_faults(entry: PackageEntry) -> list[Finding]:
    kind = stat.S_IFMT(entry.mode)
    if kind == stat.S_IFLNK:
        return [security_issue("link", "there is a symbolic link", entry.name)]
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        return [security_issue("special-file", "there is a device, a pipe or a socket", entry.name)]
    if kind and (kind == stat.S_IFDIR) != entry.is_folder:
        return [security_issue("kind-mismatch", "an entry is a file by its name and a folder by its mode", entry.name)]
    # Folders of shared directories often carry the group bit; as no mode is taken over, it means nothing.
    forbidden = stat.S_ISUID if entry.is_folder else stat.S_ISUID | stat.S_ISGID
    if entry.mode & forbidden:
        return [security_issue("setuid", "a file would run with the rights of its owner", entry.name)]
    return []


def _clashes(entry: PackageEntry, known: dict[str, str]) -> list[Finding]:
    """Note an entry and the folders it lies in; tell where one of them is known under the same name, or nearly.

    `known` has the name as written, with `/` at the end of a folder's, by what a file system without case and with
    normalised names makes of it; a folder that is only implied has a second `/`.
    """
    parts = entry.name.removesuffix("/").split("/")[: MAX_DEPTH + 1]
    for depth in range(1, len(parts)):
        folder = "/".join(parts[:depth]) + "/"
        before = known.setdefault(_folded(folder), folder + "/")
        if before.rstrip("/") != folder[:-1]:
            return [_alike(entry.name)]
        if not before.endswith("/"):
            return [security_issue("file-and-folder", "one name is both a file and a folder", entry.name)]
    before = known.get(_folded(entry.name), "")
    if before.endswith("//") and entry.is_folder and before[:-1] == entry.name:
        before = ""
    known[_folded(entry.name)] = entry.name
    if not before:
        return []
    if before.rstrip("/") != entry.name.rstrip("/"):
        return [_alike(entry.name)]
    if before.endswith("/") != entry.is_folder:
        return [security_issue("file-and-folder", "one name is both a file and a folder", entry.name)]
    return [security_issue("duplicate-name", "there are two entries of one name", entry.name)]


def _folded(name: str) -> str:
    """Return the name under canonical caseless matching (Unicode 3.13, D145)."""
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", name.rstrip("/")).casefold())


def _alike(name: str) -> Finding:
    message = "two names differ only in case or in how Unicode writes them, and are one name on many systems"
    return security_issue("duplicate-name", message, name)


def _size_faults(entry: PackageEntry, limits: PackageLimits) -> list[Finding]:
    if entry.is_folder and entry.size:
        return [structure_error("folder-with-content", "a folder has content of its own", entry.name)]
    if entry.size > limits.file_bytes:
        return [security_issue("file-too-large", f"a file is larger than {limits.file_bytes:,} bytes", entry.name)]
    return []


def _too_large_in_all(limits: PackageLimits) -> Finding:
    return security_issue("too-large", f"the files are larger than {limits.total_bytes:,} bytes in all")
