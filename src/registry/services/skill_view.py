"""Everything that the page of a skill shows at once: what would otherwise be five requests."""

from collections.abc import Callable
from typing import TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from registry.catalog.dependents import Dependent, list_dependents
from registry.domain.models import Skill
from registry.domain.withdrawals import Withdrawn
from registry.errors import RegistryError
from registry.parsing.evals import EVALS_FILE, MAX_EVALS_BYTES, Evals, read_evals
from registry.publish.index_lines import IndexLine, catalog_lines
from registry.services.checklist import Checklist, checklist_of
from registry.services.container import Services
from registry.services.skills import read_skill
from registry.skill_folder import FileEntry
from search.lru_cache import LruCache

_MOST_DEPENDENTS = 100

_EVALS: LruCache[str, Evals] = LruCache(256)
"""What was read last, by the digest of the skill: the file of a published one is in the package store."""

_Part = TypeVar("_Part")


class ViewedVersion(msgspec.Struct, kw_only=True):
    """A version as the page lists it: a part of its line in the index."""

    version: str
    published_at: str
    yanked: bool
    size: int | None
    checksum: str | None
    description: str
    author: str
    license: str | None
    withdrawn: Withdrawn | UnsetType = UNSET


class SkillView(msgspec.Struct, kw_only=True):
    """A skill with what belongs to it.

    `content` is the body of its SKILL.md as sanitised HTML, null if there is none. `dependents` are the first 100
    skills that need it. `versions`, newest first, are there in the registry profile. `evals` is missing unless the
    skill has `evals/evals.json`.
    """

    skill: Skill
    content: str | None
    files: list[FileEntry]
    dependents: list[Dependent]
    versions: list[ViewedVersion]
    checklist: Checklist
    evals: Evals | UnsetType = UNSET


def view_skill(services: Services, skill_id: str, render: Callable[[str], str]) -> SkillView:
    """Return the view of a skill. `render` makes HTML of Markdown. A part that cannot be read is empty.

    Raises SKILL_NOT_FOUND.
    """
    skill = read_skill(services, skill_id)
    backend = services.skill_backends.of(skill_id)
    is_registry = services.settings.profile == "registry"
    return SkillView(
        skill=skill,
        content=_unless_refused(lambda: render(services.catalog.body(skill_id)), None),
        files=_unless_refused(lambda: backend.files(skill_id), []),
        dependents=_unless_refused(lambda: list_dependents(services.database, skill_id, _MOST_DEPENDENTS, 0)[0], []),
        versions=_unless_refused(lambda: _versions(services, skill_id), []) if is_registry else [],
        checklist=checklist_of(skill, has_evals=False),
    )


def has_evals(view: SkillView) -> bool:
    """Return whether a skill has the file that `add_evals` reads."""
    return any(file.path == EVALS_FILE for file in view.files)


def add_evals(services: Services, view: SkillView) -> None:
    """Add the evals of a skill to its view, and to its checklist. Reading them may wait for the package store."""
    skill = view.skill
    evals = _EVALS.get(skill.digest) if skill.digest else None
    if evals is None:
        evals = _unless_refused(lambda: _read_evals(services, skill.id), None)
    if evals is None:
        return
    if skill.digest:
        _EVALS.put(skill.digest, evals)
    view.evals = evals
    view.checklist = checklist_of(skill, has_evals=evals.count > 0)


def _read_evals(services: Services, skill_id: str) -> Evals:
    with services.skill_backends.of(skill_id).file(skill_id, EVALS_FILE).content as file:
        return read_evals(file.read(MAX_EVALS_BYTES + 1))


def _unless_refused(read: Callable[[], _Part], otherwise: _Part) -> _Part:
    try:
        return read()
    except RegistryError:
        return otherwise


def _versions(services: Services, skill_id: str) -> list[ViewedVersion]:
    if services.is_published(skill_id):
        decoder = msgspec.json.Decoder(IndexLine)
        lines = [decoder.decode(line) for line in services.publishing.index_file(skill_id).splitlines()]
    else:
        lines = catalog_lines(services.catalog, skill_id)
    return [_viewed(line) for line in reversed(lines)]


def _viewed(line: IndexLine) -> ViewedVersion:
    return ViewedVersion(
        version=line.vers,
        published_at=line.published_at,
        yanked=line.yanked,
        withdrawn=line.withdrawn,
        size=line.size,
        checksum=line.cksum,
        description=line.metadata.description,
        author=line.metadata.author,
        license=line.metadata.license,
    )
