"""Takes in the files of a package. Each is read once, and written, hashed and scanned while it is in memory."""

import hashlib
from collections.abc import Callable, Iterable
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from registry.domain.findings import Finding
from registry.findings.engine import TextScan
from registry.packages.contents import author_warnings, forbidden_content, layout_warnings
from registry.packages.refusal import PackageRefused
from registry.packages.staging import stage
from registry.packages.tree import PackageEntry, SkillPlace
from registry.skill_folder.tree import SKILL_FILE, FileEntry, digest_of_files


class Contents(NamedTuple):
    """The files of a package in order of path, their `tree_digest`, and their findings.

    `packed_digest` is the digest of the files as they are in the package, before a SKILL.md in another case was
    renamed and generated files were left out.
    """

    files: list[FileEntry]
    digest: str
    packed_digest: str
    findings: list[Finding]


class Intake:
    """Takes in checked entries one by one.

    Args:
        staged: The folder that receives the files.
        place: The root of the package within the entries, and its SKILL.md, which is renamed if it has another case.
        leaves_out: Which paths are not taken in, and only count for `packed_digest`.
    """

    def __init__(self, staged: Path, place: SkillPlace, leaves_out: Callable[[str], bool] = lambda path: False) -> None:
        self._staged = staged
        self._root, file = place
        self._renamed = {place.root + file: place.root + SKILL_FILE} if file != SKILL_FILE else {}
        self._leaves_out = leaves_out
        self._packed: dict[str, bytes] = {}
        self._files: dict[FileEntry, bytes] = {}
        self._outside: list[str] = []
        self._issues: list[tuple[str, Finding]] = []
        self._warnings: list[tuple[str, Finding]] = []
        self._texts = TextScan()

    def add(self, entry: PackageEntry, chunks: Iterable[bytes]) -> None:
        """Write an entry and check its content. Raises OSError, and what `chunks` raises."""
        data = b"".join(chunks)
        packed, entry = entry.name, entry._replace(name=self._renamed.get(entry.name, entry.name))
        sha256 = b"" if entry.is_folder else hashlib.sha256(data).hexdigest().encode()
        if not entry.is_folder and packed.startswith(self._root):
            self._packed[packed.removeprefix(self._root)] = sha256
        if self._leaves_out(entry.name):
            return
        stage(self._staged, entry, [data])
        if entry.is_folder:
            return
        path = entry.name.removeprefix(self._root)
        self._issues += [(entry.name, finding) for finding in forbidden_content(entry.name, data)]
        self._warnings += [(path, finding) for finding in author_warnings(path, data)]
        if not entry.name.startswith(self._root):
            self._outside.append(entry.name)
            return
        self._files[FileEntry(path, len(data))] = sha256
        self._texts.add(path, data)

    def contents(self) -> Contents:
        """Return the contents. Raises PackageRefused with the security issues of all files."""
        if self._issues:
            raise PackageRefused([finding for _, finding in sorted(self._issues, key=itemgetter(0))])
        files = sorted(self._files)
        digest = digest_of_files((file.path, sha256) for file, sha256 in self._files.items())
        warnings = [finding for _, finding in sorted(self._warnings, key=itemgetter(0))]
        layout = layout_warnings(files, sorted(self._outside))
        return Contents(
            files, digest, digest_of_files(self._packed.items()), [*warnings, *layout, *self._texts.findings()]
        )
