"""What a skill needs of other skills: ids of the same registry, each with a range of versions."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta

from registry.domain.validation import find_errors
from registry.domain.version_requirement import VersionRequirement

MAX_DEPENDENCIES = 200
"""How many skills one skill may name, and how many come along with one."""

ANY_VERSION = "*"

ScopedId = Annotated[
    str,
    Meta(
        pattern=r"^[a-z0-9][a-z0-9_-]{0,63}/[a-z0-9][a-z0-9_-]{0,63}$(?!\n)",
        extra={"rule": "must be scope/name, such as acme/pdf: a skill of the same registry"},
    ),
]

_CONTINUES = re.compile(r"\s*+[<>^~]?=?\s*+[0-9][0-9.xX*]*+\s*+(?:\|\|.*)?")
"""The next comparison of a range after a comma: `<2` of `acme/pdf@>=1.2,<2`."""

_SHOWN = 100


class SkillDependency(msgspec.Struct, kw_only=True, frozen=True):
    """A skill that another one needs, `scope/name`, in a version that `range` admits."""

    id: ScopedId
    range: VersionRequirement = ANY_VERSION

    def __str__(self) -> str:
        return f"{self.id}@{self.range}"


Dependencies = Annotated[
    list[SkillDependency], Meta(max_length=MAX_DEPENDENCIES, extra={"rule": f"must be at most {MAX_DEPENDENCIES}"})
]


class Declared(NamedTuple):
    """The dependencies that the files of a skill declare, in order of id, and what is wrong with the others."""

    dependencies: list[SkillDependency]
    faults: list[str]


def declared(table: object, text: str) -> Declared:
    """Return the dependencies that a skill declares.

    Args:
        table: `[dependencies]` of its skill-project.toml: ids with a range, or with a table that has a `version`.
        text: `metadata.dependencies` of its front matter: ids, perhaps with `@` and a range, with commas between them.
    """
    faults: list[str] = []
    named = list(_of_table(table, faults))
    written = list(_of_text(text))
    if named and written and dict(named) != dict(written):
        faults.append("skill-project.toml and the front matter name different ones: keep one of the two lists")
    dependencies: dict[str, SkillDependency] = {}
    for skill_id, requirement in named or written:
        problems = [*_problems(skill_id, requirement)]
        if skill_id in dependencies:
            problems.append(f"{skill_id[:_SHOWN]!r} is named twice")
        if problems:
            faults += problems
        else:
            dependencies[skill_id] = SkillDependency(id=skill_id, range=requirement)
    if len(dependencies) > MAX_DEPENDENCIES:
        faults.append(
            f"there are {len(dependencies):,}, and at most {MAX_DEPENDENCIES} are allowed: group them in packs"
        )
    return Declared([dependencies[skill_id] for skill_id in sorted(dependencies)][:MAX_DEPENDENCIES], faults)


def named_dependencies(texts: Iterable[str]) -> list[SkillDependency]:
    """Return the dependencies of a skill in the catalog, which are `id@range`, without those that are none."""
    pairs = (text.partition("@") for text in texts)
    return [
        SkillDependency(id=skill_id, range=requirement)
        for skill_id, _, requirement in pairs
        if not any(_problems(skill_id, requirement))
    ]


def _problems(skill_id: str, requirement: str) -> Iterator[str]:
    for value, kind in ((skill_id, ScopedId), (requirement, VersionRequirement)):
        for fault in find_errors(value, kind, value):
            yield f"{value[:_SHOWN]!r} {fault.message}"
            return


def _of_table(table: object, faults: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the ids and ranges of a table of TOML."""
    if not isinstance(table, Mapping):
        if table is not None:
            faults.append("[dependencies] must be a table of ids and ranges")
        return
    for skill_id, value in table.items():
        entry: Any = value if isinstance(value, Mapping) else {"version": value}
        if entry.get("origin") is not None:
            faults.append(
                f"{skill_id[:_SHOWN]!r} has an origin: what a skill needs comes from its own registry, leave it out"
            )
        elif not isinstance(requirement := entry.get("version", ANY_VERSION), str):
            faults.append(f"{skill_id[:_SHOWN]!r} must have a range as a text, such as '^1.2'")
        else:
            yield skill_id, requirement.strip()


def _of_text(text: str) -> Iterator[tuple[str, str]]:
    """Yield the ids and ranges of a text. A comma also joins the comparisons of one range."""
    parts: list[str] = []
    for part in text.split(",", MAX_DEPENDENCIES * 10):
        if parts and "@" in parts[-1] and _CONTINUES.fullmatch(part[:_SHOWN]):
            parts[-1] += f",{part.strip()}"
        elif part.strip():
            parts.append(part.strip())
    for part in parts:
        skill_id, _, requirement = part.partition("@")
        yield skill_id.strip(), requirement.strip() or ANY_VERSION
