"""Rules for the entries of a package: their types, their names compared with each other, and their sizes."""

import stat
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

from registry.domain.findings import Finding
from registry.domain.skill_file import SKILL_FILE, is_skill_file, skill_file_in
from registry.packages.limits import PackageLimits
from registry.packages.paths import MAX_DEPTH, path_faults
from registry.packages.refusal import PackageRefused, security_issue, structure_error, unsafe

_MAX_FAULTS = 50


class PackageEntry(NamedTuple):
    """A file or folder in a zip or a source folder.

    `name` has `/` between its segments, and at its end for a folder. `mode` is a Unix mode, with type 0 if unknown.
    `size` is the declared size in bytes.
    """

    name: str
    mode: int
    size: int

    @property
    def is_folder(self) -> bool:
        """Whether the entry is a folder, according to its name."""
        return self.name.endswith("/")

    @property
    def executable(self) -> bool:
        """Whether an execute bit is set."""
        return bool(self.mode & 0o111)


def check_tree(entries: Iterable[PackageEntry], limits: PackageLimits) -> None:
    """Check entries against the rules. Raises PackageRefused with at most 50 faults."""
    faults: list[Finding] = []
    names: dict[str, str] = {}
    total = 0
    for count, entry in enumerate(entries, 1):
        if count > limits.entries:
            raise too_many_entries(limits)
        faults += path_faults(entry.name)
        faults += _kind_faults(entry)
        faults += _clashes(entry, names)
        faults += _size_faults(entry, limits)
        total += entry.size
        if len(faults) >= _MAX_FAULTS:
            break
    if total > limits.total_bytes:
        faults.append(_total_too_large(limits))
    if faults:
        raise PackageRefused(faults[:_MAX_FAULTS])


class SkillPlace(NamedTuple):
    """Where the skill is in a package: its root, which is empty or a folder's name and `/`, and its SKILL.md."""

    root: str
    file: str


def skill_root(entries: Iterable[str]) -> str:
    """Return the root of the skill: empty, or the name of the only top-level folder with a SKILL.md, and `/`.

    `entries` are the names of all entries. Raises PackageRefused.
    """
    place = skill_place(entries)
    if place.file != SKILL_FILE:
        message = f"rename {place.file} to {SKILL_FILE}: systems that tell cases apart do not find it"
        raise PackageRefused([structure_error("no-skill-file", message, place.root + place.file)])
    return place.root


def skill_place(entries: Iterable[str]) -> SkillPlace:
    """Return the place of the skill as `skill_root` does, also if its SKILL.md has another case."""
    names = [name for name in entries if is_skill_file(name.rpartition("/")[2]) and name.count("/") < 2]
    file = skill_file_in([name for name in names if "/" not in name])
    if file is not None:
        return SkillPlace("", file)
    roots = sorted({name.partition("/")[0] for name in names})
    if not roots:
        raise PackageRefused(
            [structure_error("no-skill-file", f"there is no {SKILL_FILE} at the top level or one level below")]
        )
    if len(roots) > 1:
        raise PackageRefused([structure_error("several-skills", f"several top-level folders contain a {SKILL_FILE}")])
    return SkillPlace(f"{roots[0]}/", str(skill_file_in([name.partition("/")[2] for name in names])))


def too_many_entries(limits: PackageLimits) -> PackageRefused:
    """Return the refusal of a package with too many entries."""
    return unsafe("too-many-entries", f"there are more than {limits.entries:,} entries")


def _kind_faults(entry: PackageEntry) -> list[Finding]:
    kind = stat.S_IFMT(entry.mode)
    if kind == stat.S_IFLNK:
        message = "the entry is a symbolic link: put a copy of the file or folder that it leads to in its place"
        return [security_issue("link", message, entry.name)]
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        return [security_issue("special-file", "the entry is a device, a pipe or a socket", entry.name)]
    if kind and (kind == stat.S_IFDIR) != entry.is_folder:
        return [
            security_issue("kind-mismatch", "the name and the mode disagree whether the entry is a folder", entry.name)
        ]
    # Shared folders often have the setgid bit. It has no effect, because modes are not copied.
    forbidden = stat.S_ISUID if entry.is_folder else stat.S_ISUID | stat.S_ISGID
    if entry.mode & forbidden:
        return [security_issue("setuid", "the setuid or setgid bit is set", entry.name)]
    return []


def _clashes(entry: PackageEntry, names: dict[str, str]) -> list[Finding]:
    """Add an entry and its parent folders to `names`, and return a fault if one clashes with a known name.

    `known` maps names as a case-insensitive, normalising file system sees them to names as written. The name of a
    folder ends with `/`; the name of a folder without an entry ends with `//`.
    """
    parts = entry.name.removesuffix("/").split("/")[: MAX_DEPTH + 1]
    for depth in range(1, len(parts)):
        folder = "/".join(parts[:depth]) + "/"
        before = names.setdefault(_folded(folder), folder + "/")
        if before.rstrip("/") != folder[:-1]:
            return [_near_duplicate(entry.name)]
        if not before.endswith("/"):
            return [security_issue("file-and-folder", "the name is both a file and a folder", entry.name)]
    before = names.get(_folded(entry.name), "")
    if before.endswith("//") and entry.is_folder and before[:-1] == entry.name:
        before = ""
    names[_folded(entry.name)] = entry.name
    if not before:
        return []
    if before.rstrip("/") != entry.name.rstrip("/"):
        return [_near_duplicate(entry.name)]
    if before.endswith("/") != entry.is_folder:
        return [security_issue("file-and-folder", "the name is both a file and a folder", entry.name)]
    return [security_issue("duplicate-name", "two entries have the same name", entry.name)]


def _folded(name: str) -> str:
    """Return the name under canonical caseless matching (Unicode 3.13, D145)."""
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", name.rstrip("/")).casefold())


def _near_duplicate(name: str) -> Finding:
    message = "two names differ only in case or Unicode normalisation, so many file systems treat them as equal"
    return security_issue("duplicate-name", message, name)


def _size_faults(entry: PackageEntry, limits: PackageLimits) -> list[Finding]:
    if entry.is_folder and entry.size:
        return [structure_error("folder-with-content", "the folder entry has content", entry.name)]
    if entry.size > limits.file_bytes:
        return [security_issue("file-too-large", f"the file is larger than {limits.file_bytes:,} bytes", entry.name)]
    return []


def _total_too_large(limits: PackageLimits) -> Finding:
    return security_issue("too-large", f"the total size of the files is larger than {limits.total_bytes:,} bytes")
