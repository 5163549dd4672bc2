"""Response bodies of the ClawHub protocol that say what a skill and its versions are. Times are in milliseconds."""

import datetime
import mimetypes
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import msgspec

from registry.domain.findings import SkillFindings
from registry.domain.models import Card, Skill
from registry.errors import RegistryError, conflict, skill_not_found
from registry.protocols.clawhub.references import owner_of, slug_of
from registry.protocols.clawhub.trust import Moderation, Security, moderation, security
from registry.publish.published_version import changes_of
from registry.services.container import Services
from registry.services.skill_files import PackagedFile, SkillPackage

_Item = TypeVar("_Item")
_Made = TypeVar("_Made")


class VersionEntry(msgspec.Struct, kw_only=True, rename="camel"):
    """A version. `changelog` is what changed in it, as far as it is known."""

    version: str
    created_at: int
    changelog: str


class SkillEntry(msgspec.Struct, kw_only=True, rename="camel"):
    """A skill. `tags` names the latest version; nothing is counted for `stats`."""

    slug: str
    display_name: str
    summary: str
    owner_handle: str
    tags: dict[str, str]
    stats: dict[str, int] = msgspec.field(default_factory=dict)
    created_at: int
    updated_at: int


class ListedSkill(SkillEntry, kw_only=True, rename="camel"):
    """A skill in a list."""

    latest_version: VersionEntry


class SkillList(msgspec.Struct, kw_only=True, rename="camel"):
    """A page of skills."""

    items: list[ListedSkill]
    next_cursor: str | None


class Owner(msgspec.Struct, kw_only=True, rename="camel"):
    """The owner of a skill."""

    handle: str
    display_name: str


class SkillDetail(msgspec.Struct, kw_only=True, rename="camel"):
    """A skill with its latest version."""

    skill: SkillEntry
    latest_version: VersionEntry
    owner: Owner
    moderation: Moderation


class FileEntry(msgspec.Struct, kw_only=True, rename="camel"):
    """A file of a version. `size` is in bytes, `sha256` in hexadecimal."""

    path: str
    size: int
    sha256: str
    content_type: str


class VersionFiles(VersionEntry, kw_only=True, rename="camel"):
    """A version with its files."""

    files: list[FileEntry]
    security: Security


class SkillName(msgspec.Struct, kw_only=True, rename="camel"):
    """What a skill is called."""

    slug: str
    display_name: str


class VersionDetail(msgspec.Struct, kw_only=True, rename="camel"):
    """A version of a skill."""

    version: VersionFiles
    skill: SkillName


class VersionList(msgspec.Struct, kw_only=True, rename="camel"):
    """The versions of a skill, the newest first."""

    items: list[VersionEntry]
    next_cursor: str | None


class VersionFacts(msgspec.Struct, kw_only=True):
    """What is stored about a version, besides its files."""

    entry: VersionEntry
    title: str
    findings: SkillFindings | None


def milliseconds(moment: str) -> int:
    """Return a time of the catalog in milliseconds since 1970."""
    return int(datetime.datetime.fromisoformat(moment).timestamp() * 1000)


def those_left(make: Callable[[_Item], _Made | None], items: Iterable[_Item]) -> list[_Made]:
    """Return what a function makes of each item, without those whose skill or version was deleted meanwhile."""
    entries = (_made_or_none(make, item) for item in items)
    return [entry for entry in entries if entry is not None]


def _made_or_none(make: Callable[[_Item], _Made | None], item: _Item) -> _Made | None:
    try:
        return make(item)
    except RegistryError as error:
        if error.code != "SKILL_NOT_FOUND":
            raise
        return None


def listed(services: Services, skill_id: str) -> Skill:
    """Return an enabled skill that has files. Raises SKILL_NOT_FOUND."""
    skill = services.catalog.get(skill_id)
    if not skill.enabled or not (skill.installed or services.is_published(skill_id)):
        raise skill_not_found(skill_id)
    return skill


def skill_detail(services: Services, skill: Skill) -> SkillDetail:
    """Return a skill with its latest version."""
    owner = owner_of(skill.id)
    return SkillDetail(
        skill=SkillEntry(**_fields(skill)),
        latest_version=latest_entry(services, skill),
        owner=Owner(handle=owner, display_name=owner),
        moderation=moderation(skill.findings),
    )


def listed_skill(services: Services, card: Card | Skill) -> ListedSkill:
    """Return a skill of a list."""
    return ListedSkill(**_fields(card), latest_version=latest_entry(services, card))


def latest_entry(services: Services, card: Card | Skill) -> VersionEntry:
    """Return the current version of a skill."""
    version = services.catalog.version(card.id, card.version)
    return VersionEntry(
        version=version.version, created_at=milliseconds(version.created_at), changelog="\n".join(version.changes)
    )


def _fields(card: Card | Skill) -> dict[str, Any]:
    return {
        "slug": slug_of(card.id),
        "display_name": card.name,
        "summary": card.description,
        "owner_handle": owner_of(card.id),
        "tags": {"latest": card.version},
        "created_at": milliseconds(card.created_at),
        "updated_at": milliseconds(card.updated_at),
    }


def version_facts(services: Services, skill_id: str, number: str | None) -> VersionFacts:
    """Return what is stored about the current version of a listed skill, or about the version of a number.

    That may be a yanked version. Raises SKILL_NOT_FOUND, and CONFLICT for a revoked version.
    """
    if number is not None and services.is_published(skill_id):
        return _published_facts(services, skill_id, number)
    skill = listed(services, skill_id)
    if number not in (None, skill.version):
        services.catalog.version(skill_id, str(number))
        raise skill_not_found(skill_id, number)  # an older state of a folder, whose files are gone
    return VersionFacts(entry=latest_entry(services, skill), title=skill.name, findings=skill.findings)


def _published_facts(services: Services, skill_id: str, number: str) -> VersionFacts:
    version = services.published.find(skill_id, number)
    if version.state == "revoked":
        raise conflict(f"Version {number} of skill '{skill_id}' is revoked")
    entry = VersionEntry(
        version=number, created_at=milliseconds(version.published_at), changelog="\n".join(changes_of(version.record))
    )
    return VersionFacts(entry=entry, title=version.record.title, findings=version.record.all_findings())


def version_detail(facts: VersionFacts, package: SkillPackage) -> VersionDetail:
    """Return a version with its files."""
    return VersionDetail(
        version=VersionFiles(
            **msgspec.structs.asdict(facts.entry),
            files=[_file(file) for file in package.files.values()],
            security=security(facts.findings),
        ),
        skill=SkillName(slug=slug_of(package.skill_id), display_name=facts.title),
    )


def _file(file: PackagedFile) -> FileEntry:
    kind = "text/markdown" if file.path.endswith(".md") else mimetypes.guess_type(file.path)[0]
    content_type = kind or "application/octet-stream"
    return FileEntry(path=file.path, size=len(file.data), sha256=file.sha256, content_type=content_type)
