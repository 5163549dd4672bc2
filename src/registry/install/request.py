"""The request body that creates a skill from its fields, or installs it from an origin."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from registry.domain.models import Description, Name, NewSkill, NewSkillId, SourceName, SourceType, Url, Version
from registry.domain.origins import CommitHash, Origin, SourceOrigin, parse_origin
from registry.domain.validation import convert
from registry.install.installer import InstallOrder
from registry.project.lock_file import Sha256

OfferedId = Annotated[
    str,
    Meta(
        pattern=r"^[a-z0-9][a-z0-9_.-]{0,79}(?:/[a-z0-9][a-z0-9_.-]{0,79})?$(?!\n)",
        extra={"rule": "must be an id as listed by a source or returned by search"},
    ),
]


class _Install(msgspec.Struct, kw_only=True):
    """The optional fields of every installation."""

    commit: CommitHash | None = None
    sha256: Sha256 | None = None
    save: bool = True


class _FromOrigin(_Install, kw_only=True):
    origin: Origin | str


class _FromSource(_Install, kw_only=True):
    skill_id: OfferedId
    source_name: SourceName
    version: Version | None = None


class _FromUrl(_Install, kw_only=True):
    source_url: Url
    source_type: SourceType
    source_branch: Url | None = None
    editable: bool = False


class SkillRequest(NewSkill, kw_only=True):
    """The body that creates or installs a skill.

    With `origin`, an object or a string, the skill is installed from there; with `skill_id` and `source_name`, from
    that source; in the local profile with `source_url` and `source_type`, from that URL or folder. Otherwise it is
    created, which requires `id`, `name`, `description` and `version`. For an installation, `commit` and `sha256` are
    the required state, and `save: false` leaves the project's manifest unchanged.
    """

    id: NewSkillId | UnsetType = UNSET  # type: ignore[assignment]
    name: Name | UnsetType = UNSET  # type: ignore[assignment]
    description: Description | UnsetType = UNSET  # type: ignore[assignment]
    version: Version | UnsetType = UNSET  # type: ignore[assignment]
    origin: Origin | str | UnsetType = UNSET
    skill_id: OfferedId | UnsetType = UNSET
    source_name: SourceName | UnsetType = UNSET
    commit: CommitHash | None = None
    sha256: Sha256 | None = None
    save: bool = True

    @staticmethod
    def rules_for(value: Any) -> type[msgspec.Struct]:
        """Return the type that a body is validated against, chosen by the fields it has."""
        sent = value.keys() if isinstance(value, dict) else set()
        if "origin" in sent:
            return _FromOrigin
        if sent & {"skill_id", "source_name"}:
            return _FromSource
        if sent >= {"source_url", "source_type"} and not sent & {"id", "name", "description"}:
            return _FromUrl
        return NewSkill


def install_order(body: SkillRequest, profile: Literal["local", "registry"]) -> InstallOrder | None:
    """Return the order to install a skill, or None to create one. Raises VALIDATION_ERROR."""
    origin = _origin(body, profile)
    if origin is None:
        return None
    return InstallOrder(origin=origin, commit=body.commit, sha256=body.sha256, save=body.save)


def _origin(body: SkillRequest, profile: str) -> Origin | None:
    if body.origin is not UNSET:
        return parse_origin(msgspec.to_builtins(body.origin))
    if body.source_name is not UNSET:
        version = None if body.version is UNSET else body.version
        return SourceOrigin(source=body.source_name, skill=str(body.skill_id), version=version)
    if profile == "local" and body.source_url is not None and body.source_type is not None:
        return _url_origin(body)
    if body.id is UNSET:  # only the local profile installs from a bare URL
        convert(msgspec.to_builtins(body), NewSkill)
    return None


def _url_origin(body: SkillRequest) -> Origin:
    if body.source_type == "local":
        return parse_origin({"type": "local", "path": body.source_url, "editable": body.editable}, "source_url")
    fields: dict[str, Any] = {"type": body.source_type, "url": body.source_url}
    if body.source_type == "git" and body.source_branch is not None:
        fields["ref"] = {"branch": body.source_branch}
    return parse_origin(fields, "source")
