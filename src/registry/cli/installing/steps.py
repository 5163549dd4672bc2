"""The steps of `install` and `uninstall`: each changes one skill and returns its row."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from registry.cli import console
from registry.cli.backend import CommandBackend, CommandFailed
from registry.cli.credentials import service_of
from registry.cli.risk import warn_of_risk, warn_of_withdrawal
from registry.cli.search.similar_ids import with_similar
from registry.config.settings import Settings
from registry.domain.api import API, MIRRORS_PATH
from registry.domain.origins import Origin, RegistryOrigin, SourceOrigin
from registry.errors import RegistryError
from registry.install.schemas import SkillRequest, UpgradeBody
from registry.project.lock_file import LOCK_FILE, LockedSkill
from registry.project.manifest_file import ManifestFile, NewDependency

_LISTED = re.compile(r"([a-z0-9_-]+)/([a-z0-9_-]+)\.([a-z0-9_-]+)")
"""The id of a skill that a service lists of a registry: its source, and its id there with a dot."""

Row = dict[str, Any]

NEEDED = "needed"
"""The field of a row with the rows of the skills that it needs."""

Act = Callable[[CommandBackend], Row]
"""A function that changes one skill and returns fields of its row. It raises CommandFailed."""

Step = tuple[str, Act]
"""The name of a skill, and what is done with it."""


def present(entry: LockedSkill) -> Row:
    """Return the row of a locked skill that is there already."""
    return {"outcome": "already_installed", "resolved_version": entry.version, "folder": entry.path}


def _of_skill(skill: Row) -> Row:
    """Return the fields of the row of an installed skill; `folder` is below the skills directory."""
    place = skill.get("skill_file")
    folder = {"folder": place.rpartition("/")[0]} if place else {}
    return {"id": skill["id"], "resolved_version": skill["version"], **folder}


def _fallback(origin: object, default: str | None) -> RegistryOrigin | None:
    """Return the origin in the default registry, for a skill that no source lists."""
    if not isinstance(origin, SourceOrigin) or not default or "/" not in origin.skill:
        return None
    return in_registry(origin, default) if "." not in origin.skill or _LISTED.fullmatch(origin.skill) else None


def in_registry(origin: SourceOrigin, url: str) -> RegistryOrigin:
    """Return the origin of the same skill in the registry at a URL.

    What its service lists as `source/scope.name` is in the mirror of that source.
    """
    if (listed := _LISTED.fullmatch(origin.skill)) is None:
        return RegistryOrigin(url=url, skill=origin.skill, version=origin.version)
    source, scope, name = listed.groups()
    mirror = f"{service_of(url)}{MIRRORS_PATH}/{source}"
    return RegistryOrigin(url=mirror, skill=f"{scope}/{name}", version=origin.version)


def restoring(skill_id: str) -> Step:
    """Return the step that undoes the removal of a skill."""

    def act(backend: CommandBackend) -> Row:
        skill = backend.restore(skill_id)
        warn_of_risk(skill)
        return {**_of_skill(skill), "outcome": "restored"}

    return skill_id, act


def installing(body: SkillRequest, default: str | None = None) -> Act:
    """Return the step that installs a skill, from the registry at `default` if no source lists it."""

    def act(backend: CommandBackend) -> Row:
        try:
            skill = _install(backend, body, default)
        except CommandFailed as error:
            if error.location is None:
                raise
            skill_id = error.location.removeprefix(f"{API}/skills/")
            return _of_skill(backend.skill(skill_id)) | {"outcome": "already_installed"}
        warn_of_risk(skill)
        warn_of_withdrawal(skill)
        reason = "; ".join(skill["warnings"]) or None
        row = {**_of_skill(skill), "outcome": "installed", "reason": reason}
        along = [backend.skill(needed_skill) for needed_skill in skill.get("dependencies_installed", ())]
        for needed_skill in along:
            warn_of_risk(needed_skill)
            warn_of_withdrawal(needed_skill)
        needed = {"outcome": "installed", "reason": f"needed by {skill['id']}"}
        return row | {NEEDED: [{**_of_skill(needed_skill), **needed} for needed_skill in along]}

    return act


def updating(entry: LockedSkill, *, offline: bool) -> Act:
    """Return the step that replaces an installed skill, if it is unchanged, by the state in the lock."""
    body = UpgradeBody(
        skill_id=entry.id,
        version=entry.version,
        commit=entry.commit,
        sha256=entry.sha256,
        package=entry.package,
        log=entry.log,
        offline=offline,
    )

    def act(backend: CommandBackend) -> Row:
        (row,) = backend.upgrade(body, lambda count, total: None)["results"]
        if row["outcome"] != "updated":
            way = (
                f": 'skill-registry upgrade {entry.id} --discard' throws them away" if row.get("local_changes") else ""
            )
            raise CommandFailed(f"its files differ from {LOCK_FILE}, and it cannot be updated: {row['reason']}{way}")
        skill = backend.skill(row["id"])
        warn_of_risk(skill)
        warn_of_withdrawal(skill)
        return {"outcome": row["outcome"], "resolved_version": row["resolved_version"], "folder": entry.path}

    return act


def _install(backend: CommandBackend, body: SkillRequest, default: str | None) -> dict[str, Any]:
    fallback = _fallback(body.origin, default)
    try:
        return backend.install(body)
    except CommandFailed as error:
        if fallback is None or error.code != "SKILL_NOT_FOUND":
            raise _with_hint(backend, error, body.origin) from None
    console.note(f"no source lists {fallback.skill}: asking your registry, {fallback.url}")
    return backend.install(msgspec.structs.replace(body, origin=fallback))


def _with_hint(backend: CommandBackend, error: CommandFailed, origin: object) -> CommandFailed:
    """Return the error, which names the folder or the skills that may be meant, or says how to find the skill."""
    if error.code != "SKILL_NOT_FOUND" or not isinstance(origin, SourceOrigin):
        return error
    if Path(origin.skill).is_dir():
        return CommandFailed(f"{error}: to install the folder, write ./{origin.skill}", error.code)
    if origin.version is not None:
        return with_similar(backend, error, origin.skill)
    words = origin.skill.rpartition("/")[2]
    hint = f"'skill-registry search {words}' lists the skills of your sources"
    if "/" in origin.skill and origin.source is None:
        hint += f"; the repository on GitHub is github:{origin.skill}"
    return with_similar(backend, CommandFailed(f"{error}: {hint}", error.code), origin.skill)


def recorded(manifest: ManifestFile, act: Act, origin: Origin) -> Act:
    """Return a step after which the manifest, if it exists, names the skill: also one that was there already."""

    def recording(backend: CommandBackend) -> Row:
        row = act(backend)
        try:
            project = manifest.read()
            if project is None or project.name_of((row["id"], getattr(origin, "skill", ""))):
                return row
            manifest.add(NewDependency(skill_id=row["id"], origin=origin))
        except RegistryError as error:
            return row | {"reason": error.line}
        note = f"added to {manifest.path.name}; 'skill-registry lock' adds it to {LOCK_FILE}"
        return row | {"reason": "; ".join(filter(None, (row.get("reason"), note)))}

    return recording


def note_unrecorded(settings: Settings, rows: Sequence[Row]) -> None:
    """Say how to record what was installed, where no file of a project does."""
    files = (settings.project.file, settings.project.file.with_name(LOCK_FILE))
    if not any(path.exists() for path in files) and any(row["outcome"] == "installed" for row in rows):
        console.note(f"no {files[0].name} here records this: 'skill-registry init --project' makes one")
