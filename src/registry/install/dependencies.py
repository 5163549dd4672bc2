"""Plans what comes along with a skill of a registry: which other skills of it, and in which versions.

The set has one version of each skill. What is installed stays as it is if it fits, else what the lock names is taken,
else the highest version. Installed skills outside of the set bound it: whatever they need stays in their ranges.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from registry.catalog.installs import InstallRecord, find_install
from registry.catalog.store import Catalog, StoredSkill
from registry.domain.dependencies import SkillDependency, named_dependencies
from registry.domain.models import version_parts
from registry.domain.origins import RegistryOrigin, SourceOrigin
from registry.domain.source_entry import REGISTRY, registry_of
from registry.domain.version_requirement import admits, is_exact
from registry.domain.withdrawals import is_revoked
from registry.errors import RegistryError, conflict
from registry.install.locating import PackageLocation, refusing_unreachable
from registry.install.parts import InstallParts
from registry.install.registries import ChosenRelease, PackageRegistry, nothing_to_choose
from registry.install.resolution import Choice, Requirement, Resolution, Unresolvable, resolve
from registry.packages.package import Package
from registry.project.lock_file import LockedSkill
from registry.skill_folder import has_digest
from registry.sources.remote_registry import Release

MANIFEST = "the project's manifest"


class InstalledSkill(NamedTuple):
    """An installed skill of a registry, and the record of its installation."""

    stored: StoredSkill
    install: InstallRecord

    @property
    def choice(self) -> Choice:
        """Its version, as one that may be chosen."""
        skill = self.stored.skill
        return Choice(str(self.install.release and self.install.release.skill_id), skill.version, self.needs)

    @property
    def needs(self) -> list[SkillDependency]:
        """What it needs, as its files say."""
        return named_dependencies(self.stored.skill.dependencies)


class Companion(NamedTuple):
    """A skill that comes along: where its package is, what the lock has of it, and the installed one it replaces."""

    location: PackageLocation
    locked: LockedSkill | None
    former: InstalledSkill | None


class Plan(NamedTuple):
    """The requested skill, perhaps in another version, and what comes along, needed skills first."""

    location: PackageLocation
    companions: Sequence[Companion]


class DependencyPlanner:
    """Resolves the dependencies of a release against its registry, the lock, and what is installed."""

    def __init__(self, parts: InstallParts) -> None:
        self._parts = parts

    def plan(self, location: PackageLocation, tell: Callable[[], None]) -> Plan:
        """Return what to install for a release that was chosen. `tell` is called before each step.

        Raises CONFLICT if the ranges contradict each other or a needed skill cannot be had, VALIDATION_ERROR if the
        registry cannot be read, FORBIDDEN.
        """
        chosen, registry = location.chosen, registry_of(location.origin)
        if chosen is None or registry is None:
            return Plan(location, ())
        installed = installed_of(self._parts.catalog, registry)
        alone = Resolution({chosen.release.skill_id: _choice(chosen.release)})
        bounds = _bounds(alone, chosen.release.skill_id, installed, {})
        if not chosen.release.dependencies and all(admits(bound.range, chosen.release.version) for bound in bounds):
            return Plan(location, ())
        shelf = _Shelf(self._parts, chosen, location.requirement, installed, self._parts.project.locked(registry))
        with refusing_unreachable():
            resolution = self._resolved(chosen.release.skill_id, location.requirement, shelf, registry, tell)
            releases = {skill_id: shelf.release(choice) for skill_id, choice in resolution.choices.items()}
        companions = [
            Companion(self._location(location, release), shelf.locked_state(release), installed.get(skill_id))
            for skill_id, release in releases.items()
            if release is not None and skill_id != chosen.release.skill_id
        ]
        root = releases[chosen.release.skill_id]
        return Plan(location._replace(chosen=root or chosen), companions)

    def _resolved(
        self, root: str, requirement: str | None, shelf: "_Shelf", registry: str, tell: Callable[[], None]
    ) -> Resolution:
        """Return the set, after as many rounds as it takes to hear everything outside of it that bounds it."""
        bounds: list[Requirement] = []
        required = self._parts.project.required_of(registry)
        while True:
            try:
                resolution = resolve([Requirement(root, requirement), *bounds], shelf, tell)
            except Unresolvable as reason:
                raise conflict(str(reason)) from None
            broken = [bound for bound in _bounds(resolution, root, shelf.installed, required) if bound not in bounds]
            broken = [bound for bound in broken if not admits(bound.range, resolution.choices[bound.skill_id].version)]
            if not broken:
                return resolution
            bounds += broken

    def _location(self, root: PackageLocation, release: ChosenRelease) -> PackageLocation:
        """Return where a package of the same registry is."""
        skill_id = release.release.skill_id
        if not isinstance(root.origin, RegistryOrigin):
            return PackageLocation(SourceOrigin(source=REGISTRY, skill=skill_id), REGISTRY, skill_id, None, release)
        offer = self._parts.offers.of_registry(root.origin.url, skill_id)
        origin = RegistryOrigin(url=root.origin.url, skill=skill_id)
        return PackageLocation(origin, offer.source if offer else None, skill_id, None, release)


def _bounds(
    resolution: Resolution, root: str, installed: Mapping[str, InstalledSkill], required: Mapping[str, str]
) -> list[Requirement]:
    """Return what the manifest, earlier installations, and installed skills outside of a set require of those in it.

    The caller has chosen the root already.
    """
    others = [skill_id for skill_id in resolution.choices if skill_id != root]
    bounds = [Requirement(skill_id, required[skill_id], MANIFEST) for skill_id in others if skill_id in required]
    for skill_id, skill in installed.items():
        if skill_id in others and skill.install.version_range is not None:
            bounds.append(Requirement(skill_id, skill.install.version_range, f"the installation of {skill_id}"))
        if skill_id not in resolution.choices:
            by = f"{skill_id} {skill.stored.skill.version}, which is installed,"
            bounds += [Requirement(need.id, need.range, by) for need in skill.needs if need.id in resolution.choices]
    return bounds


def installed_of(catalog: Catalog, registry: str) -> dict[str, InstalledSkill]:
    """Return the installed skills of a registry by their ids there. `registry` is that of `registry_of`."""
    skills = {}
    for stored in catalog.installed():
        install = find_install(catalog.database, str(stored.folder))
        if install is not None and install.release is not None and registry_of(install.origin) == registry:
            skills[install.release.skill_id] = InstalledSkill(stored, install)
    return skills


def missing_dependencies(package: Package, chosen: ChosenRelease | None) -> list[str]:
    """Return notes about dependencies that do not come along with a package.

    Raises CONFLICT if a package needs something else than its registry says: the set was chosen by that.
    """
    needed = ", ".join(str(dependency) for dependency in package.dependencies)
    if chosen is None:
        return [f"it needs {needed}: install these from their registry"] if needed else []
    listed = chosen.release.dependencies
    if needed and not listed:
        return [f"it needs {needed}, which its registry does not list: install these too"]
    if set(listed) != set(package.dependencies):
        raise conflict(
            f"'{chosen.release.skill_id}' {chosen.release.version} is refused: its registry says that it needs "
            f"{', '.join(str(dependency) for dependency in listed)}, and its package {needed or 'nothing'}"
        )
    return []


class _Shelf:
    """The versions in a registry, in the order in which they are preferred.

    Args:
        parts: The parts of the service.
        root: The release of the requested skill, the highest that its requirement admits.
        requirement: The requirement.
        installed: What is installed of the registry.
        locked: What the lock has of it.
    """

    def __init__(
        self,
        parts: InstallParts,
        root: ChosenRelease,
        requirement: str | None,
        installed: Mapping[str, InstalledSkill],
        locked: Mapping[str, LockedSkill],
    ) -> None:
        self._parts = parts
        self._root = root
        self._registry: PackageRegistry = root.registry
        self._is_exact = requirement is not None and is_exact(requirement)
        self.installed = installed
        self._locked = locked
        self._releases: dict[str, dict[str, Release]] = {}
        self._choices: dict[str, list[Choice]] = {}
        self._too_new: dict[Choice, str | None] = {}

    def choices(self, skill_id: str) -> Sequence[Choice]:
        """Return the versions that may be chosen: that which is installed, that of the lock, then the highest."""
        if skill_id not in self._choices:
            self._choices[skill_id] = list(self._ordered(skill_id))
        return self._choices[skill_id]

    def _ordered(self, skill_id: str) -> list[Choice]:
        if skill_id == self._root.release.skill_id:
            if self._is_exact or self._root.release.yanked:
                return [_choice(self._root.release)]
            return self._highest_first(skill_id)
        skill = self.installed.get(skill_id)
        if skill is not None and self._stays(skill):
            return [skill.choice]
        choices = [skill.choice] if skill is not None else []
        locked = self._locked.get(skill_id)
        named = self._all(skill_id).get(locked.version) if locked is not None else None
        if named is not None and not is_revoked(named.withdrawn):
            choices.append(_choice(named))
        versions = {choice.version for choice in choices}
        return choices + [choice for choice in self._highest_first(skill_id) if choice.version not in versions]

    def _highest_first(self, skill_id: str) -> list[Choice]:
        active = [release for release in self._all(skill_id).values() if not release.yanked]
        return [
            _choice(release)
            for release in sorted(active, key=lambda release: version_parts(release.version), reverse=True)
        ]

    def _stays(self, skill: InstalledSkill) -> bool:
        """Return whether an installed skill must not be replaced: it is pinned, or was changed in its folder."""
        folder = self._parts.local.root / str(skill.stored.folder)
        return skill.install.editable or skill.install.pinned or not has_digest(folder, skill.install.sha256)

    def _all(self, skill_id: str) -> dict[str, Release]:
        if skill_id not in self._releases:
            try:
                releases = self._registry.releases(skill_id)
            except RegistryError:
                releases = []
            self._releases[skill_id] = {release.version: release for release in releases}
        return self._releases[skill_id]

    def is_allowed(self, choice: Choice) -> bool:
        """Return whether a version is old enough. One that is installed or requested exactly always is."""
        if self._is_kept(choice) or (choice.skill_id == self._root.release.skill_id and self._is_exact):
            return True
        release = self._all(choice.skill_id)[choice.version]
        key = choice._replace(dependencies=())
        if key not in self._too_new:
            self._too_new[key] = self._parts.policy.too_new(self._registry, release)
        return self._too_new[key] is None

    def _is_kept(self, choice: Choice) -> bool:
        skill = self.installed.get(choice.skill_id)
        is_root = choice.skill_id == self._root.release.skill_id
        return not is_root and skill is not None and skill.stored.skill.version == choice.version

    def why_none(self, skill_id: str, requirement: str | None) -> str:
        """Return why no version of a skill can be chosen."""
        skill = self.installed.get(skill_id)
        if skill is not None and self._stays(skill):
            return f"{skill_id} {skill.stored.skill.version} is installed, and pinned or changed in its folder"
        releases = list(self._all(skill_id).values())
        if not releases:
            return f"its registry has no skill {skill_id}: ask its publisher"
        too_new = [reason for choice, reason in self._too_new.items() if choice.skill_id == skill_id and reason]
        if too_new:
            return self._parts.policy.all_too_new(skill_id, too_new).message
        return nothing_to_choose(skill_id, requirement, releases).message

    def release(self, choice: Choice) -> ChosenRelease | None:
        """Return the release of a version; None for what stays as it is installed."""
        if self._is_kept(choice):
            return None
        release = self._all(choice.skill_id).get(choice.version, self._root.release)
        reasons = [
            reason for candidate, reason in self._too_new.items() if candidate.skill_id == choice.skill_id and reason
        ]
        return ChosenRelease(self._registry, release, tuple(reasons))

    def locked_state(self, chosen: ChosenRelease) -> LockedSkill | None:
        """Return what the lock has of a release, None if it names another version."""
        locked = self._locked.get(chosen.release.skill_id)
        return locked if locked is not None and locked.version == chosen.release.version else None


def _choice(release: Release) -> Choice:
    return Choice(release.skill_id, release.version, release.dependencies)
