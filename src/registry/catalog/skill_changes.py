"""What a caller sends of a skill: checked beyond what its types say, and laid over the record."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from registry.domain.models import RESERVED_IDS, Capabilities, NewSkill, Skill, SkillChanges, Tags, split_labels
from registry.domain.validation import find_errors
from registry.errors import FieldError, validation_error

_SAID = ("name", "description", "version", "author", "tags", "capabilities", "editable", "enabled")
"""What a create body says of a skill that is kept to the letter, wherever else it is written."""


def checked_fields(new: NewSkill) -> dict[str, Any]:
    """Return what a create body says of the skill itself. Raises VALIDATION_ERROR."""
    if new.id in RESERVED_IDS:
        raise validation_error(FieldError("id", "is reserved"))
    sent = {name: getattr(new, name) for name in _SAID}
    _check_labels(sent)
    return sent


def sent_changes(changes: SkillChanges, skill_id: str) -> dict[str, Any]:
    """Return the fields that were sent. Raises VALIDATION_ERROR where there is none, or the id is another."""
    sent = {name: getattr(changes, name) for name in changes.__struct_fields__}
    sent = {name: value for name, value in sent.items() if value is not UNSET}
    if sent.pop("id", skill_id) != skill_id:
        raise validation_error(FieldError("id", "must be the id in the path"))
    if not sent:
        raise validation_error(message="The body changes nothing: send at least one field")
    _check_labels(sent)
    return sent


def with_fields(skill: Skill, sent: Mapping[str, Any]) -> Skill:
    """Return the skill with the fields that were sent."""
    values = {name: value for name, value in sent.items() if name != "content"}
    values |= {name: split_labels(values[name]) for name in ("tags", "capabilities") if name in values}
    if values.get("source_type", "") is None:
        values["source_type"] = "local"
    return msgspec.structs.replace(skill, **values)


def default_body(new: NewSkill) -> str:
    """Return the text of a new skill: what was sent, or a heading and the description."""
    return new.content or f"# {new.name}\n\n{new.description}\n"


def _check_labels(sent: Mapping[str, Any]) -> None:
    """Check the single tags and capabilities, also of the form that is one comma-separated string."""
    faults = [
        fault
        for name, kind in (("tags", Tags), ("capabilities", Capabilities))
        if name in sent
        for fault in find_errors(split_labels(sent[name]), kind, name)
    ]
    if faults:
        raise validation_error(*faults)
