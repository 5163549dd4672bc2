"""Response bodies of `/v1/skills`: the envelope of the specification, and beside it what the SDKs read.

The fields of `data` are repeated at the top, because both SDKs read an object there. `object` is for the OpenAI SDK,
`type` for the Anthropic SDK. Lists are those of both.
"""

from typing import Any, Generic, Literal, TypeVar

import msgspec

from registry.domain.models import Skill, SkillVersion, VersionItem
from registry.http.envelope import Pagination
from registry.http.routes.code import CreatedSkill, DeletedVersion, SkillItem
from registry.http.routes.parameters import Deleted

_Item = TypeVar("_Item")


class Origin(msgspec.Struct):
    """Where a skill comes from, in the terms of the Anthropic SDK."""

    type: Literal["custom"] = "custom"


class ListedSkill(SkillItem, kw_only=True):
    """A skill in a list."""

    object: Literal["skill"] = "skill"
    type: Literal["skill"] = "skill"
    display_name: str
    default_version: str
    latest_version: str
    latest_version_id: str
    source: Origin = msgspec.field(default_factory=Origin)


class SkillObject(Skill, kw_only=True):
    """A skill. `source` in `data` names the source, and here the kind of it that the Anthropic SDK reads."""

    success: Literal[True] = True
    data: Skill
    object: Literal["skill"] = "skill"
    type: Literal["skill"] = "skill"
    display_name: str
    default_version: str
    latest_version_id: str
    source: Origin = msgspec.field(default_factory=Origin)  # type: ignore[assignment]


class CreatedSkillObject(SkillObject, kw_only=True):
    """A new skill. `data` has the fields of the specification's response to a creation."""

    data: CreatedSkill  # type: ignore[assignment]


class ListedVersion(VersionItem, kw_only=True):
    """A version in a list. Its id is its number."""

    id: str
    name: str
    object: Literal["skill.version"] = "skill.version"
    type: Literal["skill_version"] = "skill_version"


class VersionObject(SkillVersion, kw_only=True):
    """A version of a skill. Its id is its number."""

    success: Literal[True] = True
    data: SkillVersion
    id: str
    name: str
    object: Literal["skill.version"] = "skill.version"
    type: Literal["skill_version"] = "skill_version"


class ListObject(msgspec.Struct, Generic[_Item], kw_only=True):
    """A page of a list. `next_page` is the token for `page`, null on the last page."""

    success: Literal[True] = True
    data: list[_Item]
    pagination: Pagination
    object: Literal["list"] = "list"
    has_more: bool
    first_id: str | None
    last_id: str | None
    next_page: str | None


class DeletedSkillObject(msgspec.Struct, kw_only=True):
    """Which skill was deleted."""

    success: Literal[True] = True
    data: Deleted
    id: str
    deleted: Literal[True] = True
    object: Literal["skill.deleted"] = "skill.deleted"
    type: Literal["skill_deleted"] = "skill_deleted"


class DeletedVersionObject(msgspec.Struct, kw_only=True):
    """Which version was deleted."""

    success: Literal[True] = True
    data: DeletedVersion
    id: str
    version: str
    deleted: Literal[True] = True
    object: Literal["skill.version.deleted"] = "skill.version.deleted"
    type: Literal["skill_version_deleted"] = "skill_version_deleted"


def skill_object(skill: Skill) -> SkillObject:
    """Return a skill as an object."""
    return SkillObject(**_skill_fields(skill), data=skill)


def created_object(skill: Skill) -> CreatedSkillObject:
    """Return a new skill as an object."""
    created = msgspec.convert(skill, CreatedSkill, from_attributes=True)
    return CreatedSkillObject(**_skill_fields(skill), data=created)


def _skill_fields(skill: Skill) -> dict[str, Any]:
    fields = {name: getattr(skill, name) for name in Skill.__struct_fields__ if name != "source"}
    return fields | {
        "display_name": skill.name,
        "default_version": skill.version,
        "latest_version_id": skill.latest_version,
    }


def listed_skill(item: SkillItem) -> ListedSkill:
    """Return a skill as an item of a list. Cards have the current version only."""
    fields = {name: getattr(item, name) for name in SkillItem.__struct_fields__}
    number = item.version
    return ListedSkill(
        **fields, display_name=item.name, default_version=number, latest_version=number, latest_version_id=number
    )


def version_object(version: SkillVersion) -> VersionObject:
    """Return a version as an object."""
    fields = {name: getattr(version, name) for name in SkillVersion.__struct_fields__}
    return VersionObject(**fields, data=version, id=version.version, name=_slug(version.skill_id))


def listed_version(version: VersionItem) -> ListedVersion:
    """Return a version as an item of a list."""
    fields = {name: getattr(version, name) for name in VersionItem.__struct_fields__}
    return ListedVersion(**fields, id=version.version, name=_slug(version.skill_id))


def list_object(items: list[_Item], ids: list[str], pagination: Pagination, *, has_more: bool) -> ListObject[_Item]:
    """Return a page of a list; `ids` are those of the items."""
    first_id, last_id = (ids[0], ids[-1]) if ids else (None, None)
    return ListObject(
        data=items,
        pagination=pagination,
        has_more=has_more,
        first_id=first_id,
        last_id=last_id,
        next_page=last_id if has_more else None,
    )


def _slug(skill_id: str) -> str:
    return skill_id.rpartition("/")[2]
