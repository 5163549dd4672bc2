"""Request and response bodies of install and upgrade. Servers and clients share them, so imports stay light."""

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from registry.domain.models import (
    Description,
    Name,
    NewSkill,
    NewSkillId,
    SkillId,
    SourceName,
    SourceType,
    Url,
)
from registry.domain.origins import CommitHash, ListedId, Origin, Sha256
from registry.domain.release_proofs import PinnedProof
from registry.domain.version_requirement import VersionRequirement
from registry.packages.update_diff import FileChanges

NOT_INSTALLED = "it was not installed by the registry"
"""The reason why a skill that a user has put into the skills directory is never upgraded."""

Outcome = Literal["updated", "would_update", "up_to_date", "immutable", "error"]


class _Install(msgspec.Struct, kw_only=True):
    """What every installation may say besides where the skill comes from."""

    version: VersionRequirement | None = None
    commit: CommitHash | None = None
    sha256: Sha256 | None = None
    package: Sha256 | None = None
    log: PinnedProof | None = None
    save: bool = True
    offline: bool = False


class _FromOrigin(_Install, kw_only=True):
    origin: Origin | str


class _FromSource(_Install, kw_only=True):
    skill_id: ListedId
    source_name: SourceName


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
    `version`, `commit`, `sha256` and `package` say which state it must be, `log` which state of a registry's log was
    seen before, and `save: false` keeps it out of the project's manifest. With
    `offline: true` nothing is fetched: the package is a folder of this machine, or in the cache of packages.
    """

    id: NewSkillId | UnsetType = UNSET  # type: ignore[assignment]
    name: Name | UnsetType = UNSET  # type: ignore[assignment]
    description: Description | UnsetType = UNSET  # type: ignore[assignment]
    version: VersionRequirement | UnsetType = UNSET  # type: ignore[assignment]
    origin: Origin | str | UnsetType = UNSET
    skill_id: ListedId | UnsetType = UNSET
    source_name: SourceName | UnsetType = UNSET
    commit: CommitHash | None = None
    sha256: Sha256 | None = None
    package: Sha256 | None = None
    log: PinnedProof | None = None
    save: bool = True
    offline: bool = False

    @staticmethod
    def rules_for(value: Any) -> type[msgspec.Struct]:
        """Return the type whose rules a body must keep: its fields say what is requested."""
        sent = value.keys() if isinstance(value, dict) else set()
        if "origin" in sent:
            return _FromOrigin
        if sent & {"skill_id", "source_name"}:
            return _FromSource
        if sent >= {"source_url", "source_type"} and not sent & {"id", "name", "description"}:
            return _FromUrl
        return NewSkill


class UpgradeBody(msgspec.Struct, kw_only=True):
    """The body of an upgrade: of one skill or all. `check` changes nothing; `version` is a version or range.

    `discard` throws away what was changed in the folders of the skills. Without it such a skill is not upgraded.
    `commit`, `sha256`, `package` and `log` say which state the skill must get, as a lock names it, and `offline: true`
    that nothing may be fetched.
    """

    skill_id: SkillId | None = None
    check: bool = False
    discard: bool = False
    version: VersionRequirement | None = None
    commit: CommitHash | None = None
    sha256: Sha256 | None = None
    package: Sha256 | None = None
    log: PinnedProof | None = None
    offline: bool = False


class LocalChanges(FileChanges, kw_only=True, frozen=True):
    """The files that were added, removed and changed in the folder of a skill since its installation.

    `diff` is their unified difference from the installed version, of texts only, at most 200 lines. If the origin does
    not have that version any more or cannot be reached, `compared` is false, and `changed` has the files that were
    modified after the installation.
    """

    compared: bool
    diff: str


class UpgradeResult(msgspec.Struct, kw_only=True):
    """How it went with one skill. `resolved_version` is the one it has, or would have, afterwards.

    With `check`, `changes` names the files that an upgrade would change. `local_changes` are the reason why a skill
    was not upgraded, if it was changed in its folder.
    """

    id: str
    outcome: Outcome
    reason: str | None = None
    resolved_version: str | None = None
    changes: FileChanges | None = None
    local_changes: LocalChanges | None = None


class UpgradeData(msgspec.Struct, kw_only=True):
    """How it went with each skill; `upgraded` is how many were changed."""

    upgraded: int
    results: list[UpgradeResult]
