"""Moves staged packages into the skills directory, all of a set or none, with their records.

1. The first transaction stores the record of each skill, so that a crash never leaves a folder without its origin. That
   of a skill which is replaced names the new version, and both are valid until the folder says which one it is.
2. The second transaction moves the folders and updates the catalog. A failure moves all of them back. A process that is
   killed meanwhile leaves some folders in place: each is a whole skill with its record, which the next scan finds.
"""

import os
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import msgspec

from registry.catalog.installs import InstallRecord, find_install, put_install
from registry.catalog.store import StoredSkill
from registry.db import Transaction
from registry.domain.models import RESERVED_IDS
from registry.errors import conflict
from registry.install.adopting import record_in_place
from registry.install.parts import InstallParts
from registry.install.staged_packages import Staged
from registry.packages.package import Package
from registry.packages.update_diff import Footprint, update_findings
from registry.skill_folder import (
    has_digest,
    placing_skill_folder,
    read_skill_folder,
    replacing_skill_folder,
    tree_digest,
)
from registry.skill_folder.ids import slug


class ChangedMeanwhile(Exception):
    """Another process or the user has changed a skill, or its folder, that was to be replaced."""


class Former(NamedTuple):
    """A skill that is replaced: its record, and the `tree_digest` of its folder."""

    stored: StoredSkill
    install: InstallRecord
    digest: str


class Placement(NamedTuple):
    """A package to be moved into place.

    Args:
        package: The package, staged in the file system of the skills directory.
        folder: Its folder there, or a link to one that is used in place.
        install: The record of the installation.
        version: The version of the skill, which its source may have given it.
        former: The skill that it replaces, None for a new one.
    """

    package: Package
    folder: Path
    install: InstallRecord
    version: str
    former: Former | None = None


class _Announced(NamedTuple):
    """A package whose record is stored: its place, and the record while the folder is not moved yet.

    `by_hand` is the skill in the folder if its files are there already without a record: then it only gets the record.
    """

    placement: Placement
    folder: Path
    install: InstallRecord
    by_hand: StoredSkill | None = None


class Placer:
    """Puts packages into the skills directory of a service."""

    def __init__(self, parts: InstallParts) -> None:
        self._parts = parts
        self._local = parts.local
        self._catalog = parts.catalog
        self._placing = threading.Lock()

    def place(self, placements: Sequence[Placement]) -> list[str]:
        """Move all packages into place, and return the ids of their skills.

        Raises CONFLICT if a name is taken, ChangedMeanwhile if a skill that is replaced was changed.
        """
        with self._placing:
            with self._catalog.database.write() as transaction:
                announced: list[_Announced] = []
                for placement in placements:
                    taken = {step.folder.name for step in announced}
                    announced.append(self._announce(transaction, placement, taken))
                self._parts.project.expect(transaction, [self._skill_id(step) for step in announced])
            with ExitStack() as undo, self._catalog.database.write() as transaction:
                for step in announced:
                    self._move(transaction, undo, step)
        return [self._skill_id(step) for step in announced]

    def place_new(self, package: Package) -> str:
        """Move a package without an origin into place, and return its id. Raises CONFLICT if its name is taken."""
        folder = self._local.root / package.name
        with self._placing, ExitStack() as undo, self._catalog.database.write() as transaction:
            self._refuse_taken(transaction, folder)
            undo.enter_context(placing_skill_folder(package.folder, folder))
            self._local.record_folder(transaction, folder)
        return folder.name

    def _skill_id(self, step: _Announced) -> str:
        stored = step.placement.former.stored if step.placement.former else step.by_hand
        return stored.skill.id if stored else step.folder.name

    def _announce(self, transaction: Transaction, placement: Placement, taken: set[str]) -> _Announced:
        """Store the record of a package that is going to be moved into place."""
        install = placement.install
        if placement.former is not None:
            path = str(placement.former.stored.folder)
            if find_install(transaction, path) != placement.former.install:
                raise ChangedMeanwhile
            install = msgspec.structs.replace(placement.former.install, following=install)
            put_install(transaction, path, install)
            return _Announced(placement, self._local.root / path, install)
        folder = self._local.root / placement.package.name
        by_hand = self._by_hand(transaction, folder, placement.package) if folder.name not in taken else None
        if by_hand is not None:
            return _Announced(placement, folder, install, by_hand)
        folder = self._free_folder(transaction, placement.package.name, install.listed, taken)
        if folder.name != placement.package.name:
            install = msgspec.structs.replace(install, name=placement.package.name)
        put_install(transaction, folder.name, install)
        return _Announced(placement, folder, install)

    def _move(self, transaction: Transaction, undo: ExitStack, step: _Announced) -> None:
        """Move an announced package, and record it. `undo` moves it back."""
        placement, folder, install, by_hand = step
        if by_hand is not None and by_hand == self._by_hand(transaction, folder, placement.package):
            record_in_place(self._catalog, transaction, by_hand, read_skill_folder(folder), install)
            self._parts.notify_accepted(transaction, by_hand.skill.id, placement.package)
            return
        if placement.former is None:
            self._refuse_taken(transaction, folder)
            put_install(transaction, folder.name, install)  # another process may have changed it meanwhile
            undo.enter_context(placing_skill_folder(placement.folder, folder))
            self._local.record_folder(transaction, folder)
            self._parts.notify_accepted(transaction, folder.name, placement.package)
            return
        stored, _, digest = placement.former
        current = self._catalog.get_for_update(transaction, stored.skill.id)
        if find_install(transaction, str(stored.folder)) != install or tree_digest(folder) != digest:
            raise ChangedMeanwhile
        put_install(transaction, str(stored.folder), placement.install)
        undo.enter_context(replacing_skill_folder(placement.folder, folder))
        self._local.record_folder(transaction, folder)
        changes = [note.message for note in placement.install.notes]
        self._catalog.set_version_changes(transaction, current.key, placement.version, changes)
        self._parts.notify_accepted(transaction, stored.skill.id, placement.package)

    def _by_hand(self, transaction: Transaction, folder: Path, package: Package) -> StoredSkill | None:
        """Return the skill in a folder if it has the files of a package, put there by hand or by another tool."""
        stored = self._catalog.find_at(transaction, folder.name)
        if stored is None or stored.fingerprint is None or find_install(transaction, folder.name) is not None:
            return None
        return stored if not folder.is_symlink() and has_digest(folder, package.digest) else None

    def _free_folder(self, transaction: Transaction, name: str, listed: str | None, taken: set[str]) -> Path:
        """Return the folder of a new skill. A source may list several skills of one name, under different ids.

        `taken` are the folders of others of the set. Raises CONFLICT if neither the name nor the id in the source is
        free.
        """
        folder = self._local.root / name
        place = self._local.root / slug((listed or name).replace("/", "-"))
        is_taken = name in taken or self._is_taken(transaction, folder)
        if place.name not in (name, "", *RESERVED_IDS) and is_taken:
            folder = place
        self._refuse_taken(transaction, folder)
        return folder

    def _is_taken(self, transaction: Transaction, folder: Path) -> bool:
        return os.path.lexists(folder) or self._catalog.find(transaction, folder.name) is not None

    def _refuse_taken(self, transaction: Transaction, folder: Path) -> None:
        if self._catalog.find(transaction, folder.name):
            raise conflict(
                f"Skill '{folder.name}' is already installed: uninstall it to install another one of this name"
            )
        if os.path.lexists(folder):
            raise conflict(f"The skills directory already has a folder '{folder.name}'")


def replacement(former: Former, following: InstallRecord, staged: Staged, folder: Path, at: str) -> InstallRecord:
    """Return the record of a package that replaces the skill in `folder`, with what changes for its users.

    `at` is the time of the installation. Raises OSError.
    """
    package, version = staged.package, former.stored.skill.version
    return msgspec.structs.replace(
        following,
        commit=staged.commit,
        sha256=package.digest,
        notes=update_findings(Footprint.of(folder), Footprint.of(package.folder), version),
        installed_at=at,
    )
