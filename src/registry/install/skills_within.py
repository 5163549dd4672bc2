"""The skills in the folders of what was fetched, where the rules for packages expect one skill at its top."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from registry.domain.file_names import printable_name
from registry.domain.origins import GitOrigin, LocalOrigin, Origin, ZipOrigin, address_within, install_command
from registry.errors import FieldError, RegistryError, validation_error
from registry.packages.refusal import PackageRefused
from registry.sources.tree import offered_places, why_nothing
from registry.sources.urls import without_credentials

_SHOWN_FOLDERS = 5
_SHOWN_LINES = 50
_MISPLACED = frozenset({"no-skill-file", "several-skills"})


class SkillsWithin(NamedTuple):
    """The skills in the folders of a package that was refused.

    Args:
        folders: Their paths.
        is_complete: Whether it offers no others, in other places.
        is_archive: Whether the package is a zip.
        why_none: Why there are none.
    """

    folders: Sequence[str] = ()
    is_complete: bool = True
    is_archive: bool = False
    why_none: str = ""

    @property
    def only(self) -> str | None:
        """The path of the skill, if it is the only one."""
        return self.folders[0] if self.is_complete and len(self.folders) == 1 else None


def is_misplaced(refusal: PackageRefused) -> bool:
    """Return whether a package is refused because no skill, or several, are at its top."""
    return not _MISPLACED.isdisjoint(finding.rule for finding in refusal.findings)


def skills_within(tree: Path, *, is_archive: bool) -> SkillsWithin:
    """Return the skills in the folders of a tree, which was a zip or not."""
    places = offered_places(tree)
    why_none = "" if places.paths or not places.is_complete else why_nothing(tree)
    return SkillsWithin(*places, is_archive=is_archive, why_none=why_none)


def refusal_error(
    refusal: PackageRefused, within: SkillsWithin, wanted: object = None, lacking: Sequence[str] = ()
) -> RegistryError:
    """Return the error for a refused package: a field error for each finding, with its file, kind and rule.

    If skills are in its folders, it names them, and the command for each in the origin `wanted`. `lacking` says what
    the checkout of a repository lacks.
    """
    faults = [
        FieldError(
            f"package.{finding.file}" if finding.file else "package",
            f"{finding.message} ({finding.kind}: {finding.rule})",
        )
        for finding in refusal.findings
    ]
    faults += [FieldError("package", text) for text in lacking]
    return validation_error(*faults, *_hints(within, wanted))


def _hints(within: SkillsWithin, wanted: object) -> Iterator[FieldError]:
    if not within.folders:
        yield from [FieldError("package", within.why_none)] if within.why_none else []
        return
    folders = [printable_name(folder) for folder in within.folders]
    names = ", ".join(folders[:_SHOWN_FOLDERS]) + (", …" if len(folders) > _SHOWN_FOLDERS else "")
    if not isinstance(wanted, GitOrigin | ZipOrigin | LocalOrigin):
        yield FieldError("package", f"has the skills {names}: make a package of one of them")
        return
    if isinstance(wanted, LocalOrigin) and within.is_archive:
        yield FieldError("origin.path", f"has the skills {names}: unpack it, and install the folder of one of them")
        return
    yield FieldError("origin.subdir", f"must name one of the skills: {names}")
    origin: Origin = wanted
    if not isinstance(wanted, LocalOrigin):
        origin = msgspec.structs.replace(wanted, url=without_credentials(wanted.url))
    for folder in folders[:_SHOWN_LINES]:
        place = "/".join(filter(None, (getattr(wanted, "subdir", None), folder)))
        yield FieldError("origin", install_command(address_within(origin, place)))
