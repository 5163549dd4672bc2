"""The fields of a skill in its folder: how requests write them into SKILL.md, and how a folder becomes a skill."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from registry.domain.models import NewSkill, Skill, SourceType, split_labels
from registry.domain.runtime_needs import NEEDS
from registry.errors import FieldError, validation_error
from registry.skill_folder import SkillFolder, project_metadata

_IN_METADATA = ("source_url", "source_type", "source_branch", "execution_timeout", "memory_limit_mb")


def front_matter_of(new: NewSkill) -> dict[str, Any]:
    """Return the front matter of a new skill: the fields of the Agent Skills format, and all others in `metadata`."""
    metadata: dict[str, str | list[str]] = {"name": new.name} if new.name != new.id else {}
    metadata["version"] = new.version
    metadata |= {"author": new.author} if new.author else {}
    for name in ("tags", "capabilities"):
        metadata |= {name: _written(getattr(new, name))} if getattr(new, name) else {}
    metadata |= {name: str(getattr(new, name)) for name in _IN_METADATA if getattr(new, name) is not None}
    metadata |= {"editable": "true"} if new.editable else {}
    return {"name": new.id, "description": new.description, "metadata": metadata}


def front_matter_edits(sent: Mapping[str, Any]) -> dict[str, Any]:
    """Return the changed keys of the front matter and their new values; None removes a key."""
    edits: dict[str, Any] = {}
    for name, value in sent.items():
        if name in ("content", "enabled", "skill_file"):
            continue
        if name == "description":
            edits[name] = value
        elif name in ("tags", "capabilities"):
            edits[f"metadata.{name}"] = _written(value)
        elif name == "editable":
            edits["metadata.editable"] = "true" if value else None
        else:
            edits[f"metadata.{name}"] = None if value is None else str(value)
    return edits


def check_not_overridden(folder: Path, sent: Mapping[str, Any]) -> None:
    """Refuse changes of SKILL.md that have no effect, because skill-project.toml overrides the field."""
    overridden = project_metadata(folder, []).keys() & sent.keys()
    if overridden:
        raise validation_error(
            *(
                FieldError(name, "is set in the skill's skill-project.toml: change it there")
                for name in sorted(overridden)
            )
        )


def _written(value: list[str] | str) -> str | list[str]:
    """Return labels as SKILL.md has them: one text, as the format asks of `metadata`; a list if a label has a comma."""
    labels = split_labels(value)
    return labels if any("," in label for label in labels) else ", ".join(labels)


_SAME_FIELDS = [
    name
    for name in SkillFolder.__struct_fields__
    if name in Skill.__struct_fields__ and name not in ("skill_file", "source_type")
]
"""The fields of a skill that are copied from its folder."""


def skill_of_folder(read: SkillFolder, skill_id: str, enabled: bool, path: str) -> Skill:
    """Return the skill that was read from the folder at `path` of the skills directory."""
    scope, _, _ = skill_id.rpartition("/")
    source_type = read.source_type if read.source_type in ("git", "local", "http", "zip") else "local"
    return Skill(
        id=skill_id,
        enabled=enabled,
        skill_file=f"{path}/{read.skill_file.name}",
        source_type=cast(SourceType, source_type),
        editable=read.metadata.get("editable") == "true",
        scope=scope or None,
        execution_timeout=_number(read.metadata.get("execution_timeout")),
        memory_limit_mb=_number(read.metadata.get("memory_limit_mb")),
        **{name: getattr(read, name) for name in _SAME_FIELDS},
        **{name: getattr(read.needs, name) for name in NEEDS},
    )


def _number(value: object) -> int | None:
    return int(value) if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 9 else None
