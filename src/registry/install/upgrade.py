"""Upgrading: what was installed is fetched anew from the same place, and takes the old folder's place."""

import logging
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Literal

import msgspec

from registry.catalog.installs import InstallRecord, find_install, put_install
from registry.catalog.store import Stored
from registry.domain.models import SkillId, Version, timestamp, version_parts
from registry.domain.origins import GitOrigin, LocalOrigin, Origin
from registry.errors import FieldError, RegistryError, conflict, validation_error
from registry.install.parts import InstallParts
from registry.install.staged_packages import Staged
from registry.outbound import OutboundError
from registry.packages import Package
from registry.packages.update_diff import Footprint, update_notes
from registry.skill_folder import replacing_skill_folder, tree_digest
from registry.sources.fetching import Fetcher

_log = logging.getLogger("registry.install")

Outcome = Literal["updated", "would_update", "up_to_date", "immutable", "error"]


_CHANGED_MEANWHILE = "it was changed while it was being upgraded"


class UpgradeBody(msgspec.Struct, kw_only=True):
    """The body of an upgrade: of one skill or of all; `check` changes nothing; `version` is the only one taken."""

    skill_id: SkillId | None = None
    check: bool = False
    version: Version | None = None


class UpgradeResult(msgspec.Struct, kw_only=True):
    """How it went with one skill. `resolved_version` is the one it has, or would have, afterwards."""

    id: str
    outcome: Outcome
    reason: str | None = None
    resolved_version: str | None = None


class UpgradeData(msgspec.Struct, kw_only=True):
    """How it went with each skill; `upgraded` is how many were changed."""

    upgraded: int
    results: list[UpgradeResult]


class _Stays(Exception):
    """A skill is not to be changed; the message says why."""


class Upgrader:
    """Upgrades installed skills, each by itself: what goes wrong with one stands in its row.

    `fetcher` says what a branch is at.
    """

    def __init__(self, parts: InstallParts, fetcher: Fetcher) -> None:
        self._parts = parts
        self._fetcher = fetcher
        self._packages = parts.packages
        self._offers = parts.offers
        self._local = parts.local
        self._catalog = parts.catalog
        self._project = parts.project

    def run(self, body: UpgradeBody, progress: Callable[[int, int], None] = lambda done, total: None) -> UpgradeData:
        """Upgrade one skill or all. Raises SKILL_NOT_FOUND, CONFLICT where it is not installed, VALIDATION_ERROR."""
        if body.version is not None and body.skill_id is None:
            raise validation_error(FieldError("version", "can be asked for of one skill only: send skill_id too"))
        self._project.check()
        chosen = self._chosen(body.skill_id)
        latest: dict[Origin, str] = {}
        results = []
        for done, stored in enumerate(chosen):
            progress(done, len(chosen))
            results.append(self._result(stored, body, latest))
        progress(len(chosen), len(chosen))
        return UpgradeData(upgraded=sum(one.outcome == "updated" for one in results), results=results)

    def _chosen(self, skill_id: str | None) -> list[Stored]:
        installed = self._catalog.installed()
        if skill_id is None:
            return installed
        if not self._catalog.is_folder(skill_id):
            raise conflict(f"Skill '{skill_id}' is not installed")
        return [stored for stored in installed if stored.skill.id == skill_id]

    def _result(self, stored: Stored, body: UpgradeBody, latest: dict[Origin, str]) -> UpgradeResult:
        result = UpgradeResult(id=stored.skill.id, outcome="error", resolved_version=stored.skill.version)
        install = find_install(self._catalog.database, str(stored.folder))
        try:
            result.outcome, result.resolved_version = self._upgraded(stored, install, body, latest)
        except _Stays as reason:
            result.outcome, result.reason = "immutable", str(reason)
        except RegistryError as error:
            result.reason = "; ".join(fault.message for fault in error.details) or error.message
        except OutboundError as error:
            result.reason = str(error)
        except OSError as error:
            if self._is_changed_by_another(stored, install):
                result.outcome, result.reason = "immutable", _CHANGED_MEANWHILE
            else:
                _log.exception("skill %s cannot be upgraded", stored.skill.id)
                result.reason = f"it cannot be read or written: {error.strerror or type(error).__name__}"
        return result

    def _is_changed_by_another(self, stored: Stored, install: InstallRecord | None) -> bool:
        """Return whether the folder may have moved under a reader: another upgrade is at it, or has just been."""
        now = find_install(self._catalog.database, str(stored.folder))
        return now != install or (now is not None and now.following is not None)

    def _upgraded(
        self, stored: Stored, install: InstallRecord | None, body: UpgradeBody, latest: dict[Origin, str]
    ) -> tuple[Outcome, str]:
        install = self._changeable(stored, install, body.version)
        following = msgspec.structs.replace(install, origin=self._origin_now(install), following=None)
        origin = self._offers.reachable(following.origin)
        as_before = following.origin == install.origin and body.version in (None, stored.skill.version)
        if as_before and isinstance(origin, GitOrigin) and self._latest(origin, latest) == install.commit:
            return "up_to_date", stored.skill.version
        refused = None if body.check else partial(self._parts.refused, stored.skill.id)
        with self._packages.staged(origin, on_refused=refused) as staged:
            package = staged.package
            if package.digest == install.sha256 and body.version in (None, package.version):
                return "up_to_date", stored.skill.version
            _check_successor(package, stored, body.version)
            if body.check:
                return "would_update", package.version
            self._replace(stored, install, following, staged)
        self._parts.on_change()
        self._project.upgraded(stored.skill.id, package.version)
        return "updated", package.version

    def _latest(self, origin: GitOrigin, known: dict[Origin, str]) -> str:
        """Return the commit of a repository; each is asked once in one run."""
        repository = msgspec.structs.replace(origin, subdir=None)
        if repository not in known:
            known[repository] = self._fetcher.latest(repository)
        return known[repository]

    def _changeable(self, stored: Stored, install: InstallRecord | None, version: str | None) -> InstallRecord:
        """Return where a skill is from. Raises _Stays where it is not to be changed."""
        if install is None:
            raise _Stays("it is a folder of its own: nothing installed it")
        if install.editable:
            raise _Stays("its folder is used in place")
        ref = install.origin.ref if isinstance(install.origin, GitOrigin) and install.source is None else None
        if ref is not None and (pin := ref.tag or ref.commit):
            raise _Stays(f"it is pinned to the {'tag' if ref.tag else 'commit'} {pin}")
        if version is None and install.pinned:
            raise _Stays(f"it is pinned to version {stored.skill.version}")
        if version is None and (wanted := self._project.wanted_version(stored.skill.id)):
            raise _Stays(f"the manifest wants version {wanted}")
        if tree_digest(self._local.root / str(stored.folder)) != install.sha256:
            raise _Stays("its files were changed here since it was installed")
        return install

    def _origin_now(self, install: InstallRecord) -> Origin:
        """Return where the skill's source has it now. Raises CONFLICT where that is another place than before."""
        if install.source is None or install.listed is None:
            return install.origin
        offer = self._offers.of(install.source, install.listed)
        if offer is None or offer.listed.origin is None:
            raise conflict(f"source '{install.source}' does not list it any more")
        if _place(offer.listed.origin) != _place(install.origin):
            raise conflict(
                f"source '{install.source}' has it in another place now: uninstall it to install it from there"
            )
        return offer.listed.origin

    def _replace(self, stored: Stored, install: InstallRecord, following: InstallRecord, staged: Staged) -> None:
        """Put a package in the skill's place. Raises _Stays where somebody else has changed either meanwhile."""
        package = staged.package
        folder = self._local.root / str(stored.folder)
        notes = update_notes(Footprint.of(folder), Footprint.of(package.folder), stored.skill.version)
        following = msgspec.structs.replace(
            following,
            commit=staged.commit,
            sha256=package.digest,
            notes=notes,
            installed_at=timestamp(self._parts.clock()),
        )
        announced = msgspec.structs.replace(install, following=following)
        with self._catalog.database.write() as transaction:
            if find_install(transaction, folder.name) != install:
                raise _Stays(_CHANGED_MEANWHILE)
            put_install(transaction, folder.name, announced)
        with ExitStack() as undo, self._catalog.database.write() as transaction:
            current = self._catalog.expect(transaction, stored.skill.id, None)
            if find_install(transaction, folder.name) != announced or tree_digest(folder) != install.sha256:
                raise _Stays(_CHANGED_MEANWHILE)
            put_install(transaction, folder.name, following)
            undo.enter_context(replacing_skill_folder(package.folder, folder))
            self._local.take(transaction, folder)
            self._catalog.note_changes(transaction, current.key, package.version, [note.message for note in notes])
            self._parts.passed(transaction, stored.skill.id, package)


def _place(origin: Origin) -> tuple[str, str | None]:
    """Return what must stay the same of an origin: its kind and where it is, not its branch or folder."""
    kind = origin.__struct_config__.tag
    return str(kind), origin.path if isinstance(origin, LocalOrigin) else getattr(origin, "url", None)


def _check_successor(package: Package, stored: Stored, version: str | None) -> None:
    """Raise CONFLICT where a package cannot take the skill's place."""
    if package.name != stored.folder:
        raise conflict(f"what is there now is called '{package.name}'")
    if version is not None and package.version != version:
        raise conflict(f"version {package.version} is there, not {version}")
    if version is None and version_parts(package.version) < version_parts(stored.skill.version):
        raise conflict(f"version {package.version} is there, older than {stored.skill.version}: ask for it by number")
