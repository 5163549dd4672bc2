"""Reads a package from an untrusted zip or folder into a staging folder."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec

from registry.domain.dependencies import SkillDependency
from registry.domain.findings import SkillFindings
from registry.domain.generated_files import is_generated_path
from registry.findings.engine import skill_findings
from registry.packages.archive import Archive
from registry.packages.intake import Contents, Intake
from registry.packages.limits import DEFAULT_LIMITS, PackageLimits
from registry.packages.metadata import (
    MAX_PROJECT_FILE,
    MAX_SKILL_FILE,
    PackageMetadata,
    ParsedMetadata,
    installed_metadata,
    parse_metadata,
)
from registry.packages.refusal import PackageRefused, structure_error
from registry.packages.source_folder import SourceFolder
from registry.packages.staging import stage, staging
from registry.packages.tree import PackageEntry, SkillPlace, skill_place, skill_root
from registry.skill_folder.reading import PROJECT_FILE, read_skill_text
from registry.skill_folder.tree import SKILL_FILE, FileEntry


class Peek(msgspec.Struct, kw_only=True, frozen=True):
    """The metadata of an archive before its other files are checked."""

    name: str
    scope: str | None
    version: str
    description: str
    dependencies: list[SkillDependency]


class Described(NamedTuple):
    """What an archive says of itself, before its other files are checked: the metadata, and the text of SKILL.md."""

    metadata: ParsedMetadata
    skill_file: str


class Package(PackageMetadata, kw_only=True, frozen=True):
    """A valid package, unpacked.

    `folder` is its root: the staging folder, or the one folder in it that contains the skill. `digest` is that of
    `skill_folder.tree_digest`, so equal trees have equal digests however they were packed. `files` are in order of
    path. `findings` are quality warnings only. `packed_digest` is that of the files as they are in the package, which
    differs if generated files were left out.
    """

    folder: Path
    digest: str
    packed_digest: str
    files: list[FileEntry]
    findings: SkillFindings

    def has_digest(self, sha256: str) -> bool:
        """Return whether the files have this digest, with or without `sha256:`, as installed or as packed."""
        return f"sha256:{sha256.removeprefix('sha256:')}" in (self.digest, self.packed_digest)


def read_zip(
    archive: Path | BinaryIO, staged: Path, limits: PackageLimits = DEFAULT_LIMITS, *, named: str | None = None
) -> Package:
    """Unpack a zip into `staged`, which must not exist. `archive` is a path or a seekable file.

    The rules are those for publishing. With `named`, the name of the skill's folder at its origin, they are those for
    installing: only what is unsafe is refused, and generated files are left out.

    Raises PackageRefused, and OSError for a failure of the local disk; then `staged` does not exist.
    """
    with _opened(archive) as file:
        source = Archive(file, limits, (lambda path: False) if named is None else _is_hidden_repository)
        place = _place(source.entries, named)
        metadata = _metadata(source, place.root) if named is None else None  # detects the cheap faults first
        with staging(staged):
            intake = _intake(staged, place, named)
            for entry in sorted(source.entries):  # so that the order in the archive has no effect
                intake.add(entry, source.chunks(entry.name))
            contents = intake.contents()
            return _package(staged / place.root, metadata or _staged_metadata(staged / place.root, named), contents)


def read_folder(
    folder: Path, staged: Path, limits: PackageLimits = DEFAULT_LIMITS, *, named: str | None = None
) -> Package:
    """Copy a folder into `staged`, which must not exist, by the rules for a zip. Links are refused, not followed.

    A `.git` at the top level is skipped. `named` is that of `read_zip`. Raises PackageRefused, and OSError for a
    failure of the local disk.
    """
    source = SourceFolder(folder, limits, None if named is None else is_generated_path)
    place = _place(source.entries, named)
    intake = _intake(staged, place, named)
    with staging(staged):
        source.for_each(intake.add)
        contents = intake.contents()
        return _package(staged / place.root, _staged_metadata(staged / place.root, named), contents)


def _is_hidden_repository(path: str) -> bool:
    """Return whether a path is in a `.git`, which packages may not have, and which no installation takes."""
    return ".git" in path.lower().rstrip("/").split("/")


def _place(entries: list[PackageEntry], named: str | None) -> SkillPlace:
    names = [entry.name for entry in entries]
    return SkillPlace(skill_root(names), SKILL_FILE) if named is None else skill_place(names)


def _intake(staged: Path, place: SkillPlace, named: str | None) -> Intake:
    return Intake(staged, place) if named is None else Intake(staged, place, is_generated_path)


def unpack(archive: Path | BinaryIO, folder: Path, limits: PackageLimits) -> None:
    """Unpack a zip into `folder`, which must not exist. Only the rules for entries apply: it need not be a package.

    Raises PackageRefused, and OSError for a failure of the local disk; then `folder` does not exist.
    """
    with _opened(archive) as file:
        source = Archive(file, limits)
        with staging(folder):
            for entry in source.entries:
                stage(folder, entry, source.chunks(entry.name))


def read_files(archive: Path | BinaryIO, limits: PackageLimits = DEFAULT_LIMITS) -> list[tuple[PackageEntry, bytes]]:
    """Return the files of a zip in order of path, with paths below the root of the skill. Raises PackageRefused."""
    with _opened(archive) as file:
        source = Archive(file, limits)
        root = skill_root(entry.name for entry in source.entries)
        files = sorted(entry for entry in source.entries if not entry.is_folder and entry.name.startswith(root))
        return [
            (entry._replace(name=entry.name.removeprefix(root)), b"".join(source.chunks(entry.name))) for entry in files
        ]


def copy_file(archive: BinaryIO, path: str, into: BinaryIO, limits: PackageLimits) -> None:
    """Write one file of a package into another file. `path` is relative to the root of the package.

    Raises PackageRefused if the archive is not a package or has no such file.
    """
    source = Archive(archive, limits)
    name = skill_root(entry.name for entry in source.entries) + path
    if name not in {entry.name for entry in source.entries}:
        raise PackageRefused([structure_error("no-file", "there is no such file", path)])
    for chunk in source.chunks(name):
        into.write(chunk)


def describe(archive: Path | BinaryIO, limits: PackageLimits = DEFAULT_LIMITS) -> Described:
    """Return what a zip says of itself. Reads only its records, SKILL.md and skill-project.toml.

    Raises PackageRefused.
    """
    with _opened(archive) as file:
        source = Archive(file, limits)
        root = skill_root(entry.name for entry in source.entries)
        metadata = _metadata(source, root)  # refuses what is no text
        return Described(metadata, read_skill_text(SKILL_FILE, b"".join(source.chunks(root + SKILL_FILE))).text)


def peek(archive: Path | BinaryIO, limits: PackageLimits = DEFAULT_LIMITS) -> Peek:
    """Return the metadata of a zip. Reads only its records, SKILL.md and skill-project.toml.

    Raises PackageRefused.
    """
    with _opened(archive) as file:
        source = Archive(file, limits)
        metadata = _metadata(source, skill_root(entry.name for entry in source.entries))
    return Peek(**{field: getattr(metadata, field) for field in Peek.__struct_fields__})


@contextmanager
def _opened(archive: Path | BinaryIO) -> Iterator[BinaryIO]:
    if isinstance(archive, Path):
        with archive.open("rb") as file:
            yield file
    else:
        yield archive


def _metadata(source: Archive, root: str) -> ParsedMetadata:
    sizes = {entry.name: entry.size for entry in source.entries}
    for name, most in ((SKILL_FILE, MAX_SKILL_FILE), (PROJECT_FILE, MAX_PROJECT_FILE)):
        if sizes.get(root + name, 0) > most:
            raise PackageRefused(
                [structure_error("skill-file", f"the file is larger than {most:,} bytes", root + name)]
            )
    project = b"".join(source.chunks(root + PROJECT_FILE)) if root + PROJECT_FILE in sizes else None
    return parse_metadata(b"".join(source.chunks(root + SKILL_FILE)), project)


def _staged_metadata(folder: Path, named: str | None) -> ParsedMetadata:
    if named is not None:
        return installed_metadata(folder, named)
    project = folder / PROJECT_FILE
    return parse_metadata((folder / SKILL_FILE).read_bytes(), project.read_bytes() if project.is_file() else None)


def _package(folder: Path, metadata: ParsedMetadata, contents: Contents) -> Package:
    return Package(
        **{field: getattr(metadata, field) for field in PackageMetadata.__struct_fields__},
        folder=folder,
        digest=contents.digest,
        packed_digest=contents.packed_digest,
        files=contents.files,
        findings=skill_findings([*metadata.warnings, *contents.findings]),
    )
