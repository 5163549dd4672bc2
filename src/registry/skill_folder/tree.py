"""Finds skill folders, detects changes, computes digests, and gives safe access to single files."""

import contextlib
import errno
import hashlib
import os
from collections.abc import Callable, Container, Iterable, Iterator
from pathlib import Path

import msgspec

from registry.domain import skill_file
from registry.domain.generated_files import is_generated
from registry.runtime.atomic_files import TEMPORARY_PREFIX

SKILL_FILE = skill_file.SKILL_FILE
skill_file_in = skill_file.skill_file_in

_MAX_DEPTH = 16
_MAX_FILES = 2_000
_CHUNK = 64 * 1024
_MOST_TEXT, _LOOKED_AT = 16 << 20, 8000
"""The most bytes of a text whose line ends are looked at, and those in which git looks for a NUL, which no text has."""


class _IgnoredFolders:
    """The names of folders in which no skill is searched, as a container."""

    def __contains__(self, name: object) -> bool:
        return name == "lost+found" or (isinstance(name, str) and is_generated(name))


_IGNORED_FOLDERS = _IgnoredFolders()

OnUnreadable = Callable[[Path, OSError], None]
"""Called for each folder that exists and cannot be listed."""


class FileEntry(msgspec.Struct, frozen=True, order=True):
    """A file of a skill: its path below the folder, separated by `/`, and its size in bytes."""

    path: str
    size: int


def find_skill_folders(
    root: Path, on_unreadable: OnUnreadable = lambda folder, error: None, *, ignored: Container[str] = _IGNORED_FOLDERS
) -> Iterator[Path]:
    """Yield every folder below `root` that contains a SKILL.md, in order of path, but none below a skill.

    The case of the file's name does not count. `.git`, our temporary folders and those with an `ignored` name are
    skipped. Folders that cannot be listed are skipped after a call of `on_unreadable`. Only links in `root` itself are
    followed, one per target, and never to a parent or subfolder of `root`; those that lead nowhere cannot be listed.
    Raises OSError if `root` cannot be listed.
    """
    resolved_root = root.resolve()
    followed: set[Path] = set()
    for folder in _folders_in(root, on_unreadable, ignored):
        target = _target(folder)
        if target is not None:
            if target in followed or target in resolved_root.parents or target.is_relative_to(resolved_root):
                continue
            followed.add(target)
        yield from _skill_folders(folder, 1, on_unreadable, ignored)


def _target(folder: Path) -> Path | None:
    """Return the target of a link; None if the folder is not a link, or no longer one."""
    try:
        return folder.resolve() if folder.is_symlink() else None
    except (OSError, RuntimeError):  # a loop of links, or just removed
        return None


def _skill_folders(folder: Path, depth: int, on_unreadable: OnUnreadable, ignored: Container[str]) -> Iterator[Path]:
    try:
        names, folders = _listing(folder, ignored)
    except (FileNotFoundError, NotADirectoryError):  # removed or replaced by a file in the meantime
        return
    except OSError as error:
        on_unreadable(folder, error)
        return
    if skill_file_in(names) is not None:
        yield folder
    elif depth < _MAX_DEPTH:
        for name in folders:
            yield from _skill_folders(folder / name, depth + 1, on_unreadable, ignored)


def _folders_in(root: Path, on_unreadable: OnUnreadable, ignored: Container[str]) -> Iterator[Path]:
    try:
        with os.scandir(root) as listing:
            entries = [entry for entry in listing if _is_searched(entry.name, ignored)]
    except FileNotFoundError:
        return
    for entry in sorted(entries, key=lambda entry: entry.name):
        folder = root / entry.name
        if _is_folder(entry):
            yield folder
        elif entry.is_symlink() and not folder.exists() and not entry.name.startswith("."):  # as editors make them
            on_unreadable(folder, FileNotFoundError(errno.ENOENT, "the link leads nowhere"))


def _is_folder(entry: "os.DirEntry[str]", *, follow_symlinks: bool = True) -> bool:
    try:
        return entry.is_dir(follow_symlinks=follow_symlinks)
    except OSError:  # a loop of links, or no permission
        return False


def _listing(folder: Path, ignored: Container[str]) -> tuple[set[str], list[str]]:
    """Return all names in a folder, and the sorted names of its folders (no links) to search. Raises OSError."""
    with os.scandir(folder) as listing:
        entries = list(listing)
    folders = [item.name for item in entries if _is_folder(item, follow_symlinks=False)]
    searched = sorted(name for name in folders if _is_searched(name, ignored))
    return {entry.name for entry in entries}, searched


def _is_searched(name: str, ignored: Container[str]) -> bool:
    return name not in ignored and name != ".git" and not name.startswith(TEMPORARY_PREFIX)


def _is_skipped(name: str) -> bool:
    return is_generated(name) or name.startswith(TEMPORARY_PREFIX)


def find_skill_file(folder: Path) -> Path | None:
    """Return the SKILL.md of a folder, also if its name is in another case; None if there is none.

    Raises OSError if the folder cannot be listed.
    """
    name = skill_file_in(os.listdir(folder))  # noqa: PTH208 - paths are not needed
    return None if name is None else folder / name


def has_skill_file(folder: Path) -> bool:
    """Return whether a folder exists, can be listed and has a SKILL.md, in any case of its name."""
    try:
        path = find_skill_file(folder)
    except OSError:
        return False
    # Unlike Path.is_file, os.path.isfile does not raise if the folder is not accessible.
    return path is not None and os.path.isfile(path)  # noqa: PTH113


def fingerprint(folder: Path) -> str:
    """Return a text that changes when a file of the skill changes: 32 hexadecimal digits.

    It is a hash of path, size and modification time of the skill's files (links as links), at most 2,000 of them.
    No file is read. Raises OSError if the folder cannot be listed.
    """
    states: list[tuple[str, os.stat_result]] = []
    for path, entry in _own_files(folder):
        with contextlib.suppress(FileNotFoundError):  # removed since it was listed
            states.append((path, entry.stat(follow_symlinks=False)))
    return fingerprint_of_files(states)


def fingerprint_of_files(files: Iterable[tuple[str, os.stat_result]]) -> str:
    """Return the `fingerprint` of a folder with these files, given in order of path."""
    digest = hashlib.blake2b(digest_size=16)
    for path, status in files:
        digest.update(b"%s\0%d %d\n" % (os.fsencode(path), status.st_size, status.st_mtime_ns))
    return digest.hexdigest()


def _own_files(folder: Path) -> list[tuple[str, "os.DirEntry[str]"]]:
    """Return at most 2,000 files and links of a skill, in order of path."""
    files: list[tuple[str, os.DirEntry[str]]] = []
    pending = [""]
    while pending and len(files) < _MAX_FILES:
        prefix = pending.pop()
        for entry in _entries(folder, prefix):
            if _is_skipped(entry.name):
                continue
            if _is_folder(entry, follow_symlinks=False):
                pending.append(f"{prefix}{entry.name}/")
            else:
                files.append((prefix + entry.name, entry))
    return sorted(files[:_MAX_FILES], key=lambda item: item[0])


def _entries(folder: Path, prefix: str) -> list["os.DirEntry[str]"]:
    """List a folder of the skill. Raises OSError only for the top folder; others that fail are empty."""
    try:
        with os.scandir(f"{folder}/{prefix}") as listing:
            return sorted(listing, key=lambda entry: entry.name)
    except OSError:
        if prefix:
            return []
        raise


def list_files(folder: Path) -> list[FileEntry]:
    """Return at most 2,000 regular files of the skill, without links, in order of path. Raises OSError.

    A path is as the file system has it: it may not be UTF-8 (`registry.domain.file_names`).
    """
    files = []
    for path, entry in _own_files(folder):
        with contextlib.suppress(FileNotFoundError):  # removed since it was listed
            if entry.is_file(follow_symlinks=False):
                files.append(FileEntry(path, entry.stat(follow_symlinks=False).st_size))
    return files


def open_file(folder: Path, relative: str) -> Path:
    """Return the resolved path of a regular file of the skill, given its path below the folder, separated by `/`.

    Raises ValueError for a path that leads, or could lead, out of the folder, and FileNotFoundError.
    """
    parts = relative.split("/")
    if any(part in ("", ".", "..") or _is_skipped(part) for part in parts):
        raise ValueError("must be a path below the skill's folder")
    if "\\" in relative or any(ord(character) < 32 or ord(character) == 127 for character in relative):
        raise ValueError("must not contain backslashes or control characters")
    resolved = folder.resolve()
    try:
        named = resolved.joinpath(*parts)
        if not named.is_file():  # one system call; resolving takes one for each of thousands of parts
            raise FileNotFoundError(relative)
        path = named.resolve()
        is_inside, is_file = path.is_relative_to(resolved), path.is_file()
    except (OSError, RuntimeError, ValueError):  # a name that is too long, a loop of links, a lone surrogate
        raise FileNotFoundError(relative) from None
    if not is_inside:
        raise ValueError("must not lead out of the skill's folder")
    if not is_file:
        raise FileNotFoundError(relative)
    return path


def tree_digest(folder: Path) -> str:
    """Return `sha256:` and the digest of all files below the folder, independent of order, times and modes.

    The SHA-256 covers one record per file, sorted as bytes: the path below the folder with `/`, a NUL, the SHA-256 of
    the content in lower-case hexadecimal, a line feed. A link has `link:` and its target instead of the digest. Empty
    folders, generated files and our temporary ones are excluded. Raises OSError.
    """
    return digest_of_files(file_digests(folder).items())


def file_digests(folder: Path) -> dict[str, bytes]:
    """Return each path that a `tree_digest` covers, with the digest part of its record. Raises OSError."""
    return {path: _content_digest(entry) for path, entry in _every_file(folder)}


def has_digest(folder: Path, digest: str) -> bool:
    """Return whether the files below the folder are those of a `tree_digest`. Raises OSError."""
    return tree_digest(folder) == digest


def differs_in_line_ends(folder: Path, digest: str) -> bool:
    """Return whether files have a `tree_digest` but for the ends of lines, which git changes on some machines.

    Raises OSError.
    """
    every = [(path, _digests_by_line_end(entry)) for path, entry in _every_file(folder)]
    return any(digest_of_files((path, each[kind]) for path, each in every) == digest for kind in (0, 1))


def _digests_by_line_end(entry: "os.DirEntry[str]") -> tuple[bytes, bytes]:
    """Return the digest part of a record with LF, and with CRLF, at the ends of lines if git takes it for a text."""
    if entry.is_file(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_size <= _MOST_TEXT:
        data = Path(entry.path).read_bytes()
        if b"\0" not in data[:_LOOKED_AT]:
            with_lf = data.replace(b"\r\n", b"\n")
            texts = with_lf, with_lf.replace(b"\n", b"\r\n")
            return hashlib.sha256(texts[0]).hexdigest().encode(), hashlib.sha256(texts[1]).hexdigest().encode()
    return (same := _content_digest(entry)), same


def digest_of_files(files: Iterable[tuple[str, bytes]]) -> str:
    """Return the `tree_digest` of files, each given as its path and the digest part of its record."""
    records = sorted(b"%s\0%s\n" % (os.fsencode(path), content) for path, content in files)
    return "sha256:" + hashlib.sha256(b"".join(records)).hexdigest()


def _every_file(folder: Path) -> Iterator[tuple[str, "os.DirEntry[str]"]]:
    pending = [""]
    while pending:
        prefix = pending.pop()
        with os.scandir(f"{folder}/{prefix}") as listing:
            entries = [entry for entry in listing if not _is_skipped(entry.name)]
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                pending.append(f"{prefix}{entry.name}/")
            else:
                yield prefix + entry.name, entry


def _content_digest(entry: "os.DirEntry[str]") -> bytes:
    if entry.is_symlink():
        return b"link:" + os.fsencode(os.readlink(entry.path))  # noqa: PTH115 - a path for each file costs more
    if not entry.is_file(follow_symlinks=False):
        return b"special"
    digest = hashlib.sha256()
    with open(entry.path, "rb", buffering=0) as file:  # noqa: PTH123
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest().encode()
