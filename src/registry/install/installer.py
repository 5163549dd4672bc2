"""Installing: a package from wherever its origin says becomes a skill, whole or not at all."""

import os
import threading
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from registry.catalog.installs import InstallRecord, installed_folder, put_install
from registry.catalog.local_skills import SKILL_FILE
from registry.db import Transaction
from registry.domain.models import RESERVED_IDS, Skill, timestamp
from registry.domain.origins import GitOrigin, GitRef, LocalOrigin, Origin, SourceOrigin
from registry.errors import FieldError, conflict, forbidden, skill_not_found, validation_error
from registry.install.parts import InstallParts
from registry.install.staged_packages import Staged
from registry.packages import Package
from registry.skill_folder import placing_skill_folder


class InstallOrder(msgspec.Struct, kw_only=True, frozen=True):
    """What is to be installed.

    Args:
        origin: Where it comes from, of any kind.
        commit: The state of a repository, in place of the one its branch has now.
        sha256: The `tree_digest` the files must have, in hexadecimal.
        save: Whether the project's manifest names it afterwards.
    """

    origin: Origin
    commit: str | None = None
    sha256: str | None = None
    save: bool = True


class PackageLocation(NamedTuple):
    """Where files are fetched from: `source` lists them as `listed`, if one does; one `version` may be wanted."""

    origin: Origin
    source: str | None = None
    listed: str | None = None
    version: str | None = None


class Installer:
    """Installs packages below the skills directory."""

    def __init__(self, parts: InstallParts) -> None:
        self._parts = parts
        self._packages = parts.packages
        self._offers = parts.offers
        self._local = parts.local
        self._catalog = parts.catalog
        self._project = parts.project
        self._placing = threading.Lock()

    def install(self, wanted: InstallOrder) -> Skill:
        """Install a package and return the skill, searchable by then; `warnings` tell what its project lacks.

        Raises VALIDATION_ERROR with every reason a package is refused for; SKILL_NOT_FOUND and NOT_FOUND for what no
        source has; CONFLICT where it is installed, or more than one thing is meant; FORBIDDEN for folders that may not
        be read.
        """
        self._project.check()
        located = self._located(wanted.origin)
        fetched_from = pinned(self._offers.reachable(located.origin), wanted.commit)
        refused = partial(self._parts.refused, located.listed)
        with self._packages.staged(fetched_from, on_refused=refused) as staged:
            _check_wanted(staged.package, located, wanted)
            skill_id = self._place(staged, located)
        self._parts.on_change()
        saved = wanted.origin if wanted.save else None
        if isinstance(saved, SourceOrigin):  # the only source that has it today may not be so tomorrow
            saved = SourceOrigin(source=located.source, skill=str(located.listed), version=located.version)
        problems = self._project.installed(skill_id, saved)
        skill = self._catalog.get(skill_id)
        return msgspec.structs.replace(skill, warnings=[*skill.warnings, *problems])

    def _located(self, origin: Origin) -> PackageLocation:
        if isinstance(origin, LocalOrigin) and origin.editable and not self._packages.any_folder:
            raise forbidden("A folder is used in place only where the local profile listens on loopback")
        if isinstance(origin, LocalOrigin):
            self._refuse_own(self._packages.local_path(origin))
            return PackageLocation(origin)
        if not isinstance(origin, SourceOrigin):
            return PackageLocation(origin)
        offer = self._offers.find(origin.skill, origin.source)
        folder = installed_folder(self._catalog.database, offer.source, offer.listed.id)
        if folder is not None:
            raise conflict(f"'{offer.skill_id}' is installed already, as '{folder}'")
        if offer.listed.origin is None:
            raise conflict(f"Source '{offer.source}' lists '{offer.listed.id}' without saying where it can be had")
        return PackageLocation(offer.listed.origin, offer.source, offer.listed.id, origin.version)

    def _place(self, staged: Staged, located: PackageLocation) -> str:
        """Move a staged package into place and record it; return its id."""
        package = staged.package
        folder = self._local.root / package.name
        install = self._install(staged, located)
        what = self._linked(package.folder, located.origin) if install.editable else package.folder
        with self._placing:
            with self._catalog.database.write() as transaction:
                self._refuse_taken(transaction, folder)
                put_install(transaction, folder.name, install)
            with ExitStack() as undo, self._catalog.database.write() as transaction:
                self._refuse_taken(transaction, folder)
                put_install(transaction, folder.name, install)  # another process may have been here meanwhile
                undo.enter_context(placing_skill_folder(what, folder))
                self._local.take(transaction, folder)
                self._parts.passed(transaction, folder.name, package)
        return folder.name

    def _install(self, staged: Staged, located: PackageLocation) -> InstallRecord:
        return InstallRecord(
            origin=located.origin,
            source=located.source,
            listed=located.listed,
            commit=staged.commit,
            sha256=staged.package.digest,
            pinned=located.version is not None,
            installed_at=timestamp(self._parts.clock()),
        )

    def _linked(self, staged: Path, origin: Origin) -> Path:
        """Return a link, beside what is staged, to the folder an editable origin means. Raises VALIDATION_ERROR."""
        target = self._packages.local_path(origin) if isinstance(origin, LocalOrigin) else staged
        if not (target / SKILL_FILE).is_file():
            raise validation_error(FieldError("origin.path", "must be the skill's own folder to be used in place"))
        link = staged.with_name("link")
        link.symlink_to(target, target_is_directory=True)
        return link

    def _refuse_own(self, path: Path) -> None:
        root = self._local.root
        if path.is_relative_to(root) or root.is_relative_to(path):
            raise validation_error(FieldError("origin.path", "must not hold, or lie in, the skills directory"))

    def _refuse_taken(self, transaction: Transaction, folder: Path) -> None:
        if self._catalog.find(transaction, folder.name):
            raise conflict(f"Skill '{folder.name}' is installed already")
        if os.path.lexists(folder):
            raise conflict(f"A folder '{folder.name}' is in the skills directory already")


def pinned(origin: Origin, commit: str | None) -> Origin:
    """Return an origin at one commit. Raises VALIDATION_ERROR where it is no repository."""
    if commit is None:
        return origin
    if not isinstance(origin, GitOrigin):
        raise validation_error(FieldError("commit", "only a repository has commits"))
    return msgspec.structs.replace(origin, ref=GitRef(commit=commit))


def _check_wanted(package: Package, located: PackageLocation, wanted: InstallOrder) -> None:
    if package.name in RESERVED_IDS:
        raise validation_error(FieldError("package.SKILL.md", f"name: '{package.name}' is reserved"))
    if located.version not in (None, package.version):
        raise skill_not_found(f"{located.source}/{located.listed}", located.version)
    if wanted.sha256 is not None and package.digest != f"sha256:{wanted.sha256}":
        found = package.digest.removeprefix("sha256:")
        raise validation_error(FieldError("sha256", f"the files have {found}: they are not those that were locked"))
