"""Skills that are folders in the skills directory. The folder is authoritative, and the catalog reflects it."""

import functools
from collections.abc import Container, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from registry.catalog.conditions import NO_CONDITIONS, Conditions, check_owner
from registry.catalog.folder_drafts import FolderDraft, complete, new_draft
from registry.catalog.folder_fields import (
    check_not_overridden,
    front_matter_edits,
    skill_of_folder,
)
from registry.catalog.folder_state import is_where_it_was, scan_fingerprint
from registry.catalog.installs import (
    InstallRecord,
    current_install,
    delete_install,
    find_install,
    put_install,
    with_install,
)
from registry.catalog.new_skills import NewSkills
from registry.catalog.skill_backend import SkillFile, opened_file
from registry.catalog.skill_changes import checked_fields, refuse_existing, refuse_taken, with_fields
from registry.catalog.skill_rows import FolderState
from registry.catalog.store import Catalog, StoredSkill
from registry.db import Transaction
from registry.domain.file_names import printable_name
from registry.domain.findings import SkillFindings
from registry.domain.models import RESERVED_IDS, NewSkill, Skill, now
from registry.errors import (
    FieldError,
    RegistryError,
    conflict,
    not_found,
    result_or_error,
    skill_not_found,
    validation_error,
)
from registry.inspection.inspector import Inspector
from registry.parsing.frontmatter import FrontMatterError
from registry.parsing.text_encoding import decode, with_line_feeds
from registry.runtime.atomic_files import sync_folder
from registry.skill_folder import (
    FileEntry,
    SkillFolder,
    UnreadableSkill,
    find_skill_file,
    list_files,
    open_file,
    placing_skill_folder,
    qualified_ids,
    read_skill_folder,
    remove_staged,
    restoring_skill_file,
    staging_place,
    suggest_id,
    update_skill_file,
)
from registry.skill_folder.bin import BinEntry, SkillBin
from registry.skill_folder.tree import SKILL_FILE

_OWN_FILE = "is always the SKILL.md of the skill's own folder: omit this field"


class ScannedFolder(NamedTuple):
    """The findings in a folder that had this fingerprint (`scan_fingerprint`) when it was scanned."""

    fingerprint: str
    findings: SkillFindings


class LocalSkills:
    """Creates, changes and deletes skill folders below `root` together with their rows in the catalog.

    The folder changes inside of the catalog's transaction, so that only one writer of all processes is active. The next
    scan repairs an incomplete change, because the folder is authoritative. New folders are written in `staging` first,
    if they can move from there (`staging_place`). Folders that are deleted move to the bin; without one they are gone.
    """

    def __init__(
        self,
        root: Path,
        catalog: Catalog,
        inspector: Inspector,
        staging: Path | None = None,
        bin_: SkillBin | None = None,
    ) -> None:
        self.root = root
        self.bin = bin_ or SkillBin(root, 0, now)
        self._staging_beside = staging
        self._catalog = catalog
        self._inspector = inspector

    @functools.cached_property
    def _staging(self) -> Path:
        return staging_place(self.root, self._staging_beside) if self._staging_beside else self.root

    def create_all(self, news: Sequence[NewSkill]) -> list[Skill | RegistryError]:
        """Create skills and their folders in one transaction, and return each, or why it was refused.

        The refusals are VALIDATION_ERROR, and CONFLICT if the id or its folder exists.
        """
        return self.prepare(news).store()

    def prepare(self, news: Sequence[NewSkill]) -> NewSkills:
        """Write and scan the folders of new skills, before the transaction, because other writers wait for it."""
        taken = self._catalog.keys([new.id for new in news])  # before the work of writing and scanning
        drafts = [result_or_error(self._draft, new, taken) for new in news]
        good = [draft for draft in drafts if isinstance(draft, FolderDraft)]
        staged = [draft.staged for draft in good]
        try:
            complete(good, self._inspector)
        except BaseException:
            remove_staged(staged)
            raise
        return NewSkills(partial(self._store, drafts), partial(remove_staged, staged))

    def _store(self, drafts: Sequence[FolderDraft | RegistryError]) -> list[Skill | RegistryError]:
        if not any(isinstance(draft, FolderDraft) for draft in drafts):
            return [draft for draft in drafts if isinstance(draft, RegistryError)]
        with ExitStack() as undo, self._catalog.database.write(shared=True) as transaction:
            transaction.before_commit[f"sync {self.root}"] = partial(sync_folder, self.root)
            return [
                result_or_error(self._place, transaction, undo, draft) if isinstance(draft, FolderDraft) else draft
                for draft in drafts
            ]

    def _draft(self, new: NewSkill, taken: Container[str]) -> FolderDraft:
        sent = checked_fields(new)
        if new.skill_file is not None:
            raise validation_error(FieldError("skill_file", _OWN_FILE))
        refuse_taken(new.id, taken)
        return new_draft(self._staging, new, sent)

    def _place(self, transaction: Transaction, undo: ExitStack, draft: FolderDraft) -> Skill:
        """Move a staged folder into place and record it. `undo` moves it back unless the transaction commits."""
        skill_id = draft.skill.id
        refuse_existing(transaction, skill_id)
        try:
            undo.enter_context(
                placing_skill_folder(draft.staged.folder, self.root / skill_id, sync=lambda parent: None)
            )
        except FileExistsError:
            raise conflict(f"The folder of skill '{skill_id}' already exists") from None
        skill = _installed(transaction, skill_id, draft.skill)
        return self._catalog.save(transaction, skill, draft.body, FolderState(skill_id, draft.fingerprint))

    def update(self, skill_id: str, sent: Mapping[str, Any], conditions: Conditions = NO_CONDITIONS) -> Skill:
        """Change the fields that were sent, in the folder's SKILL.md and in the catalog.

        Raises SKILL_NOT_FOUND, FORBIDDEN, PRECONDITION_FAILED, VALIDATION_ERROR.
        """
        with ExitStack() as undo, self._catalog.database.write() as transaction:
            stored = self._catalog.get_for_update(transaction, skill_id, conditions)
            if sent.keys() != {"enabled"}:
                self._check_author(transaction, stored, conditions)
            return self._change(transaction, undo, stored, sent)

    @staticmethod
    def _check_author(transaction: Transaction, stored: StoredSkill, conditions: Conditions) -> None:
        """Raise FORBIDDEN for a copy of a skill that another scope has published here: agents trust its name."""
        install = find_install(transaction, str(stored.folder))
        if conditions.caller and install and install.release and install.release.proof is None:
            check_owner(conditions.caller, install.release.skill_id)

    def set_version(self, transaction: Transaction, undo: ExitStack, stored: StoredSkill, version: str) -> None:
        """Make `version` the current one. `undo` restores the folder unless the transaction commits."""
        self._change(transaction, undo, stored, {"version": version})

    def _change(self, transaction: Transaction, undo: ExitStack, stored: StoredSkill, sent: Mapping[str, Any]) -> Skill:
        folder = self._folder(stored)
        if sent.get("skill_file", stored.skill.skill_file) != stored.skill.skill_file:
            raise validation_error(FieldError("skill_file", _OWN_FILE))
        check_not_overridden(folder, sent)
        current, fingerprint = stored.skill, stored.fingerprint
        if scan_fingerprint(folder) != fingerprint:  # changed by hand after the last scan
            fingerprint = None
            current = skill_of_folder(read_skill_folder(folder), current.id, current.enabled, str(stored.folder))
        undo.enter_context(restoring_skill_file(folder))
        try:
            update_skill_file(folder, front_matter_edits(sent), sent.get("content"))
        except (FrontMatterError, UnreadableSkill) as error:
            raise validation_error(message=f"The SKILL.md cannot be updated: {error}") from None
        return self._save(transaction, folder, with_fields(current, sent), fingerprint)

    def delete(self, skill_id: str, conditions: Conditions = NO_CONDITIONS) -> None:
        """Delete a skill and its folder. Raises SKILL_NOT_FOUND, FORBIDDEN, PRECONDITION_FAILED, CONFLICT."""
        with ExitStack() as undo, self._catalog.database.write() as transaction:
            stored = self._catalog.get_for_update(transaction, skill_id, conditions)
            try:
                undo.enter_context(self._removing(transaction, stored))
            except FileNotFoundError:
                pass  # the folder was removed by hand: delete the skill too
            except ValueError as error:
                raise conflict(str(error)) from None
            self._catalog.delete(transaction, stored.key)

    def _removing(self, transaction: Transaction, stored: StoredSkill) -> AbstractContextManager[None]:
        folder = self._folder(stored)
        path = folder.relative_to(self.root).as_posix()
        install = find_install(transaction, path)
        entry = BinEntry(
            id=stored.skill.id,
            folder=path,
            enabled=stored.skill.enabled,
            install=msgspec.Raw(msgspec.json.encode(install)),
        )
        return self.bin.removing(self.root, entry)

    def restore(self, skill_id: str) -> BinEntry:
        """Put the skill that was deleted last under this id back into its folder, with its origin.

        A skill from a registry can be named as it is there, unless one was deleted under that id.
        Return its entry in the bin, which is gone then. Raises SKILL_NOT_FOUND if the bin has none, CONFLICT if the id
        or the folder is taken.
        """
        skill_id = self._binned_as(skill_id)
        with ExitStack() as undo, self._catalog.database.write() as transaction:
            refuse_existing(transaction, skill_id)
            try:
                entry = undo.enter_context(self.bin.restoring(self.root, skill_id))
            except LookupError:
                hint = "It is not in the bin, which keeps what was uninstalled for some days"
                raise skill_not_found(skill_id, hint=hint) from None
            except FileExistsError as error:
                raise conflict(f"Skill '{skill_id}' cannot be restored: {error}") from None
            folder = self.root / entry.folder
            self.record_folder(transaction, folder, skill_id=skill_id)
            if install := msgspec.json.decode(entry.install, type=InstallRecord | None):
                put_install(transaction, entry.folder, install)
            stored = self._catalog.get_for_update(transaction, skill_id)
            skill = msgspec.structs.replace(stored.skill, enabled=entry.enabled)
            self._save(transaction, folder, skill, stored.fingerprint)
            return entry

    def _binned_as(self, skill_id: str) -> str:
        """Return the id here of a skill in the bin that may be named as in its registry, the id itself for others."""
        entries = self.bin.entries()
        if any(entry.id == skill_id for entry in entries):
            return skill_id
        for entry in entries:
            install = msgspec.json.decode(entry.install, type=InstallRecord | None)
            if install is not None and install.listed == skill_id:
                return entry.id
        return skill_id

    def files(self, skill_id: str) -> list[FileEntry]:
        """Return a skill's files with printable names. Raises SKILL_NOT_FOUND, NOT_FOUND."""
        folder = self._known_folder(skill_id)
        try:
            return [FileEntry(printable_name(file.path), file.size) for file in list_files(folder)]
        except OSError:
            raise not_found(f"Folder of skill '{skill_id}'") from None

    def file(self, skill_id: str, path: str) -> SkillFile:
        """Open a skill's file. Raises SKILL_NOT_FOUND, VALIDATION_ERROR, NOT_FOUND."""
        folder = self._known_folder(skill_id)
        try:
            if path == SKILL_FILE and (skill_file := find_skill_file(folder)) is not None:
                path = skill_file.name
            return opened_file(open_file(folder, path))
        except ValueError as error:
            raise validation_error(FieldError("path", str(error))) from None
        except OSError:
            raise not_found(f"File of skill '{skill_id}'") from None

    def text(self, skill_id: str) -> str:
        """Return a skill's SKILL.md, including its front matter. Raises SKILL_NOT_FOUND, NOT_FOUND."""
        with self.file(skill_id, SKILL_FILE).content as file:
            return with_line_feeds(decode(file.read()))

    def _known_folder(self, skill_id: str) -> Path:
        rows = self._catalog.database.read("select folder, fingerprint from skills where id = ?", (skill_id,))
        if not rows:
            raise skill_not_found(skill_id)
        return self._unmoved(skill_id, *rows[0])

    def _folder(self, stored: StoredSkill) -> Path:
        if stored.folder is None:  # a record has just replaced the folder
            raise skill_not_found(stored.skill.id)
        return self._unmoved(stored.skill.id, stored.folder, stored.fingerprint)

    def _unmoved(self, skill_id: str, path: str, fingerprint: str | None) -> Path:
        """Return a skill's folder. Raises NOT_FOUND if a link replaced it, or a parent of it, after the last scan.

        Only a scan decides which links are followed.
        """
        folder = self.root / path
        if not is_where_it_was(folder, fingerprint):
            raise not_found(f"Folder of skill '{skill_id}'")
        return folder

    def record_folder(
        self, transaction: Transaction, folder: Path, scanned: ScannedFolder | None = None, skill_id: str = ""
    ) -> None:
        """Update the catalog from a folder. A new one gets `skill_id` if it is free. Raises UnreadableSkill, OSError.

        `scanned` has findings from before the transaction, because a slow scan would block other writers. Its
        fingerprint is stored, so that the next scan reads the folder again if it has changed since.
        """
        path = folder.relative_to(self.root).as_posix()
        stored = self._catalog.find_at(transaction, path)
        current = scan_fingerprint(folder)
        if stored is not None and stored.fingerprint == current:
            return  # a write request has updated the catalog since the scan began
        if scanned is not None and not is_where_it_was(folder, scanned.fingerprint):
            raise FileNotFoundError(path)  # a link has replaced the folder since it was listed
        read = read_skill_folder(folder)
        if stored is not None:
            skill_id = stored.skill.id
        elif not skill_id or self._catalog.find(transaction, skill_id):
            skill_id = self._free_id(transaction, folder, read)
        enabled = stored.skill.enabled if stored else True
        if scanned is None:
            scanned = ScannedFolder(current, self._inspector.scan_folder(folder))
        skill = msgspec.structs.replace(skill_of_folder(read, skill_id, enabled, path), findings=scanned.findings)
        install = find_install(transaction, path)
        if install is not None and stored is None and install.sha256 != skill.digest:
            delete_install(transaction, path)  # the record of an interrupted install
        self._catalog.save(
            transaction,
            _installed(transaction, path, skill),
            read.body,
            FolderState(path, scanned.fingerprint),
            files=read.files,
        )

    def _free_id(self, transaction: Transaction, folder: Path, read: SkillFolder) -> str:
        """Return a free id for the folder. The next scan gives it the one that it has for good."""
        plain = suggest_id(folder, self.root, read)
        candidates = qualified_ids(folder, self.root, f"{plain}-skill" if plain in RESERVED_IDS else plain)
        return next(candidate for candidate in candidates if not self._catalog.find(transaction, candidate))

    def _save(self, transaction: Transaction, folder: Path, skill: Skill, fingerprint: str | None = None) -> Skill:
        """Update the catalog from a folder. `skill` has the fields exactly as the caller sent them.

        The skill keeps its findings if the folder still has the fingerprint `known`.
        """
        path = folder.relative_to(self.root).as_posix()
        current = scan_fingerprint(folder)
        read = read_skill_folder(folder)
        findings = skill.findings if current == fingerprint else self._inspector.scan_folder(folder)
        skill = msgspec.structs.replace(
            skill, metadata=read.metadata, digest=read.digest, warnings=read.warnings, findings=findings
        )
        skill = _installed(transaction, path, skill)
        return self._catalog.save(transaction, skill, read.body, FolderState(path, current), files=read.files)


def _installed(transaction: Transaction, path: str, skill: Skill) -> Skill:
    install = current_install(transaction, path, skill.digest)
    return skill if install is None else with_install(skill, install)
