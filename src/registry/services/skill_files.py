"""The files of a skill: of its folder, of a published package of any version, or of one that a mirror keeps."""

import hashlib
import io
import stat
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, NamedTuple

from registry.catalog.advertised import AdvertisedSkills
from registry.catalog.listing import enabled_skill, enabled_skills
from registry.catalog.local_skills import LocalSkills
from registry.catalog.store import Catalog
from registry.domain.models import Skill
from registry.errors import conflict, not_found, skill_not_found
from registry.mirrors.service import Mirrors
from registry.packages.limits import DEFAULT_LIMITS, PackageLimits
from registry.packages.package import read_files
from registry.packages.packing import pack_files
from registry.packages.paths import path_faults
from registry.packages.refusal import PackageRefused
from registry.packages.tree import PackageEntry
from registry.publish.published import PublishedVersions
from registry.publish.published_version import PublishedVersion
from registry.publish.stored_packages import StoredPackages
from registry.skill_folder import find_skill_file, fingerprint, list_files, open_file
from registry.skill_folder.tree import SKILL_FILE
from search.lru_cache import LruCache

_KEPT_BYTES = 64 << 20
_LARGEST_KEPT_BYTES = 16 << 20
_LOADED_AT_ONCE = 4
"""Packages that are read at the same time, because each takes up to 100 MB while it is read."""


class PackagedFile(NamedTuple):
    """A file of a skill. `sha256` is in hexadecimal."""

    path: str
    data: bytes
    executable: bool
    sha256: str


@dataclass(frozen=True)
class SkillPackage:
    """The files of one version of a skill, by path, in order. `fixed`: it was published here, and never changes."""

    skill_id: str
    version: str
    files: Mapping[str, PackagedFile]
    fixed: bool

    @cached_property
    def archive(self) -> bytes:
        """The files as a zip. The same files give the same bytes."""
        zipped = io.BytesIO()
        pack_files(((_entry(file), file.data) for file in self.files.values()), zipped)
        return zipped.getvalue()

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the zip, in hexadecimal."""
        return hashlib.sha256(self.archive).hexdigest()

    @property
    def weight(self) -> int:
        """The bytes that the package takes in memory."""
        return sum(2 * len(file.data) + 1024 for file in self.files.values())


class SkillFiles:
    """Reads the files of skills, and keeps up to 64 MiB of those that were read last.

    `packages` has the zips of published versions. It is None in a service that does not publish. `mirrors` have those
    of skills that a mirrored registry has published, and that are not installed.
    """

    def __init__(
        self,
        catalog: Catalog,
        local: LocalSkills,
        published: PublishedVersions,
        packages: StoredPackages | None,
        mirrors: Mirrors,
    ) -> None:
        self._catalog = catalog
        self._local = local
        self._published = published
        self._packages = packages
        self._mirrors = mirrors
        self._advertised = AdvertisedSkills(catalog)
        self._kept: LruCache[tuple[str, str], SkillPackage] = LruCache(_KEPT_BYTES, lambda key, package: package.weight)
        self._loading = threading.BoundedSemaphore(_LOADED_AT_ONCE)

    def get(self, skill_id: str, version: str | None = None, *, keep: bool = True) -> SkillPackage:
        """Return the files of a skill: of its current version, or of the version that is named.

        Files whose names packages may not have are left out. Without `keep`, as for a round over all skills, they are
        not kept in memory. Raises SKILL_NOT_FOUND; NOT_FOUND for a skill without
        files and for an older state of a folder; CONFLICT for a revoked version and for a folder that is too large;
        SERVICE_UNAVAILABLE.
        """
        if self._packages is not None and self._published.is_published(skill_id):
            number = version or self._catalog.get(skill_id).version
            return self._of_published(self._published.find(skill_id, number), self._packages, keep)
        skill = self._catalog.get(skill_id)
        folder = self.folder(skill)
        if folder is None and version in (None, skill.version):
            mirrored = self._of_mirror(skill, keep)
            if mirrored is not None:
                return mirrored
        if folder is None:
            raise not_found(f"Package of skill '{skill_id}'")
        if version not in (None, skill.version):
            self._catalog.version(skill_id, str(version))
            raise not_found(f"Package of version {version} of skill '{skill_id}'")
        return self._of_folder(skill, folder, keep)

    def folder(self, skill: Skill) -> Path | None:
        """Return the folder of a skill on this machine; None without one, as for a published skill or a record."""
        if not skill.installed or skill.skill_file is None:
            return None
        return (self._local.root / skill.skill_file).parent

    def listed(self, skill_id: str, *, keep: bool = True) -> SkillPackage:
        """Return the files of the current version of an enabled skill. Raises as `get`, and SKILL_NOT_FOUND."""
        if not self._catalog.get(skill_id).enabled:
            raise skill_not_found(skill_id)
        return self.get(skill_id, keep=keep)

    def listed_ids(self) -> list[str]:
        """Return the ids of the enabled skills that have files, in order."""
        return list(self.listed_revisions())

    def is_listed(self, skill_id: str) -> bool:
        """Return whether an enabled skill has this id and has files."""
        skill = enabled_skill(self._catalog.database, skill_id)
        if skill is None or skill.is_folder:
            return skill is not None
        return self._packages is not None and self._published.is_published(skill_id)

    def listed_revisions(self) -> dict[str, int]:
        """Return the revision of the last change of each enabled skill that has files, by id, in order."""
        published = set(self._published.skill_ids()) if self._packages is not None else set()
        enabled = enabled_skills(self._catalog.database)
        return {skill.id: skill.revision for skill in enabled if skill.is_folder or skill.id in published}

    def _of_published(self, version: PublishedVersion, packages: StoredPackages, keep: bool) -> SkillPackage:
        key = (version.skill_id, version.checksum)
        cached = self._kept.get(key)
        if cached is not None and version.state != "revoked":
            return cached
        with self._loading, packages.open(version) as zipped:
            files = _unpacked(version.skill_id, version.version, zipped, version.size)
        package = SkillPackage(version.skill_id, version.version, files, fixed=True)
        return self._kept_if(keep, key, package)

    def _of_mirror(self, skill: Skill, keep: bool) -> SkillPackage | None:
        """Return the files of a listed skill if a mirror keeps its package. Raises CONFLICT."""
        for source, listed, skill_id in self._advertised.named(skill.id):
            release = self._mirrors.kept(source, listed.id, skill.version) if skill_id == skill.id else None
            if release is None:
                continue
            key = (skill.id, release.checksum)
            with release.file, self._loading:
                if (package := self._kept.get(key)) is not None:
                    return package
                files = _unpacked(skill.id, skill.version, release.file, release.size)
            return self._kept_if(keep, key, SkillPackage(skill.id, skill.version, files, fixed=False))
        return None

    def _of_folder(self, skill: Skill, folder: Path, keep: bool) -> SkillPackage:
        try:
            key = (str(folder), f"{skill.version} {fingerprint(folder)}")
            package = self._kept.get(key)
            if package is not None:
                return package
            with self._loading:
                files = _by_path(list(_read_folder(folder, skill.id)))
        except (OSError, ValueError):  # changed or removed meanwhile
            raise not_found(f"Folder of skill '{skill.id}'") from None
        return self._kept_if(keep, key, SkillPackage(skill.id, skill.version, files, fixed=False))

    def _kept_if(self, keep: bool, key: tuple[str, str], package: SkillPackage) -> SkillPackage:
        if keep and package.weight <= _LARGEST_KEPT_BYTES:
            self._kept.put(key, package)
        return package


def _unpacked(skill_id: str, version: str, zipped: BinaryIO, size: int) -> dict[str, PackagedFile]:
    """Return the files of a zip of so many bytes by path. Raises CONFLICT."""
    try:
        entries = read_files(zipped, PackageLimits(archive_bytes=size))
    except PackageRefused:  # by the rules of this release
        raise conflict(f"The package of version {version} of skill '{skill_id}' breaks a rule of packages") from None
    return _by_path([_file(entry.name, data, entry.executable) for entry, data in entries])


def text_of_version(files: SkillFiles, skill_id: str, version: str) -> str:
    """Return the SKILL.md of one version of a skill. Raises what `SkillFiles.get` raises."""
    return files.get(skill_id, version).files[SKILL_FILE].data.decode("utf-8", "replace")


def _read_folder(folder: Path, skill_id: str) -> Iterator[PackagedFile]:
    """Yield the files of a folder. Raises OSError, and CONFLICT if they are too large for a package."""
    left = DEFAULT_LIMITS.total_bytes
    skill_file = find_skill_file(folder)
    named = {file.path: file.path for file in list_files(folder)}
    if skill_file is not None and named.pop(skill_file.name, ""):
        named[SKILL_FILE] = skill_file.name  # agents look for this name
    for path, there in sorted({SKILL_FILE: SKILL_FILE, **named}.items()):
        if any(path_faults(path)):
            continue
        with open_file(folder, there).open("rb") as file:
            mode = Path(file.name).stat().st_mode
            data = file.read(min(left, DEFAULT_LIMITS.file_bytes) + 1)
        left -= len(data)
        if len(data) > DEFAULT_LIMITS.file_bytes or left < 0:
            raise conflict(f"The files of skill '{skill_id}' are too large for a package")
        yield _file(path, data, bool(mode & 0o111))


def _file(path: str, data: bytes, executable: bool) -> PackagedFile:
    return PackagedFile(path, data, executable, hashlib.sha256(data).hexdigest())


def _by_path(files: list[PackagedFile]) -> dict[str, PackagedFile]:
    return {file.path: file for file in files}


def _entry(file: PackagedFile) -> PackageEntry:
    return PackageEntry(file.path, stat.S_IFREG | (0o755 if file.executable else 0o644), len(file.data))
