"""The body that makes a skill: created as it is sent, or installed from where it says."""

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
        extra={"rule": "must be an id as a source lists it, or as search answers it"},
    ),
]


class _Install(msgspec.Struct, kw_only=True):
    """What every installation may say besides where the skill comes from."""

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
    """The body that makes a skill.

    With `origin`, an object or one string that says which, it is installed from there; with `skill_id` and
    `source_name` from that source; in the local profile with `source_url` and `source_type` from that URL or folder.
    Otherwise it is created, for which `id`, `name`, `description` and `version` are required. Of an installation
    `commit` and `sha256` say which state it must be, and `save: false` keeps it out of the project's manifest.
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
        """Return the type whose rules a body must keep: what is there says what is asked for."""
        sent = value.keys() if isinstance(value, dict) else set()
        if "origin" in sent:
            return _FromOrigin
        if sent & {"skill_id", "source_name"}:
            return _FromSource
        if sent >= {"source_url", "source_type"} and not sent & {"id", "name", "description"}:
            return _FromUrl
        return NewSkill


def wanted(body: SkillRequest, profile: Literal["local", "registry"]) -> InstallOrder | None:
    """Return what is to be installed, None where a skill is to be created. Raises VALIDATION_ERROR."""
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
        return _of_url(body)
    if body.id is UNSET:  # only the local profile installs from a bare URL
        convert(msgspec.to_builtins(body), NewSkill)
    return None


def _of_url(body: SkillRequest) -> Origin:
    if body.source_type == "local":
        return parse_origin({"type": "local", "path": body.source_url, "editable": body.editable}, "source_url")
    given: dict[str, Any] = {"type": body.source_type, "url": body.source_url}
    if body.source_type == "git" and body.source_branch is not None:
        given["ref"] = {"branch": body.source_branch}
    return parse_origin(given, "source")
