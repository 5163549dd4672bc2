"""The files of a package taken in: each is written, digested and looked into while it is in memory, once."""

import hashlib
from collections.abc import Iterable
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from registry.domain.findings import Finding
from registry.findings.engine import TextScan
from registry.packages.contents import layout_warnings, refused_content
from registry.packages.refusal import PackageRefused
from registry.packages.staging import stage
from registry.packages.tree import PackageEntry
from registry.skill_folder.tree import FileEntry, digest_of_files


class Contents(NamedTuple):
    """The files of a package, in order of path, their `tree_digest`, and what is unusual or dangerous in them."""

    files: list[FileEntry]
    digest: str
    findings: list[Finding]


class Intake:
    """Takes checked entries in, one after the other.

    Args:
        staged: The folder they are written into.
        root: The root of the package among them: nothing, or a folder's name and `/`.
    """

    def __init__(self, staged: Path, root: str) -> None:
        self._staged = staged
        self._root = root
        self._files: dict[FileEntry, bytes] = {}
        self._outside: list[str] = []
        self._refused: list[tuple[str, Finding]] = []
        self._texts = TextScan()

    def take(self, entry: PackageEntry, chunks: Iterable[bytes]) -> None:
        """Write an entry and look at it. Raises OSError, and what its chunks raise."""
        data = b"".join(chunks)
        stage(self._staged, entry, [data])
        if entry.is_folder:
            return
        self._refused += [(entry.name, finding) for finding in refused_content(entry.name, data)]
        if not entry.name.startswith(self._root):
            self._outside.append(entry.name)
            return
        path = entry.name.removeprefix(self._root)
        self._files[FileEntry(path, len(data))] = hashlib.sha256(data).hexdigest().encode()
        self._texts.look(path, data)

    def contents(self) -> Contents:
        """Return what was taken in. Raises PackageRefused with every file's faults."""
        if self._refused:
            raise PackageRefused([finding for _, finding in sorted(self._refused, key=itemgetter(0))])
        files = sorted(self._files)
        digest = digest_of_files((file.path, sha256) for file, sha256 in self._files.items())
        return Contents(files, digest, [*layout_warnings(files, sorted(self._outside)), *self._texts.findings()])
