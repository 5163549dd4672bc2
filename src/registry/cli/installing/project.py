"""The steps that install what the manifest and the lock of a project name."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from registry.cli.backend import CommandBackend, CommandFailed
from registry.cli.installing.steps import Act, Row, Step, installing, present, updating
from registry.config.settings import Settings
from registry.domain.origins import LocalOrigin, Origin, RegistryOrigin, SourceOrigin
from registry.domain.version_requirement import admits
from registry.errors import RegistryError
from registry.install.schemas import SkillRequest
from registry.project.local_paths import located
from registry.project.lock_file import LOCK_FILE, LockedSkill, LockFileError, read_lock
from registry.project.manifest import Dependency, Manifest, without_version
from registry.project.manifest_file import ManifestFile
from registry.project.skills_json import FILES as OTHER_LOCKS
from registry.skill_folder import has_digest


class Project(NamedTuple):
    """What a project installs.

    Args:
        manifest: The content of its manifest, if it has one.
        locked: The entries of its lock, if it has one.
        folder: The folder of both files.
        skills_dir: The skills directory, None if that is on another machine.
        offline: Whether nothing may be fetched.
    """

    manifest: Manifest | None
    locked: Sequence[LockedSkill] | None
    folder: Path
    skills_dir: Path | None
    offline: bool

    def has(self, entry: LockedSkill) -> bool:
        """Return whether there is a folder where the lock has one."""
        return self.skills_dir is not None and (self.skills_dir / entry.path).exists()


def read_project(settings: Settings, *, is_here: bool, offline: bool) -> Project:
    """Return the project of the settings. Raises CommandFailed if it has no file that names skills, or an invalid one.

    `is_here`: its skills directory is on this machine. `offline`: nothing may be fetched for it.
    """
    file = settings.project.file
    lock = file.with_name(LOCK_FILE)
    try:
        manifest = ManifestFile(file).read()
        locked = read_lock(lock) if lock.exists() else None
    except RegistryError as error:
        raise CommandFailed(error.line) from None
    except LockFileError as error:
        raise CommandFailed(str(error)) from None
    if manifest is None and locked is None:
        raise _no_project(file)
    return Project(manifest, locked, file.parent, settings.skills_dir if is_here else None, offline)


def _no_project(file: Path) -> CommandFailed:
    """Return the error for a folder without a manifest, which names that of a folder above it."""
    above = next((folder for folder in file.parent.parents if (folder / file.name).is_file()), None)
    if above is not None:
        return CommandFailed(f"there is no {file.name} here, but one in {above}: run the command there")
    other = next((name for name in sorted(OTHER_LOCKS) if (file.parent / name).is_file()), None)
    origin = f"'skill-registry install {other}' installs what is in {other}" if other else "name an ORIGIN to install"
    return CommandFailed(f"there is no {file.name} here: {origin}, or make one with 'skill-registry init --project'")


def project_steps(project: Project, default: str | None) -> list[Step]:
    """Return a step for each skill of the manifest, as the lock has it if the two agree; without one, of the lock.

    `default` is the URL of the registry that is asked for what no source lists.
    """
    entries = {entry.id: entry for entry in project.locked or ()}
    if project.manifest is None:
        return [_locked_step(entry, project) for entry in entries.values()]
    steps: list[Step] = []
    named: list[LockedSkill] = []
    for skill_id, dependency in project.manifest.dependencies.items():
        entry = entries.get(skill_id) or entries.get(skill_id.rpartition("/")[2])
        if entry is not None and _agrees(skill_id, dependency, entry, project):
            named.append(entry)
            steps.append(_locked_step(entry, project))
        else:
            steps.append((skill_id, _resolving(skill_id, dependency, project, default)))
    return [_locked_step(entry, project) for entry in _needed_by(named, entries)] + steps


def _needed_by(named: Sequence[LockedSkill], entries: Mapping[str, LockedSkill]) -> list[LockedSkill]:
    """Return the entries of a lock that others of it need, and those again; without those that are named."""
    ids = {entry.id for entry in named}
    needed: list[LockedSkill] = []
    while more := [entry for entry in entries.values() if entry.id not in ids and ids & set(entry.required_by)]:
        needed += more
        ids |= {entry.id for entry in more}
    return needed


def locked_steps(project: Project) -> list[Step]:
    """Return a step for each entry of the lock. Raises CommandFailed if the lock lacks what the manifest names."""
    if project.locked is None:
        raise CommandFailed(f"there is no {LOCK_FILE}: run 'skill-registry lock' to write one")
    ids = {entry.id for entry in project.locked if not _disagrees(entry, project)}
    names = project.manifest.dependencies if project.manifest else ()
    missing = [name for name in names if not ids & {name, name.rpartition("/")[2]}]
    if missing:
        raise CommandFailed(
            f"{LOCK_FILE} does not have what the manifest requires of {', '.join(missing)}: run 'skill-registry "
            "install', and then keep the new lock"
        )
    return [_locked_step(entry, project) for entry in project.locked]


def _disagrees(entry: LockedSkill, project: Project) -> bool:
    manifest = project.manifest
    name = manifest.name_of((entry.id, getattr(entry.origin, "skill", ""))) if manifest else None
    return bool(manifest and name and not _agrees(name, manifest.dependencies[name], entry, project))


def _agrees(skill_id: str, dependency: Dependency, entry: LockedSkill, project: Project) -> bool:
    """Return whether a lock entry is what the manifest requires. It has the place that a source named."""
    is_another = "/" in skill_id and isinstance(entry.origin, RegistryOrigin) and entry.origin.skill != skill_id
    if is_another or not admits(dependency.version, entry.version):
        return False
    if dependency.origin is None or isinstance(dependency.origin, SourceOrigin):
        return project.has(entry) or not entry.is_handmade
    is_editable = getattr(entry.origin, "editable", False)
    return dependency.editable == is_editable and _place(dependency.origin, project) == _place(entry.origin, project)


def _place(origin: Origin, project: Project) -> Origin | None:
    return without_version(located(origin, project.folder))


def _resolving(skill_id: str, dependency: Dependency, project: Project, default: str | None) -> Act:
    """Return the function that installs what the manifest names, in the newest version that it admits."""
    origin = located(dependency.ordered(skill_id), project.folder)
    version = msgspec.UNSET if dependency.version is None else dependency.version
    install = installing(SkillRequest(origin=origin, version=version, save=False, offline=project.offline), default)
    name = skill_id.rpartition("/")[2]

    def act(backend: CommandBackend) -> Row:
        row = install(backend)
        if row["id"] != name and row["outcome"] == "installed":
            row["reason"] = f"its own name is {row['id']}: name it so in the manifest, instead of {skill_id}"
        return row

    return act


def _locked_step(entry: LockedSkill, project: Project) -> Step:
    def act(backend: CommandBackend) -> Row:
        if project.skills_dir is not None and project.has(entry):
            matches = _matches(entry, project.skills_dir / entry.path)
            return present(entry) if matches else updating(entry, offline=project.offline)(backend)
        if entry.is_handmade:
            raise CommandFailed(f"the lock names no origin for it: copy its folder {entry.path} by hand")
        return installing(_locked_request(entry, project))(backend)

    return entry.id, act


def _locked_request(entry: LockedSkill, project: Project) -> SkillRequest:
    """Return the request for exactly what the lock names; of a folder that is used in place, whatever it holds."""
    origin = located(entry.origin, project.folder)
    if isinstance(origin, RegistryOrigin | SourceOrigin):
        origin = msgspec.structs.replace(origin, version=entry.version)
    if isinstance(origin, LocalOrigin) and origin.editable:
        return SkillRequest(origin=origin, save=False)
    return SkillRequest(
        origin=origin,
        commit=entry.commit,
        sha256=entry.sha256,
        package=entry.package,
        log=entry.log,
        save=False,
        offline=project.offline,
    )


def _matches(entry: LockedSkill, folder: Path) -> bool:
    """Return whether a folder is what the lock names. One that is used in place may have changed."""
    if isinstance(entry.origin, LocalOrigin) and entry.origin.editable:
        return True
    try:
        return has_digest(folder, f"sha256:{entry.sha256}")
    except OSError:
        return False
