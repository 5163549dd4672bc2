"""Upgrades installed skills: fetches them again from the same origin, and replaces their folders."""

import logging
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial

import msgspec

from registry.catalog.folder_ids import present_id
from registry.catalog.installs import InstallRecord, find_install, installed_as
from registry.catalog.store import StoredSkill
from registry.domain.models import Skill, timestamp, version_parts
from registry.domain.origins import (
    GitOrigin,
    HttpOrigin,
    LocalOrigin,
    Origin,
    RegistryOrigin,
    SourceOrigin,
    ZipOrigin,
    address_within,
    install_command,
)
from registry.domain.source_entry import REGISTRY, Listed
from registry.domain.version_requirement import admits, is_exact
from registry.errors import FieldError, RegistryError, conflict, validation_error
from registry.install.dependencies import DependencyPlanner, Plan, missing_dependencies
from registry.install.installer import (
    Installer,
    inherited_by,
    installed_release,
    notes_along,
    pinned,
    policy_notes,
    version_of,
    withdrawal_of,
)
from registry.install.local_changes import described, local_changes
from registry.install.locating import PackageLocation
from registry.install.order import InstallOrder, locked_release
from registry.install.parts import InstallParts
from registry.install.placing import ChangedMeanwhile, Former, Placement, Placer, replacement
from registry.install.registries import ChosenRelease
from registry.install.schemas import NOT_INSTALLED, LocalChanges, Outcome, UpgradeBody, UpgradeData, UpgradeResult
from registry.install.staged_packages import Known, Staged
from registry.outbound import OutboundError
from registry.outbound.git_run import GitPlaceMissing
from registry.packages.package import Package
from registry.packages.update_diff import FileChanges
from registry.skill_folder import has_digest, tree_digest
from registry.sources.service import Sources

_log = logging.getLogger("registry.install")

_CHANGED_MEANWHILE = "it was changed during the upgrade: try again"


class _Immutable(Exception):
    """A skill must not be changed; the message says why. `changes` are those in its folder, if they are the reason."""

    def __init__(self, reason: str, changes: LocalChanges | None = None) -> None:
        super().__init__(reason)
        self.changes = changes


class Upgrader:
    """Upgrades installed skills independently. A failure is part of the result of its skill.

    `sources` know the current commit of a branch, and read what they list again.
    """

    def __init__(
        self, parts: InstallParts, installer: Installer, placer: Placer, planner: DependencyPlanner, sources: Sources
    ) -> None:
        self._refresh = sources.refresh
        self._parts = parts
        self._installer = installer
        self._placer = placer
        self._planner = planner
        self._fetcher = sources.fetcher
        self._packages = parts.packages
        self._offers = parts.offers
        self._registries = parts.registries
        self._local = parts.local
        self._catalog = parts.catalog
        self._project = parts.project

    def run(self, body: UpgradeBody, progress: Callable[[int, int], None] = lambda count, total: None) -> UpgradeData:
        """Upgrade one skill or all. Raises SKILL_NOT_FOUND, CONFLICT if it is not installed, VALIDATION_ERROR."""
        single = [name for name in ("version", "commit", "sha256") if getattr(body, name) is not None]
        if single and body.skill_id is None:
            raise validation_error(FieldError(single[0], "applies to a single skill only: send skill_id too"))
        self._project.check()
        self._installer.adopt()
        selected = self._selected(body.skill_id)
        if not body.offline:
            self._refresh_sources(selected)
        latest: dict[Origin, str] = {}
        folders: dict[GitOrigin, Sequence[str]] = {}
        results = []
        for count, stored in enumerate(selected):
            progress(count, len(selected))
            results.append(self._result(stored, body, latest, folders))
        progress(len(selected), len(selected))
        return UpgradeData(upgraded=sum(result.outcome == "updated" for result in results), results=results)

    def _selected(self, skill_id: str | None) -> list[StoredSkill]:
        installed = self._catalog.installed()
        if skill_id is None:
            return installed
        # The user's own skill comes first: a source may list its skill by the same id.
        if not (self._catalog.has(skill_id) and self._catalog.is_folder(skill_id)):
            skill_id = installed_as(self._catalog.database, skill_id) or present_id(self._catalog, skill_id)
            if not self._catalog.is_folder(skill_id):
                raise conflict(f"Skill '{skill_id}' is not installed")
        return [stored for stored in installed if stored.skill.id == skill_id]

    def _refresh_sources(self, selected: Sequence[StoredSkill]) -> None:
        """Have the sources of the skills read as they are now. One that cannot be read keeps its last list."""
        installs = [find_install(self._catalog.database, str(stored.folder)) for stored in selected]
        self._refresh({install.source for install in installs if install is not None and install.source is not None})

    def _result(
        self,
        stored: StoredSkill,
        body: UpgradeBody,
        latest: dict[Origin, str],
        folders: dict[GitOrigin, Sequence[str]],
    ) -> UpgradeResult:
        result = UpgradeResult(id=stored.skill.id, outcome="error", resolved_version=stored.skill.version)
        install = find_install(self._catalog.database, str(stored.folder))
        try:
            result.outcome, result.resolved_version = self._upgrade(stored, install, body, latest, result)
        except _Immutable as reason:
            result.outcome, result.reason, result.local_changes = "immutable", str(reason), reason.changes
        except RegistryError as error:
            result.reason = "; ".join(fault.message for fault in error.details) or error.message
            result.reason += self._way_to_new_place(stored, install, error.__cause__, folders)
        except OutboundError as error:
            result.reason = str(error) + self._way_to_new_place(stored, install, error, folders)
        except OSError as error:
            if self._is_changed_by_another(stored, install):
                result.outcome, result.reason = "immutable", _CHANGED_MEANWHILE
            else:
                _log.exception("cannot upgrade skill %s", stored.skill.id)
                result.reason = f"it cannot be read or written: {error.strerror or type(error).__name__}"
        return result

    def _way_to_new_place(
        self,
        stored: StoredSkill,
        install: InstallRecord | None,
        error: BaseException | None,
        folders: dict[GitOrigin, Sequence[str]],
    ) -> str:
        """Return, as the end of a reason, how to follow a skill that has left its folder, its branch or its tag."""
        if not isinstance(error, GitPlaceMissing) or install is None or not isinstance(install.origin, GitOrigin):
            return ""
        removal = f"skill-registry uninstall {stored.skill.id}"
        try:
            places = self._fetcher.places(self._offers.with_credentials(install.origin), folders)
        except OutboundError:
            return ""
        if not places:
            return f", and no other folder of this name: it stays as it is, or '{removal}' removes it"
        url = install.origin.url
        addresses = [
            address_within(msgspec.structs.replace(place, url=url), place.subdir) if place.subdir else url
            for place in places
        ]
        return f": {removal}, then {' or '.join(map(install_command, addresses))}"

    def _is_changed_by_another(self, stored: StoredSkill, install: InstallRecord | None) -> bool:
        """Return whether another upgrade of the folder is running, or has just ended."""
        current = find_install(self._catalog.database, str(stored.folder))
        return current != install or (current is not None and current.following is not None)

    def _upgrade(
        self,
        stored: StoredSkill,
        install: InstallRecord | None,
        body: UpgradeBody,
        latest: dict[Origin, str],
        result: UpgradeResult,
    ) -> tuple[Outcome, str]:
        install, is_edited = self._changeable(stored, install, body)
        folder = self._local.root / str(stored.folder)
        before = tree_digest(folder)
        commit, requirement = body.commit, self._requirement(stored, install, body)
        if is_edited and body.version is None and requirement is not None and is_exact(requirement):
            commit = commit or install.commit  # a pinned skill gets the files back that were installed
        listing = self._listing_now(install, stored.skill)
        origin = listing.origin if listing is not None and listing.origin is not None else install.origin
        following = msgspec.structs.replace(install, origin=origin, following=None)
        self._parts.policy.check_origin(origin)
        plan = self._planned(install, following.origin, requirement, commit, body)
        wanted = plan.location.chosen or plan.location.origin
        if self._is_newer_than_old_enough(stored, wanted, result):
            return "up_to_date", stored.skill.version
        is_same = following.origin == install.origin and body.sha256 is None and not is_edited
        if is_same and self._is_installed(stored, install, wanted, requirement, latest):
            return "up_to_date", stored.skill.version
        on_refused = None if body.check else partial(self._parts.notify_refused, stored.skill.id)
        known = Known(body.sha256, offline=body.offline)
        with self._packages.staged(wanted, on_refused=on_refused, known=known) as staged:
            package = staged.package
            following = msgspec.structs.replace(following, inherited=inherited_by(package, listing))
            version = version_of(package, following.inherited)
            is_same = package.has_digest(install.sha256) and following.inherited == install.inherited
            if is_same and not is_edited and admits(requirement, version):
                return "up_to_date", stored.skill.version
            if package.name != (install.name or stored.folder):
                raise conflict(f"the package at its origin now has the name '{package.name}'")
            _check_successor(package, version, requirement, body.sha256, None if is_edited else stored.skill.version)
            chosen = wanted if isinstance(wanted, ChosenRelease) else None
            result.reason = "; ".join(policy_notes(self._parts, staged, origin, chosen)) or None
            if body.check:
                result.changes = FileChanges.between(folder, package.folder)
                return "would_update", version
            if chosen is not None:
                following = _released(following, chosen, package, install)
            former, order = Former(stored, install, before), InstallOrder(origin=origin, offline=body.offline)
            others = self._replace(former, following, staged, plan, order, result)
        self._project.record_upgrade(stored.skill.id, version, others)
        return "updated", version

    def _replace(
        self,
        former: Former,
        following: InstallRecord,
        staged: Staged,
        plan: Plan,
        order: InstallOrder,
        result: UpgradeResult,
    ) -> list[str]:
        """Replace a skill by a package, with what comes along, whose ids are returned. Raises _Immutable."""
        folder, package = self._local.root / str(former.stored.folder), staged.package
        following = replacement(former, following, staged, folder, timestamp(self._parts.clock()))
        version = version_of(package, following.inherited)
        with ExitStack() as stack:
            along = self._installer.staged_companions(stack, plan, order)
            try:
                *others, _ = self._placer.place(
                    [*along, Placement(package, package.folder, following, version, former)]
                )
            except ChangedMeanwhile:
                raise _Immutable(_CHANGED_MEANWHILE) from None
        result.reason = "; ".join([*notes_along(along), *filter(None, [result.reason])]) or None
        return others

    def _planned(
        self, install: InstallRecord, origin: Origin, requirement: str | None, commit: str | None, body: UpgradeBody
    ) -> Plan:
        """Return what is wanted of an origin, and what comes along with it unless a lock names the state."""
        wanted = self._wanted(origin, requirement, commit, body)
        if not isinstance(wanted, ChosenRelease):
            return Plan(PackageLocation(wanted), ())
        location = PackageLocation(origin, install.source, install.listed, requirement, wanted)
        return Plan(location, ()) if body.sha256 is not None else self._planner.plan(location, lambda: None)

    def _is_newer_than_old_enough(
        self, stored: StoredSkill, wanted: Origin | ChosenRelease, result: UpgradeResult
    ) -> bool:
        """Return whether a skill has a higher version than the highest that is old enough; note what is too new."""
        if not isinstance(wanted, ChosenRelease) or not wanted.passed_over:
            return False
        result.reason = "; ".join(self._parts.policy.passed_over(wanted.passed_over))
        return version_parts(wanted.release.version) < version_parts(stored.skill.version)

    def _wanted(
        self, origin: Origin, requirement: str | None, commit: str | None, body: UpgradeBody
    ) -> Origin | ChosenRelease:
        """Return the release that an origin in a registry means now; other origins with their credentials.

        `commit` is that of a repository which is wanted, instead of the newest one.
        """
        if isinstance(origin, RegistryOrigin):
            locked = locked_release(requirement, body.package, body.log)
            return self._registries.wanted(origin, requirement, locked, offline=body.offline)
        if isinstance(origin, SourceOrigin):
            if self._registries.own is None:
                raise conflict("it was published by this service, which publishes no packages any more")
            return self._registries.choose(self._registries.own, origin.skill, requirement)
        return pinned(self._offers.with_credentials(origin), commit)

    def _is_installed(
        self,
        stored: StoredSkill,
        install: InstallRecord,
        wanted: Origin | ChosenRelease,
        requirement: str | None,
        latest: dict[Origin, str],
    ) -> bool:
        """Return whether it is known, without a download, that the wanted package is installed.

        The skill is from the same origin.
        """
        if isinstance(wanted, ChosenRelease):
            return install.release is not None and install.release.sha256 == wanted.release.checksum
        if not isinstance(wanted, GitOrigin | HttpOrigin | ZipOrigin) or not admits(requirement, stored.skill.version):
            return False
        return self._latest(wanted, latest) == install.commit if isinstance(wanted, GitOrigin) else bool(wanted.sha256)

    def _latest(self, origin: GitOrigin, cache: dict[Origin, str]) -> str:
        """Return the current commit of a repository. Each repository is requested once in a run."""
        repository = msgspec.structs.replace(origin, subdir=None)
        if repository not in cache:
            cache[repository] = self._fetcher.latest(repository)
        return cache[repository]

    def _changeable(
        self, stored: StoredSkill, install: InstallRecord | None, body: UpgradeBody
    ) -> tuple[InstallRecord, bool]:
        """Return the install record of a skill, and whether its folder has changes that the upgrade throws away.

        Raises _Immutable if the skill must not be changed.
        """
        if install is None:
            raise _Immutable(NOT_INSTALLED)
        if install.editable:
            raise _Immutable("it is editable: its folder is used in place")
        folder = self._local.root / str(stored.folder)
        is_edited = not has_digest(folder, install.sha256)
        if not (is_edited and body.discard) and (pin := self._pin(stored, install, body.version)):
            raise _Immutable(pin)
        if is_edited and not body.discard:
            changes = local_changes(self._parts, folder, install)
            if not changes.compared or changes.added or changes.removed or changes.changed:
                raise _Immutable(described(changes), changes)
        return install, is_edited

    def _pin(self, stored: StoredSkill, install: InstallRecord, version: str | None) -> str | None:
        """Return what keeps a skill at its version, None if nothing does. `version` is the one that is wanted."""
        ref = install.origin.ref if isinstance(install.origin, GitOrigin) and install.source is None else None
        if ref is not None and (pin := ref.tag or ref.commit):
            return f"it is pinned to the {'tag' if ref.tag else 'commit'} {pin}"
        if version is None and install.pinned:
            return f"it is pinned to version {stored.skill.version}"
        required = self._project.required_version(stored.skill.id)
        if version is None and required is not None and is_exact(required):
            return f"the manifest requires version {required}"
        return None

    def _requirement(self, stored: StoredSkill, install: InstallRecord, body: UpgradeBody) -> str | None:
        """Return the version or range that a skill must get, if any."""
        pin = stored.skill.version if install.pinned else None
        return body.version or self._project.required_version(stored.skill.id) or pin or install.version_range

    def _listing_now(self, install: InstallRecord, skill: Skill) -> Listed | None:
        """Return a skill as its source lists it now, None if it is from none. Raises CONFLICT if it has moved."""
        if install.source in (None, REGISTRY) or install.listed is None:
            return None
        offer = self._offers.current(install.source, install.listed)
        if offer is None or offer.listed.origin is None:
            raise conflict(self._offers.where_now(install.source, skill))
        if _place(offer.listed.origin) != _place(install.origin):
            raise conflict(
                f"source '{install.source}' lists it at another place now: uninstall it, then install it again"
            )
        return offer.listed


def _released(
    following: InstallRecord, chosen: ChosenRelease, package: Package, install: InstallRecord
) -> InstallRecord:
    """Return a record with the release of a package, which the log of its registry must include."""
    missing_dependencies(package, chosen)
    former = install.release.proof if install.release else None
    proof = chosen.registry.proof(chosen.release, package, former)
    release, withdrawn = installed_release(chosen, proof), withdrawal_of(chosen)
    return msgspec.structs.replace(following, release=release, withdrawn=withdrawn)


def _place(origin: Origin) -> tuple[str, str | None, str | None]:
    """Return the part of an origin that must not change: its kind, its URL or path, and the skill of a registry."""
    kind = str(origin.__struct_config__.tag)
    location = origin.path if isinstance(origin, LocalOrigin) else getattr(origin, "url", None)
    return kind, location, getattr(origin, "skill", None)


def _check_successor(
    package: Package, version: str, requirement: str | None, sha256: str | None, installed: str | None
) -> None:
    """Raise CONFLICT if a package in this version cannot replace a skill.

    `sha256` is the digest that its files must have, if any, and `installed` the version of the skill. A version that
    was changed in the folder says nothing: it is None then.
    """
    if not admits(requirement, version):
        raise conflict(f"its origin has version {version}, which {requirement} does not admit")
    if sha256 is not None and not package.has_digest(sha256):
        raise conflict("its origin has other files than those that are wanted")
    is_named = requirement is not None and is_exact(requirement)
    if installed is not None and not is_named and version_parts(version) < version_parts(installed):
        way = f"request it by version, as 'skill-registry upgrade ID --version {version}' does"
        raise conflict(f"its origin has version {version}, older than {installed}: {way}")
