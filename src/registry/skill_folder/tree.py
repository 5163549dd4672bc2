"""The files of skill folders: finding the folders, noticing changes, digests, and safe access to single files."""

import contextlib
import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec

from registry.runtime.atomic_files import TEMPORARY_PREFIX

SKILL_FILE = "SKILL.md"

_MAX_DEPTH = 16
_MAX_FILES = 2_000
_NO_SKILLS = frozenset({"node_modules", "lost+found"})

Unlisted = Callable[[Path, OSError], None]
"""Is told of a folder that is there and cannot be listed."""


class FileEntry(msgspec.Struct, frozen=True, order=True):
    """A file of a skill: its path below the folder, with `/`, and its size in bytes."""

    path: str
    size: int


def find_skill_folders(root: Path, unlisted: Unlisted = lambda folder, error: None) -> Iterator[Path]:
    """Yield every folder below `root` that holds a SKILL.md, also within another skill, in order of path.

    `.git`, `node_modules` and our temporary folders are passed over, and what cannot be listed, of which `unlisted` is
    told. A link to a folder is followed only where it stands in `root` itself, once a target, and never to a folder
    `root` is in or holds. Raises OSError where `root` is there and cannot be listed.
    """
    home = root.resolve()
    followed: set[Path] = set()
    for folder in _folders_in(root):
        target = _target(folder)
        if target is not None:
            if target in followed or target in home.parents or target.is_relative_to(home):
                continue
            followed.add(target)
        yield from _skill_folders(folder, 1, unlisted)


def _target(folder: Path) -> Path | None:
    """Return where a link leads, None for what is none, or no longer."""
    try:
        return folder.resolve() if folder.is_symlink() else None
    except (OSError, RuntimeError):  # it leads in a circle now, or was taken away
        return None


def _skill_folders(folder: Path, depth: int, unlisted: Unlisted) -> Iterator[Path]:
    try:
        names, folders = _listing(folder)
    except (FileNotFoundError, NotADirectoryError):  # gone since its name was read, or a file now
        return
    except OSError as error:
        unlisted(folder, error)
        return
    if SKILL_FILE in names:
        yield folder
    if depth < _MAX_DEPTH:
        for name in folders:
            yield from _skill_folders(folder / name, depth + 1, unlisted)


def _folders_in(root: Path) -> list[Path]:
    try:
        with os.scandir(root) as listing:
            names = sorted(entry.name for entry in listing if _is_folder(entry) and _may_hold_skills(entry.name))
    except FileNotFoundError:
        return []
    return [root / name for name in names]


def _is_folder(entry: "os.DirEntry[str]", *, follow_symlinks: bool = True) -> bool:
    try:
        return entry.is_dir(follow_symlinks=follow_symlinks)
    except OSError:  # a link in a circle, or to where we may not look
        return False


def _listing(folder: Path) -> tuple[set[str], list[str]]:
    """Return the names in a folder, and in order those of its real folders that may hold skills. Raises OSError."""
    with os.scandir(folder) as listing:
        entries = list(listing)
    folders = [one.name for one in entries if _is_folder(one, follow_symlinks=False) and _may_hold_skills(one.name)]
    return {entry.name for entry in entries}, sorted(folders)


def _may_hold_skills(name: str) -> bool:
    return name not in _NO_SKILLS and not _passed_over(name)


def _passed_over(name: str) -> bool:
    return name == ".git" or name.startswith(TEMPORARY_PREFIX)


def fingerprint(folder: Path) -> str:
    """Return a short text that changes when a file of the skill does: 32 hexadecimal digits.

    It is made of path, size and modification time of the skill's own files (links as links), at most 2,000 of them;
    skills within this one are left out. Nothing is read. Raises OSError when the folder cannot be listed.
    """
    seen = hashlib.blake2b(digest_size=16)
    for path, entry in _own_files(folder):
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:  # gone since it was listed
            continue
        seen.update(b"%s\0%d %d\n" % (os.fsencode(path), status.st_size, status.st_mtime_ns))
    return seen.hexdigest()


def _own_files(folder: Path) -> list[tuple[str, "os.DirEntry[str]"]]:
    """Return what is not a folder in a skill, skills within it left out: at most 2,000, in order of path."""
    found: list[tuple[str, os.DirEntry[str]]] = []
    waiting = [""]
    while waiting and len(found) < _MAX_FILES:
        prefix = waiting.pop()
        entries = _entries(folder, prefix)
        if prefix and any(entry.name == SKILL_FILE for entry in entries):
            continue
        for entry in entries:
            if _passed_over(entry.name):
                continue
            if _is_folder(entry, follow_symlinks=False):
                waiting.append(f"{prefix}{entry.name}/")
            else:
                found.append((prefix + entry.name, entry))
    return sorted(found[:_MAX_FILES], key=lambda item: item[0])


def _entries(folder: Path, prefix: str) -> list["os.DirEntry[str]"]:
    """List the skill's folder itself, or, as far as that is allowed, a folder within it."""
    try:
        with os.scandir(folder / prefix) as listing:
            return sorted(listing, key=lambda entry: entry.name)
    except OSError:
        if prefix:
            return []
        raise


def list_files(folder: Path) -> list[FileEntry]:
    """Return the skill's own regular files in order of path, at most 2,000; links are left out. Raises OSError.

    A path is what the file system says: it need not be UTF-8 (`registry.file_names`).
    """
    files = []
    for path, entry in _own_files(folder):
        with contextlib.suppress(FileNotFoundError):  # gone since it was listed
            if entry.is_file(follow_symlinks=False):
                files.append(FileEntry(path, entry.stat(follow_symlinks=False).st_size))
    return files


def open_file(folder: Path, relative: str) -> Path:
    """Return where a regular file of the skill really is, given its path below the folder, written with `/`.

    Raises ValueError for a path that leads, or could lead, out of the folder, FileNotFoundError for no such file.
    """
    parts = relative.split("/")
    if any(part in ("", ".", "..") or _passed_over(part) for part in parts):
        raise ValueError("must be a path below the skill's folder")
    if "\\" in relative or any(ord(character) < 32 or ord(character) == 127 for character in relative):
        raise ValueError("must not hold backslashes or control characters")
    home = folder.resolve()
    try:
        path = home.joinpath(*parts).resolve()
        inside, regular = path.is_relative_to(home), path.is_file()
    except (OSError, RuntimeError, ValueError):  # a name too long, links in a circle, a lone surrogate
        raise FileNotFoundError(relative) from None
    if not inside:
        raise ValueError("must not leave the skill's folder")
    if not regular:
        raise FileNotFoundError(relative)
    return path


def tree_digest(folder: Path) -> str:
    """Return `sha256:` and the digest of everything below the folder, whatever the order, times or modes.

    The SHA-256 is taken over one record a file, sorted as bytes: the path below the folder with `/`, a NUL, the
    SHA-256 of the content in lower-case hexadecimal, a line feed. A link counts as `link:` and its target in place
    of the digest. Empty folders, `.git` and our temporary files do not count. Raises OSError.
    """
    return digest_of_files((path, _content_digest(where)) for path, where in _every_file(folder))


def digest_of_files(files: Iterable[tuple[str, bytes]]) -> str:
    """Return the `tree_digest` of files, each given as its path and what stands for its content."""
    records = sorted(b"%s\0%s\n" % (os.fsencode(path), content) for path, content in files)
    return "sha256:" + hashlib.sha256(b"".join(records)).hexdigest()


def _every_file(folder: Path) -> Iterator[tuple[str, Path]]:
    waiting = [""]
    while waiting:
        prefix = waiting.pop()
        with os.scandir(folder / prefix) as listing:
            entries = [entry for entry in listing if not _passed_over(entry.name)]
        waiting += [f"{prefix}{entry.name}/" for entry in entries if entry.is_dir(follow_symlinks=False)]
        for entry in entries:
            if not entry.is_dir(follow_symlinks=False):
                yield prefix + entry.name, Path(entry.path)


def _content_digest(path: Path) -> bytes:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return b"link:" + os.fsencode(path.readlink())
    if not stat.S_ISREG(mode):
        return b"special"
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest().encode()
