"""Use cases of single skills: read, create, install, update, uninstall, and versions.

Each is implemented here once. Routes, commands and protocol adapters translate and call it. Search indexes follow every
commit by the database's change hooks, so a change is searchable when these functions return.
"""

import datetime
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from functools import partial
from typing import TypeVar

import msgspec
from msgspec import UNSET

from registry.catalog.conditions import Conditions, check_narrowing
from registry.catalog.dependents import installed_dependents
from registry.catalog.installs import installed_as
from registry.catalog.skill_changes import sent_changes
from registry.domain.findings import SkillFindings
from registry.domain.models import NewSkill, NewVersion, Skill, SkillChanges, SkillVersion, timestamp
from registry.domain.origins import RegistryOrigin, SourceOrigin
from registry.domain.roles import Principal, includes
from registry.domain.source_entry import REGISTRY
from registry.domain.withdrawals import Withdrawn
from registry.errors import FieldError, RegistryError, conflict, forbidden, skill_not_found, validation_error
from registry.install.order import InstallOrder
from registry.install.request import install_order
from registry.install.schemas import SkillRequest
from registry.project.manifest import Dependency
from registry.publish.lookalikes import refuse_lookalikes
from registry.publish.published_version import changes_of
from registry.services.container import Services
from registry.services.install_jobs import InstallJob

_Result = TypeVar("_Result")


def read_skill(services: Services, skill_id: str) -> Skill:
    """Return a skill, a published one with the URL of its package. Raises SKILL_NOT_FOUND."""
    skill = services.catalog.get(skill_id)
    if skill.source == REGISTRY and services.is_published(skill_id):
        skill.download_url = services.settings.package_urls.of(skill_id, skill.version)
    skill.uses_30d = services.usage.recent_of(skill_id) or UNSET
    return skill


def read_version(services: Services, skill_id: str, version: str) -> tuple[SkillVersion, str]:
    """Return a version of a skill and its entity tag; of a published one also if it is withdrawn.

    Raises SKILL_NOT_FOUND.
    """
    try:
        etag = services.catalog.get(skill_id).etag  # before the version: a tag that is too old only costs a request
        answer = services.catalog.version(skill_id, version)
    except RegistryError:
        if not services.is_published(skill_id):
            raise
        stored = services.published.find(skill_id, version)
        etag = f'"{stored.checksum.removeprefix("sha256:")[:32]}-{stored.state}"'
        answer = SkillVersion(
            skill_id=skill_id,
            version=version,
            description=stored.record.description,
            created_at=stored.published_at,
            changes=changes_of(stored.record),
        )
    if services.is_published(skill_id):
        answer.dependencies = [str(needed) for needed in services.published.dependencies(skill_id, version)] or UNSET
        answer.withdrawn = services.published.withdrawal(skill_id, version) or UNSET
        answer.publisher = services.published.find(skill_id, version).record.publisher or UNSET
    return answer, etag


def withdrawal_of(services: Services, skill_id: str, version: str | None) -> tuple[str, Withdrawn | None]:
    """Return a version, or the current one, and how it is withdrawn; None if it is not. Raises SKILL_NOT_FOUND."""
    if version is not None and services.is_published(skill_id):
        return version, services.published.withdrawal(skill_id, version)
    skill = services.catalog.get(skill_id)
    return skill.version, skill.withdrawn or None


def findings_of(services: Services, skill: Skill, version: str | None = None) -> SkillFindings | None:
    """Return what was found in a skill: in its current version, or in one that is named; None if it was not scanned.

    Raises SKILL_NOT_FOUND for a version that does not exist, or whose findings are not kept.
    """
    if version is not None and services.is_published(skill.id):
        return services.published.find(skill.id, version).record.all_findings()
    if version not in (None, skill.version):
        raise skill_not_found(skill.id, version)
    return skill.findings


def create_skill(services: Services, request: SkillRequest, caller: Principal | None = None) -> Skill:
    """Install a skill from where the request says, or create it: in the local profile as a folder, else as a record.

    Without a `caller`, the names of published skills are free. Raises VALIDATION_ERROR, CONFLICT, and what installing
    raises (`install_jobs.InstallJobs.install`).
    """
    order = _install_order(services, request, caller)
    if order is None:
        return create_from_fields(services, request, caller)
    return services.install_jobs.install(order)


def _install_order(services: Services, request: SkillRequest, caller: Principal | None) -> InstallOrder | None:
    order = install_order(request, services.settings.profile)
    if order is None:
        return None
    if caller is not None and caller.narrowing is not None and caller.narrowing.skills:
        raise forbidden(
            "This token is for some published skills, and no installed skill is one of them: sign in to install"
        )
    return msgspec.structs.replace(order, check_names=partial(check_names, services, caller))


def is_install(services: Services, request: SkillRequest) -> bool:
    """Return whether a request installs a skill, which may wait for other servers. Raises VALIDATION_ERROR."""
    return install_order(request, services.settings.profile) is not None


def start_install(services: Services, request: SkillRequest, caller: Principal | None = None) -> InstallJob:
    """Install a skill in the background.

    Raises VALIDATION_ERROR, also if the request creates a skill; SERVICE_UNAVAILABLE if too many installations run.
    """
    order = _install_order(services, request, caller)
    if order is None:
        raise validation_error(FieldError("async", "applies to installations only"))
    return services.install_jobs.start(order)


def create_from_fields(services: Services, new: NewSkill, caller: Principal | None = None) -> Skill:
    """Create a skill, in the local profile as a folder, else as a record of the caller's scope; nothing is fetched.

    Raises VALIDATION_ERROR, FORBIDDEN, CONFLICT.
    """
    check_new(services, caller, new)
    (skill,) = services.skill_backends.create_all([new], caller.scope if caller else None)
    if isinstance(skill, RegistryError):
        raise skill
    return skill


def check_new(services: Services, caller: Principal | None, new: NewSkill) -> None:
    """Refuse a record that the caller's token is not for, and names as `check_names`. Raises FORBIDDEN, CONFLICT."""
    if caller is not None:
        check_narrowing(caller, f"{caller.scope}/{new.id}")
    check_names(services, caller, (new.id, new.name))


def check_names(services: Services, caller: Principal | None, names: Iterable[str], own: str | None = None) -> None:
    """Refuse names that look like those another scope has published, except from administrators. Raises CONFLICT."""
    if caller is not None and not includes(caller.role, "admin"):
        refuse_lookalikes(services.database, names, caller.scope, own)


def update_skill(
    services: Services,
    skill_id: str,
    changes: SkillChanges,
    etags: Collection[str] | None,
    caller: Principal | None = None,
) -> Skill:
    """Change the fields that were sent.

    Raises SKILL_NOT_FOUND, PRECONDITION_FAILED where `etags` lack the skill's own, VALIDATION_ERROR, CONFLICT.
    """
    sent = sent_changes(changes, skill_id)  # the rules of the body come first, also for a skill that does not exist
    if changes.name is not UNSET:
        check_names(services, caller, [changes.name])
    return services.skill_backends.of(skill_id).update(skill_id, sent, Conditions(etags, caller))


def uninstall_skill(
    services: Services,
    skill_id: str,
    etags: Collection[str] | None = None,
    caller: Principal | None = None,
    *,
    cascade: bool = False,
) -> list[str]:
    """Remove a skill with its folder and versions, in the local profile also from the manifest and the lock file.

    A skill from a registry can be named as it is there, `scope/name`, unless the catalog has a skill with that id. With
    `cascade`, the installed skills that need it are removed before it. Return the ids of all that were removed, its own
    last. Of a skill whose folder was removed by hand, its entries in these files are removed. Raises SKILL_NOT_FOUND,
    PRECONDITION_FAILED, and CONFLICT for a skill that others need.
    """
    if etags is None:  # it changes tags, and a caller who names them knows the skill as it is
        with suppress(RegistryError):  # an invalid lock hinders no removal
            services.installer.adopt()
    if not services.catalog.has(skill_id):
        skill_id = installed_as(services.database, skill_id) or skill_id
    if not services.catalog.has(skill_id) and (gone := _forget(services, skill_id)) is not None:
        return [gone]
    others = installed_dependents(services.database, skill_id)
    if others and not cascade:
        raise conflict(
            f"Skill '{skill_id}' is needed by {', '.join(others)}: uninstall these too, as the command does with "
            "--cascade and a request with cascade=true"
        )
    for removed_id in [*others, skill_id]:
        names = services.project.names_of(removed_id)
        conditions = Conditions(etags if removed_id == skill_id else None, caller)
        services.skill_backends.of(removed_id).delete(removed_id, conditions)
        if named := services.project.record_removal(removed_id, names):
            services.local.bin.note_manifest(removed_id, named[0], msgspec.json.encode(named[1]))
    return [*others, skill_id]


def _forget(services: Services, skill_id: str) -> str | None:
    """Remove a skill that is not there any more from the manifest and the lock file, and a link to its folder.

    Return its id, None if neither file names it. Raises CONFLICT if the lock is invalid.
    """
    locked = services.project.locked_skills()
    entry = next((entry for entry in locked if skill_id in (entry.id, getattr(entry.origin, "skill", None))), None)
    own_id = entry.id if entry else skill_id
    listed = [str(entry.origin.skill)] if entry and isinstance(entry.origin, RegistryOrigin | SourceOrigin) else []
    if services.project.record_removal(own_id, [skill_id, own_id, *listed]) is None and entry is None:
        return None
    link = services.local.root / (entry.path if entry else own_id)
    if link.is_symlink() and not link.exists():
        with suppress(OSError):
            link.unlink()
    return own_id


def restore_skill(services: Services, skill_id: str, caller: Principal | None) -> Skill:
    """Undo the deletion of a skill, and return it.

    A published one gets its versions back, which are unyanked. A folder comes back from the bin, with its entries in
    the manifest and the lock file; one from a registry can be named as it is there. `caller` is None in the local
    profile. Raises SKILL_NOT_FOUND also where nothing is kept, FORBIDDEN, and CONFLICT for a skill that is not deleted.
    """
    if caller is not None and services.is_published(skill_id):
        services.publishing.restore(caller, skill_id)
    else:
        entry = services.local.restore(skill_id)
        named = entry.manifest_name and (
            entry.manifest_name,
            msgspec.json.decode(entry.manifest_entry, type=Dependency),
        )
        skill_id = entry.id
        services.project.record_return(skill_id, named or None)
    return read_skill(services, skill_id)


class BinnedSkill(msgspec.Struct, kw_only=True):
    """A skill in the bin. `size` is that of its files in bytes, and `kept_until` is when it is deleted for good."""

    id: str
    removed_at: str
    kept_until: str
    size: int


def list_bin(services: Services) -> list[BinnedSkill]:
    """Return the uninstalled skills that can be restored, what was removed last first."""
    days = datetime.timedelta(days=services.local.bin.days)
    return [
        BinnedSkill(
            id=entry.id,
            removed_at=entry.removed_at,
            kept_until=timestamp(datetime.datetime.fromisoformat(entry.removed_at) + days),
            size=entry.size,
        )
        for entry in services.local.bin.entries()
    ]


def restore_version(services: Services, skill_id: str, version: str, caller: Principal | None) -> None:
    """Unyank a version of a published skill. `caller` is None in the local profile.

    Raises SKILL_NOT_FOUND, FORBIDDEN, also for a revoked version, and CONFLICT where nothing is kept.
    """
    if caller is None or not services.is_published(skill_id):
        raise conflict("Only published versions are kept when they are deleted: this one cannot be restored")
    services.publishing.set_state(caller, skill_id, version, "active")


def add_version(services: Services, skill_id: str, new: NewVersion, caller: Principal | None = None) -> SkillVersion:
    """Add a version to a skill; the highest becomes current. Raises SKILL_NOT_FOUND, FORBIDDEN, CONFLICT."""
    if services.is_published(skill_id):
        raise conflict(f"Skill '{skill_id}' is published: a new version of it is published too")
    return services.versions.create(skill_id, new, Conditions(caller=caller))


def delete_version(
    services: Services, skill_id: str, version: str, etags: Collection[str] | None, caller: Principal | None
) -> None:
    """Delete a version, or yank it where it was published. `caller` is None in the local profile.

    Raises SKILL_NOT_FOUND, FORBIDDEN, PRECONDITION_FAILED where `etags` lack the one of the skill, CONFLICT for the
    last.
    """
    if caller is not None and services.is_published(skill_id):
        services.publishing.set_state(caller, skill_id, version, "yanked", etags)
    else:
        services.versions.delete(skill_id, version, Conditions(etags, caller))


def deleted(
    services: Services, skill_id: str, version: str | None, delete: Callable[[], _Result]
) -> tuple[_Result, str]:
    """Delete a skill, or one version of it, and return what `delete` returns, and what an answer says of that.

    Raises what `delete` raises.
    """
    is_published = services.is_published(skill_id)  # before the change: nothing may fail after it
    result = delete()
    what = f"Skill '{skill_id}'" if version is None else f"Version {version} of skill '{skill_id}'"
    if not is_published:
        return result, f"{what} deleted"
    return result, (
        f"{what} deleted: {'every version' if version is None else 'it'} is yanked, which can be undone. Requests that "
        "name the version still get its files; an administrator can revoke it"
    )
