"""Takes in the files of a package. Each is read once, and written, hashed and scanned while it is in memory."""

import hashlib
from collections.abc import Iterable
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from registry.domain.findings import Finding
from registry.findings.engine import TextScan
from registry.packages.contents import author_warnings, forbidden_content, layout_warnings
from registry.packages.refusal import PackageRefused
from registry.packages.staging import stage
from registry.packages.tree import PackageEntry
from registry.skill_folder.tree import FileEntry, digest_of_files


class Contents(NamedTuple):
    """The files of a package in order of path, their `tree_digest`, and their findings."""

    files: list[FileEntry]
    digest: str
    findings: list[Finding]


class Intake:
    """Takes in checked entries one by one.

    Args:
        staged: The folder that receives the files.
        root: The root of the package within the entries: empty, or the name of a folder and `/`.
    """

    def __init__(self, staged: Path, root: str) -> None:
        self._staged = staged
        self._root = root
        self._files: dict[FileEntry, bytes] = {}
        self._outside: list[str] = []
        self._issues: list[tuple[str, Finding]] = []
        self._warnings: list[tuple[str, Finding]] = []
        self._texts = TextScan()

    def add(self, entry: PackageEntry, chunks: Iterable[bytes]) -> None:
        """Write an entry and check its content. Raises OSError, and what `chunks` raises."""
        data = b"".join(chunks)
        stage(self._staged, entry, [data])
        if entry.is_folder:
            return
        path = entry.name.removeprefix(self._root)
        self._issues += [(entry.name, finding) for finding in forbidden_content(entry.name, data)]
        self._warnings += [(path, finding) for finding in author_warnings(path, data)]
        if not entry.name.startswith(self._root):
            self._outside.append(entry.name)
            return
        self._files[FileEntry(path, len(data))] = hashlib.sha256(data).hexdigest().encode()
        self._texts.add(path, data)

    def contents(self) -> Contents:
        """Return the contents. Raises PackageRefused with the security issues of all files."""
        if self._issues:
            raise PackageRefused([finding for _, finding in sorted(self._issues, key=itemgetter(0))])
        files = sorted(self._files)
        digest = digest_of_files((file.path, sha256) for file, sha256 in self._files.items())
        warnings = [finding for _, finding in sorted(self._warnings, key=itemgetter(0))]
        layout = layout_warnings(files, sorted(self._outside))
        return Contents(files, digest, [*warnings, *layout, *self._texts.findings()])
