"""Replaces the links in a checkout by what they lead to in the same commit, and says which it leaves out.

A checkout writes each link as a file with the link's target as its text, so that nothing on disk leads out of it. Here
a link to a file or folder of the repository becomes a copy. Every other link is removed.
"""

import itertools
import posixpath
import re
import shutil
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from registry.domain.file_names import printable_name
from registry.domain.skill_file import is_skill_file
from registry.outbound.git_run import GitError, GitRun

LINK, SUBMODULE = "120000", "160000"
_MAX_LINKS = 1_000
_MAX_CHAIN = 8
_MAX_TARGET = 4_096
_UNSAFE = re.compile(r"(?:^|/)(?:\.{0,2}|\.git|git~[0-9]+)(?:/|$)", re.IGNORECASE)
"""Paths of a malicious tree that would lead out of the checkout, or into its `.git`."""


class TreeEntry(NamedTuple):
    """A file, link or submodule of a commit: its mode in octal, its size in bytes, and its path."""

    mode: str
    size: int
    path: str

    @property
    def is_link(self) -> bool:
        """Whether the entry is a symbolic link."""
        return self.mode == LINK


class CheckoutNote(NamedTuple):
    """What a checkout lacks at a path of the repository."""

    path: str
    message: str

    @property
    def text(self) -> str:
        """What is said of the path, for people."""
        return f"{printable_name(self.path)} {self.message}"


def _prefix(folder: str) -> str:
    """Return how the paths below a folder of the repository begin; `.` is the root."""
    return "" if folder == "." else f"{folder}/"


def tree_entries(run: GitRun, commit: str, folder: str = ".") -> list[TreeEntry]:
    """Return the files, links and submodules of a commit below a folder. Raises GitError."""
    listing = run("ls-tree", "-r", "-l", "-z", "--full-tree", commit, "--", folder)
    return [_entry(line) for line in listing.split("\0") if line]


def _entry(line: str) -> TreeEntry:
    facts, _, path = line.partition("\t")
    mode, _, _, size = facts.split()
    return TreeEntry(mode, int(size) if size.isdigit() else 0, path)


class Links:
    """The links of a commit that is checked out.

    Args:
        run: Runs git in the folder of the checkout.
        commit: The commit.
        root: The folder of the checkout.
        spare: The bytes and files that copies may add.
    """

    def __init__(self, run: GitRun, commit: str, root: Path, spare: tuple[int, int]) -> None:
        self._run = run
        self._commit = commit
        self._root = root
        self._bytes, self._files = spare
        self._pending: set[str] = set()
        self._written: set[str] = set()
        self._whole: Mapping[str, TreeEntry] | None = None
        self._ordered: list[str] = []

    def follow(self, entries: list[TreeEntry], *, keep_skill_files: bool) -> list[CheckoutNote]:
        """Replace the links among the entries, and return which are left out.

        With `keep_skill_files`, a link to a SKILL.md stays a text: it is another name of that skill. Raises GitError.
        """
        notes = []
        links = [entry.path for entry in entries if entry.is_link]
        links = [path for path in links if not (keep_skill_files and is_skill_file(posixpath.basename(path)))]
        self._pending = set(links)
        self._written = {entry.path for entry in entries}
        for number, path in enumerate(links):
            message = self._replaced(path) if number < _MAX_LINKS else f"is a link after the first {_MAX_LINKS:,}"
            if message:
                notes.append(CheckoutNote(path, message))
        return notes

    def target(self, path: str) -> str | None:
        """Return the path that a link leads to in the end; None if it leads out of the repository or to nothing."""
        for _ in range(_MAX_CHAIN):
            text = self._text(path)
            if len(text) > _MAX_TARGET or posixpath.isabs(text):
                return None
            path = posixpath.normpath(posixpath.join(posixpath.dirname(path), text))
            if path == ".." or path.startswith("../"):
                return None
            entry = self._every().get(path)
            if entry is None:
                return path if next(self._below(path), None) else None
            if not entry.is_link:
                return path
        return None

    def _text(self, path: str) -> str:
        """Return the text of a link: from the disk, unless it is outside of the checkout or replaced already."""
        if path in self._pending:
            with (self._root / path).open("rb") as file:
                return file.read(_MAX_TARGET + 1).decode("utf-8", "replace")
        return self._run("cat-file", "blob", f"{self._commit}:{path}")

    def _every(self) -> Mapping[str, TreeEntry]:
        if self._whole is None:
            every = tree_entries(self._run, self._commit)
            self._whole = {entry.path: entry for entry in every if not _UNSAFE.search(entry.path)}
            self._ordered = sorted(self._whole)
        return self._whole

    def _below(self, folder: str) -> Iterator[TreeEntry]:
        """Yield what is below a folder of the commit, in order of path."""
        every, prefix = self._every(), _prefix(folder)
        for path in itertools.islice(self._ordered, bisect_left(self._ordered, prefix), None):
            if not path.startswith(prefix):
                return
            yield every[path]

    def _replaced(self, path: str) -> str:
        """Replace a link by a copy, or remove it and return why."""
        try:
            target = self.target(path)
            self._pending.discard(path)
            (self._root / path).unlink(missing_ok=True)
            if target is None:
                return "is a link to nothing in the repository, and is left out"
            copied = list(self._copies(path, target))
            if any(is_skill_file(copy.removeprefix(f"{path}/")) for copy, _ in copied):
                return ""  # another name of a skill that is there anyway, such as `.agents/skills/NAME` of the root
            if path.startswith(_prefix(target)):
                return "is a link to a folder above it, and is left out"
            return self._copy(copied)
        except (OSError, GitError) as error:
            return f"is a link that cannot be followed: {getattr(error, 'strerror', None) or error}"

    def _copies(self, path: str, target: str) -> Iterator[tuple[str, TreeEntry]]:
        """Yield the path of each copy, and the file that it is one of."""
        if target in self._every():
            yield path, self._every()[target]
            return
        for entry in self._below(target):
            if entry.mode not in (LINK, SUBMODULE):
                yield f"{path}/{entry.path.removeprefix(_prefix(target))}", entry

    def _copy(self, copies: list[tuple[str, TreeEntry]]) -> str:
        self._bytes -= sum(entry.size for _, entry in copies)
        self._files -= len(copies)
        if self._bytes < 0 or self._files < 0:
            return "is a link to more files than fit, and is left out"
        missing = [entry.path for _, entry in copies if entry.path not in self._written]
        if missing:  # git refuses paths that would lead out of the checkout
            paths = "\0".join(f":(literal,top){path}" for path in missing).encode()
            more = ("--pathspec-from-file=-", "--pathspec-file-nul")
            self._run("checkout", "--quiet", *more, self._commit, stdin=paths)
            self._written.update(missing)
        for path, entry in copies:
            place = self._root / path
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(self._root / entry.path, place, follow_symlinks=False)
        return ""
