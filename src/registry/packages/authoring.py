"""What authors do not mean to publish: files of tools, files that git ignores, and files that hold secrets."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from registry.domain.generated_files import is_generated
from registry.domain.skill_file import SKILL_FILE, skill_file_in
from registry.packages.archive import Archive
from registry.packages.file_patterns import is_secret
from registry.packages.limits import PackageLimits
from registry.packages.packing import pack
from registry.packages.refusal import PackageRefused, structure_error
from registry.packages.tree import skill_root
from registry.parsing.private_keys import holds_private_key

_ANY_SIZE = PackageLimits(archive_bytes=1 << 40)
"""Only a registry knows the size of archives that it takes."""


class AuthorFolder:
    """The folder of an author, of which a package takes what belongs to the skill.

    Args:
        folder: The folder.
        ignored: What git ignores in it, as of `ignored_by_git`.
    """

    def __init__(self, folder: Path, ignored: frozenset[str]) -> None:
        self._folder = folder
        self._ignored = ignored
        self._left_out: set[str] = set()

    @property
    def left_out(self) -> list[str]:
        """What `pack` has left out, in order. The names of folders end with `/`."""
        return sorted(self._left_out)

    def pack(self, file: BinaryIO) -> None:
        """Write the package as `packing.pack` does. Raises PackageRefused, first of all without a SKILL.md; OSError."""
        skill_root(self._skill_files())
        pack(self._folder, file, leaves_out=self._leaves_out)

    def _skill_files(self) -> Iterator[str]:
        """Yield where a package may have its SKILL.md. Raises PackageRefused if git ignores the one that is meant."""
        names = os.listdir(self._folder)  # noqa: PTH208 - paths are not needed
        if (own := skill_file_in(names)) is not None:
            if self._leaves_out(own):
                raise PackageRefused([structure_error("no-skill-file", "git ignores this file", own)])
            yield own
        for name in names:
            inner = _skill_file_below(self._folder / name)
            if inner is not None and not (self._leaves_out(f"{name}/") or self._leaves_out(f"{name}/{inner}")):
                yield f"{name}/{inner}"

    def _leaves_out(self, path: str) -> bool:
        """Return whether a path is left out, and note it."""
        plain = path.removesuffix("/")
        leaves = is_generated(plain.rpartition("/")[2]) or not self._ignored.isdisjoint((plain, "."))
        if leaves:
            self._left_out.add(path)
        return leaves


def _skill_file_below(folder: Path) -> str | None:
    try:
        return skill_file_in(os.listdir(folder))  # noqa: PTH208 - paths are not needed
    except OSError:
        return None


class Reading:
    """What the author of a package should look at before it is sent.

    `skill_file` is the text of its SKILL.md. `secrets` are the files that hold secrets by their names, `private_keys`
    those that contain a private key, which no registry accepts.
    """

    def __init__(self, package: BinaryIO) -> None:
        """Read a zip. Raises PackageRefused."""
        archive = Archive(package, _ANY_SIZE)
        names = [entry.name for entry in archive.entries if not entry.is_folder]
        self.skill_file = _bytes(archive, skill_root(names) + SKILL_FILE).decode("utf-8", "replace")
        self.secrets = sorted(name for name in names if is_secret(name))
        self.private_keys = sorted(name for name in names if holds_private_key(_bytes(archive, name)))


def _bytes(archive: Archive, name: str) -> bytes:
    return b"".join(archive.chunks(name))
