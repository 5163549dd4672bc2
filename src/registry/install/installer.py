"""Installs the package of an origin as a skill, completely or not at all."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import UNSET

from registry.catalog.installs import Inherited, InstalledRelease, InstallRecord
from registry.domain.models import RESERVED_IDS, Skill, timestamp
from registry.domain.origins import GitOrigin, GitRef, LocalOrigin, Origin, RegistryOrigin, SourceOrigin
from registry.domain.release_proofs import PinnedProof
from registry.domain.source_entry import Listed
from registry.domain.version_requirement import admits, is_exact
from registry.domain.withdrawals import Withdrawn
from registry.errors import (
    FieldError,
    RegistryError,
    concerning,
    conflict,
    skill_not_found,
    validation_error,
)
from registry.install.adopting import adopt_locked
from registry.install.dependencies import Companion, DependencyPlanner, InstalledSkill, Plan, missing_dependencies
from registry.install.locating import Locator, PackageLocation, refusing_unreachable
from registry.install.order import InstallOrder
from registry.install.parts import InstallParts
from registry.install.placing import ChangedMeanwhile, Former, Placement, Placer, replacement
from registry.install.registries import ChosenRelease
from registry.install.staged_packages import Known, Staged
from registry.packages.expected import ANY_PACKAGE, Expected
from registry.packages.package import Package
from registry.skill_folder import read_skill_folder, tree_digest
from registry.skill_folder.tree import find_skill_file
from registry.sources.plugin_reader import below

Step = Literal["finding", "fetching", "checking", "placing"]


class Installer:
    """Installs packages below the skills directory."""

    def __init__(self, parts: InstallParts, placer: Placer, planner: DependencyPlanner) -> None:
        self._parts = parts
        self._placer = placer
        self._planner = planner
        self._packages = parts.packages
        self._offers = parts.offers
        self._locator = Locator(parts)
        self._local = parts.local
        self._catalog = parts.catalog
        self._project = parts.project

    def install(self, order: InstallOrder, progress: Callable[[Step], None] = lambda step: None) -> Skill:
        """Install a package and what it needs, all or nothing, and return its skill, which is searchable by then.

        `progress` is called before each step; what it raises stops the installation, which then has changed nothing.
        `warnings` of the skill include what came along, and failures to update the project's files. Raises
        VALIDATION_ERROR with every reason to refuse a package; SKILL_NOT_FOUND and NOT_FOUND if no source has it;
        CONFLICT if it is installed or ambiguous, or if what it needs cannot be had; FORBIDDEN for folders that may not
        be read, and for what the policy refuses.
        """
        self._project.check()
        self.adopt()
        progress("finding")
        located = self._locator.locate(order)
        self._parts.policy.check_origin(located.origin)
        # The lock names everything that comes along.
        plan = Plan(located, ()) if order.is_locked else self._planner.plan(located, partial(progress, "finding"))
        progress("fetching")
        with ExitStack() as stack:
            companions = self.staged_companions(stack, plan, order, progress)
            root, lacking = self._prepared(stack, plan.location, order, progress)
            progress("placing")
            try:
                *others, skill_id = self._placer.place([*companions, root])
            except ChangedMeanwhile:
                raise conflict("A skill that it needs was changed meanwhile: try again") from None
        problems = self._project.record_install(
            skill_id, _saved(order, located._replace(origin=root.install.origin)), others
        )
        skill = self._catalog.get(skill_id)
        along = notes_along(companions)
        return msgspec.structs.replace(
            skill, warnings=[*along, *skill.warnings, *lacking, *problems], dependencies_installed=others or UNSET
        )

    def adopt(self) -> None:
        """Adopt the skills of the lock whose folders are checked in. Raises CONFLICT if the lock is invalid."""
        adopt_locked(self._parts)

    def _prepared(
        self,
        stack: ExitStack,
        located: PackageLocation,
        order: InstallOrder,
        progress: Callable[[Step], None],
        former: Former | None = None,
    ) -> tuple[Placement, list[str]]:
        """Stage and check a package until `stack` is closed; return it with notes. Raises as `install`."""
        wanted = located.chosen or pinned(self._offers.with_credentials(located.origin), order.commit)
        on_refused = partial(self._parts.notify_refused, located.listed)
        checking = partial(progress, "checking")
        known = Known(order.sha256, offline=order.offline)
        staged = stack.enter_context(
            self._packages.staged(
                wanted, on_refused=on_refused, on_fetched=checking, known=known, takes_only=not order.is_locked
            )
        )
        package = staged.package
        if staged.within is not None and not isinstance(located.origin, LocalOrigin):
            located = located._replace(origin=below(msgspec.to_builtins(located.origin))(staged.within))
            self._locator.refuse_installed(order, located.origin)
            self._parts.policy.check_origin(located.origin)
        inherited = inherited_by(package, located.listing)
        _check_package(package, located, order, inherited)
        order.check_names((package.name, package.title), located.listed)
        notes = policy_notes(self._parts, staged, located.origin, located.chosen)
        if not order.is_locked:
            notes += missing_dependencies(package, located.chosen)
        proof = _proof(package, located.chosen, order)
        # Of a locked skill, the manifest decides about later upgrades.
        install = self._install(staged, located._replace(requirement=None) if order.is_locked else located, proof)
        install = msgspec.structs.replace(install, inherited=inherited)
        version = version_of(package, inherited)
        if former is not None:
            folder = self._local.root / str(former.stored.folder)
            kept_fields = {name: getattr(former.install, name) for name in ("version_range", "name")}
            install = replacement(former, install, staged, folder, install.installed_at)
            install = msgspec.structs.replace(install, **kept_fields)
        folder = self._linked(package.folder, located.origin) if install.editable else package.folder
        return Placement(package, folder, install, version, former), [*staged.warnings, *notes]

    def staged_companions(
        self,
        kept: ExitStack,
        plan: Plan,
        order: InstallOrder,
        progress: Callable[[Step], None] = lambda step: None,
    ) -> list[Placement]:
        """Stage and check what comes along, until `kept` is closed. Raises as `install`."""
        return [self._companion(kept, companion, order, progress) for companion in plan.companions]

    def _companion(
        self, stack: ExitStack, companion: Companion, order: InstallOrder, progress: Callable[[Step], None]
    ) -> Placement:
        """Stage and check a package that comes along: the one that the lock names, if it names this version."""
        located, locked, former = companion
        self._parts.policy.check_origin(located.origin)
        own = InstallOrder(
            origin=located.origin,
            sha256=locked.sha256 if locked else None,
            package=locked.package if locked else None,
            log=locked.log if locked else None,
            offline=order.offline,
            check_names=order.check_names,
        )
        try:
            return self._prepared(stack, located, own, progress, _former(self._local.root, former))[0]
        except RegistryError as error:
            raise concerning(str(located.listed), error) from None

    def create(self, archive: Path, expected: Expected = ANY_PACKAGE) -> Skill:
        """Make a skill of an uploaded package, without an origin, and return it, searchable by then.

        Raises VALIDATION_ERROR with every reason to refuse the package; CONFLICT if its name is taken.
        """
        with self._packages.staged(archive) as staged:
            package = staged.package
            expected.check(package.name, package.version)
            _refuse_reserved(package)
            skill_id = self._placer.place_new(package)
        return self._catalog.get(skill_id)

    def _install(self, staged: Staged, located: PackageLocation, proof: PinnedProof | None) -> InstallRecord:
        requirement = located.requirement
        is_pinned = requirement is not None and is_exact(requirement)
        return InstallRecord(
            origin=located.origin,
            source=located.source,
            listed=located.listed,
            commit=staged.commit,
            sha256=staged.package.digest,
            pinned=is_pinned,
            version_range=None if is_pinned else requirement,
            release=installed_release(located.chosen, proof),
            withdrawn=withdrawal_of(located.chosen),
            installed_at=timestamp(self._parts.clock()),
        )

    def _linked(self, staged: Path, origin: Origin) -> Path:
        """Return a link to the folder of an editable origin, beside the staged package. Raises VALIDATION_ERROR."""
        target = self._packages.local_path(origin) if isinstance(origin, LocalOrigin) else staged
        if not target.is_dir() or find_skill_file(target) is None:
            raise validation_error(FieldError("origin.path", "must be the folder of one skill, to be used in place"))
        link = staged.with_name("link")
        link.symlink_to(target, target_is_directory=True)
        return link


def _former(root: Path, skill: InstalledSkill | None) -> Former | None:
    """Return an installed skill as one that is replaced."""
    if skill is None:
        return None
    return Former(skill.stored, skill.install, tree_digest(root / str(skill.stored.folder)))


def notes_along(placements: Sequence[Placement]) -> list[str]:
    """Return a note about what came along with a skill, if anything did."""
    named = []
    for placement in placements:
        release = placement.install.release
        named.append(f"{release.skill_id if release else placement.package.name} {placement.version}")
    return [f"came along: {', '.join(named)}"] if named else []


def pinned(origin: Origin, commit: str | None) -> Origin:
    """Return an origin pinned to a commit. Raises VALIDATION_ERROR if it is not a git repository."""
    if commit is None:
        return origin
    if not isinstance(origin, GitOrigin):
        raise validation_error(FieldError("commit", "applies to git repositories only"))
    return msgspec.structs.replace(origin, ref=GitRef(commit=commit))


def installed_release(chosen: ChosenRelease | None, proof: PinnedProof | None) -> InstalledRelease | None:
    """Return the record of an installed release."""
    if chosen is None:
        return None
    return InstalledRelease(skill_id=chosen.release.skill_id, sha256=chosen.release.checksum, proof=proof)


def policy_notes(parts: InstallParts, staged: Staged, origin: Origin, chosen: ChosenRelease | None) -> list[str]:
    """Return what to tell of a package that the policy lets be installed.

    Raises FORBIDDEN if it does not, VALIDATION_ERROR and CONFLICT if the registry does not say how old it is.
    """
    release = None if chosen is None else (chosen.registry, chosen.release)
    with refusing_unreachable():
        notes = parts.policy.check(staged.package, origin, commit=staged.commit, release=release)
    if chosen is None:
        return notes
    return [*notes, *parts.policy.passed_over(chosen.passed_over), *chosen.notes]


def withdrawal_of(chosen: ChosenRelease | None) -> Withdrawn | None:
    """Return how an installed release is withdrawn by its registry, None if it is not."""
    return None if chosen is None else chosen.registry.withdrawal(chosen.release)


def _proof(package: Package, chosen: ChosenRelease | None, order: InstallOrder) -> PinnedProof | None:
    if chosen is None:
        return None
    with refusing_unreachable():
        return chosen.registry.proof(chosen.release, package, order.log)


def _saved(order: InstallOrder, located: PackageLocation) -> Origin | None:
    """Return the origin for the manifest, with the version that the order requires. None: do not save it."""
    if not order.save:
        return None
    if located.source is not None and not isinstance(order.origin, RegistryOrigin):
        # Name the source, since another one may list the skill later.
        return SourceOrigin(source=located.source, skill=str(located.listed), version=located.requirement)
    if isinstance(located.origin, RegistryOrigin):
        return msgspec.structs.replace(located.origin, version=located.requirement)
    return located.origin


def _refuse_reserved(package: Package) -> None:
    if package.name in RESERVED_IDS:
        raise validation_error(FieldError("package.SKILL.md", f"name: '{package.name}' is reserved"))


def inherited_by(package: Package, listing: Listed | None) -> Inherited | None:
    """Return what the source says of a package that its files do not say, None if that is nothing."""
    if listing is None:
        return None
    stated = read_skill_folder(package.folder).stated
    fields = {name: getattr(listing, name) or None for name in Inherited.__struct_fields__ if name not in stated}
    return Inherited(**fields) if any(fields.values()) else None


def version_of(package: Package, inherited: Inherited | None) -> str:
    """Return the version of a package, or the one that it inherits."""
    return (inherited.version if inherited else None) or package.version


def _check_package(
    package: Package, located: PackageLocation, order: InstallOrder, inherited: Inherited | None
) -> None:
    if not admits(located.requirement, version_of(package, inherited)):
        name = f"{located.source}/{located.listed}" if located.source else package.name
        raise skill_not_found(name, located.requirement)
    zipped = located.chosen.release.checksum.removeprefix("sha256:") if located.chosen else None
    if order.package is not None and order.package != zipped:
        raise validation_error(
            FieldError("package", f"the registry has a package with {zipped}: it differs from the one that was locked")
        )
    if order.sha256 is not None and not package.has_digest(order.sha256):
        actual = package.digest.removeprefix("sha256:")
        raise validation_error(
            FieldError("sha256", f"the files have {actual}: they differ from those that were locked")
        )
