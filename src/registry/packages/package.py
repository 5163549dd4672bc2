"""Packages read: from a zip or a folder of a stranger into a staged folder, with what there is to know of them."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import msgspec

from registry.domain.findings import SkillFindings
from registry.findings.engine import skill_findings
from registry.packages.archive import Archive
from registry.packages.intake import Contents, Intake
from registry.packages.limits import DEFAULT_LIMITS, PackageLimits
from registry.packages.refusal import PackageRefused, structure_error
from registry.packages.source_folder import SourceFolder
from registry.packages.staging import stage, staging
from registry.packages.statement import MAX_PROJECT_FILE, MAX_SKILL_FILE, PackageMetadata, Statement, read_statement
from registry.packages.tree import PackageEntry
from registry.skill_folder.reading import PROJECT_FILE
from registry.skill_folder.tree import SKILL_FILE, FileEntry


class Peek(msgspec.Struct, kw_only=True, frozen=True):
    """What an archive says of its skill, before all of it has been looked at."""

    name: str
    scope: str | None
    version: str
    description: str


class Package(PackageMetadata, kw_only=True, frozen=True):
    """A package that keeps the rules, unpacked.

    `folder` is its root: the staged folder, or the one folder in it that holds the skill. `digest` is
    `skill_folder.tree_digest`'s, equal for equal trees however they were packed. `files` are in order of path;
    `findings` hold quality warnings only.
    """

    folder: Path
    digest: str
    files: list[FileEntry]
    findings: SkillFindings


def read_zip(archive: Path | BinaryIO, staged: Path, limits: PackageLimits = DEFAULT_LIMITS) -> Package:
    """Unpack a zip into `staged`, which must not exist. Raises PackageRefused, and OSError of our own disk.

    `archive` is a path or a seekable file. Where it is refused, `staged` does not exist afterwards.
    """
    with _opened(archive) as file:
        source = Archive(file, limits)
        root = _root(source.entries)
        said = _statement(source, root)  # the cheap faults first
        with staging(staged):
            intake = Intake(staged, root)
            for entry in sorted(source.entries):  # so that the order in the archive does not count
                intake.take(entry, source.chunks(entry.name))
            return _package(staged / root, said, intake.contents())


def read_folder(folder: Path, staged: Path, limits: PackageLimits = DEFAULT_LIMITS) -> Package:
    """Copy a folder into `staged`, which must not exist, by the rules for a zip; links are refused, not followed.

    The `.git` of a checkout at the top is left out. Raises PackageRefused, and OSError of our own disk.
    """
    source = SourceFolder(folder, limits)
    root = _root(source.entries)
    intake = Intake(staged, root)
    with staging(staged):
        source.each(intake.take)
        contents = intake.contents()
        return _package(staged / root, _staged_statement(staged / root), contents)


def unpack(archive: Path | BinaryIO, folder: Path, limits: PackageLimits) -> None:
    """Unpack a zip that need not be one package into `folder`, which must not exist, by the rules for its entries.

    Raises PackageRefused, and OSError of our own disk; then `folder` does not exist afterwards.
    """
    with _opened(archive) as file:
        source = Archive(file, limits)
        with staging(folder):
            for entry in source.entries:
                stage(folder, entry, source.chunks(entry.name))


def peek(archive: Path | BinaryIO, limits: PackageLimits = DEFAULT_LIMITS) -> Peek:
    """Return what a zip says of its skill; only its records, SKILL.md and skill-project.toml are read.

    Raises PackageRefused.
    """
    with _opened(archive) as file:
        source = Archive(file, limits)
        said = _statement(source, _root(source.entries))
    return Peek(name=said.name, scope=said.scope, version=said.version, description=said.description)


@contextmanager
def _opened(archive: Path | BinaryIO) -> Iterator[BinaryIO]:
    if isinstance(archive, Path):
        with archive.open("rb") as file:
            yield file
    else:
        yield archive


def _root(entries: Iterable[PackageEntry]) -> str:
    """Return the folder of the skill: nothing, or the name of the one top folder that holds a SKILL.md, and `/`."""
    names = {entry.name for entry in entries}
    if SKILL_FILE in names:
        return ""
    holders = sorted(name for name in names if name.count("/") == 1 and name.endswith(f"/{SKILL_FILE}"))
    if not holders:
        raise PackageRefused(
            [structure_error("no-skill-file", f"there is no {SKILL_FILE} at the top or one level down")]
        )
    if len(holders) > 1:
        raise PackageRefused([structure_error("several-skills", f"several top folders hold a {SKILL_FILE}")])
    return holders[0].removesuffix(SKILL_FILE)


def _statement(source: Archive, root: str) -> Statement:
    sizes = {entry.name: entry.size for entry in source.entries}
    for name, most in ((SKILL_FILE, MAX_SKILL_FILE), (PROJECT_FILE, MAX_PROJECT_FILE)):
        if sizes.get(root + name, 0) > most:
            raise PackageRefused([structure_error("skill-file", f"it is larger than {most:,} bytes", root + name)])
    project = b"".join(source.chunks(root + PROJECT_FILE)) if root + PROJECT_FILE in sizes else None
    return read_statement(b"".join(source.chunks(root + SKILL_FILE)), project)


def _staged_statement(folder: Path) -> Statement:
    project = folder / PROJECT_FILE
    return read_statement((folder / SKILL_FILE).read_bytes(), project.read_bytes() if project.is_file() else None)


def _package(folder: Path, said: Statement, contents: Contents) -> Package:
    return Package(
        **{field: getattr(said, field) for field in PackageMetadata.__struct_fields__},
        folder=folder,
        digest=contents.digest,
        files=contents.files,
        findings=skill_findings([*said.warnings, *contents.findings]),
    )
