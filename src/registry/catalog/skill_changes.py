"""What a request sends of a skill: checks beyond the types of its fields, and how they change the skill."""

from collections.abc import Container, Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from registry.db import Reader
from registry.domain.models import RESERVED_IDS, NewSkill, Skill, SkillChanges, split_labels
from registry.errors import FieldError, conflict, validation_error

_NEW_FIELDS = ("name", "description", "version", "author", "tags", "capabilities", "editable", "enabled")
"""The fields of a create request that the catalog stores exactly as sent."""


def checked_fields(new: NewSkill) -> dict[str, Any]:
    """Return the stored fields of a create request. Raises VALIDATION_ERROR."""
    if new.id in RESERVED_IDS:
        raise validation_error(FieldError("id", "is reserved: choose another id"))
    return {name: getattr(new, name) for name in _NEW_FIELDS}


def refuse_existing(reader: Reader, skill_id: str) -> None:
    """Raise CONFLICT if a skill has this id."""
    refuse_taken(
        skill_id, [former_id for (former_id,) in reader.read("select id from skills where id = ?", (skill_id,))]
    )


def refuse_taken(skill_id: str, taken: Container[str]) -> None:
    """Raise CONFLICT if an id is one of those that skills have."""
    if skill_id in taken:
        raise conflict(f"Skill '{skill_id}' already exists")


def sent_changes(changes: SkillChanges, skill_id: str) -> dict[str, Any]:
    """Return the fields of an update. Raises VALIDATION_ERROR if there are none, or if they change the id."""
    sent = {name: getattr(changes, name) for name in changes.__struct_fields__}
    sent = {name: value for name, value in sent.items() if value is not UNSET}
    if sent.pop("id", skill_id) != skill_id:
        raise validation_error(FieldError("id", "must equal the id in the path"))
    if not sent:
        raise validation_error(message="The body has no fields: send at least one")
    return sent


def with_fields(skill: Skill, sent: Mapping[str, Any]) -> Skill:
    """Return a copy of the skill with the fields of `sent`."""
    values = {name: value for name, value in sent.items() if name != "content"}
    values |= {name: split_labels(values[name]) for name in ("tags", "capabilities") if name in values}
    if values.get("source_type", "") is None:
        values["source_type"] = "local"
    return msgspec.structs.replace(skill, **values)


def default_body(new: NewSkill) -> str:
    """Return the body of a new skill: its content, or else a heading and the description."""
    return new.content or f"# {new.name}\n\n{new.description}\n"
