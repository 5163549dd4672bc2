"""What a request to make a skill means: a skill to install, or one to create."""

from typing import Any, Literal

import msgspec
from msgspec import UNSET

from registry.domain.models import NewSkill
from registry.domain.origins import Origin, SourceOrigin, checked_origin, classify, parse_origin
from registry.domain.repository_addresses import RepositoryAddress
from registry.domain.validation import convert
from registry.install.order import InstallOrder
from registry.install.schemas import SkillRequest


def install_order(body: SkillRequest, profile: Literal["local", "registry"]) -> InstallOrder | None:
    """Return the order to install a skill, or None to create one. Raises VALIDATION_ERROR."""
    origin = _origin(body, profile)
    if origin is None:
        return None
    return InstallOrder(
        origin=origin,
        version=None if body.version is UNSET else body.version,
        commit=body.commit,
        sha256=body.sha256,
        package=body.package,
        log=body.log,
        save=body.save,
        offline=body.offline,
    )


def _origin(body: SkillRequest, profile: str) -> Origin | RepositoryAddress | None:
    if body.origin is not UNSET:
        return classify(body.origin) if isinstance(body.origin, str) else checked_origin(body.origin)
    if body.source_name is not UNSET:
        return SourceOrigin(source=body.source_name, skill=str(body.skill_id))
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
