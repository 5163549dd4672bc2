"""Skills that are folders below the skills directory: the folder is what a skill is, the catalog follows it."""

import itertools
from collections.abc import Collection, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec

from registry.catalog.installs import current_install, delete_install, find_install, with_install
from registry.catalog.skill_changes import checked_fields, default_body, sent_changes, with_fields
from registry.catalog.store import Catalog, FolderState, StoredSkill
from registry.db import Transaction
from registry.domain.file_names import printable_name
from registry.domain.findings import SkillFindings
from registry.domain.models import RESERVED_IDS, NewSkill, Skill, SkillChanges, SourceType, split_labels
from registry.errors import FieldError, conflict, not_found, skill_not_found, validation_error
from registry.findings.engine import ENGINE
from registry.inspection import Inspector
from registry.parsing.frontmatter import FrontMatterError
from registry.skill_folder import (
    FileEntry,
    SkillFolder,
    UnreadableSkill,
    fingerprint,
    list_files,
    open_file,
    project_metadata,
    qualified_id,
    read_skill_folder,
    remove_skill_folder,
    removing_skill_folder,
    restoring_skill_file,
    suggest_id,
    update_skill_file,
    write_skill_folder,
)

SKILL_FILE = "SKILL.md"

_OWN_FILE = "is the SKILL.md of the skill's own folder: leave it out"

_IN_METADATA = ("source_url", "source_type", "source_branch", "execution_timeout", "memory_limit_mb")


class ScannedFolder(NamedTuple):
    """The findings of a folder with this fingerprint (`scan_fingerprint`)."""

    fingerprint: str
    findings: SkillFindings


class LocalSkills:
    """Creates, changes and removes skill folders below `root` together with their records.

    A change is made to the folder inside the catalog's transaction: one writer at a time, whatever the process, and
    what fails half-way is set right by the next scan, because the folder is the truth.
    """

    def __init__(self, root: Path, catalog: Catalog, inspector: Inspector) -> None:
        self.root = root
        self._catalog = catalog
        self._inspector = inspector

    def create(self, new: NewSkill) -> Skill:
        """Write a folder for a new skill and record it. Raises CONFLICT where the id or its folder exists."""
        sent = checked_fields(new)
        if new.skill_file is not None:
            raise validation_error(FieldError("skill_file", _OWN_FILE))
        with ExitStack() as undo:
            with self._catalog.database.write() as transaction:
                if self._catalog.find(transaction, new.id):
                    raise conflict(f"Skill '{new.id}' already exists")
                try:
                    folder = write_skill_folder(self.root, new.id, _fields(new), default_body(new))
                except FileExistsError:
                    raise conflict(f"The folder of skill '{new.id}' already exists") from None
                undo.callback(remove_skill_folder, self.root, folder)
                read = _skill(read_skill_folder(folder), new.id, new.enabled, folder.name)
                skill = self._save(transaction, folder, with_fields(read, sent))
            undo.pop_all()  # committed
            return skill

    def update(self, skill_id: str, changes: SkillChanges, etags: Collection[str] | None) -> Skill:
        """Change what was sent in the folder's SKILL.md and the record.

        Raises SKILL_NOT_FOUND, PRECONDITION_FAILED, VALIDATION_ERROR where nothing, or another id, was sent.
        """
        sent = sent_changes(changes, skill_id)
        with ExitStack() as undo, self._catalog.database.write() as transaction:
            stored = self._catalog.get_for_update(transaction, skill_id, etags)
            return self._change(transaction, undo, stored, sent)

    def set_version(self, transaction: Transaction, undo: ExitStack, stored: StoredSkill, version: str) -> None:
        """Make `version` the skill's current one; `undo` restores the folder unless the transaction commits."""
        self._change(transaction, undo, stored, {"version": version})

    def _change(self, transaction: Transaction, undo: ExitStack, stored: StoredSkill, sent: Mapping[str, Any]) -> Skill:
        folder = self._folder(stored)
        if sent.get("skill_file", stored.skill.skill_file) != stored.skill.skill_file:
            raise validation_error(FieldError("skill_file", _OWN_FILE))
        _check_not_elsewhere(folder, sent)
        current, known = stored.skill, stored.fingerprint
        if scan_fingerprint(folder) != known:  # changed by hand, and not yet seen by a scan
            known = None
            current = _skill(read_skill_folder(folder), current.id, current.enabled, str(stored.folder))
        undo.enter_context(restoring_skill_file(folder))
        try:
            update_skill_file(folder, _edits(sent), sent.get("content"))
        except (FrontMatterError, UnreadableSkill) as error:
            raise validation_error(message=f"The skill's file cannot be changed so: {error}") from None
        return self._save(transaction, folder, with_fields(current, sent), known)

    def delete(self, skill_id: str, etags: Collection[str] | None) -> None:
        """Remove a skill's folder and record. Raises SKILL_NOT_FOUND, PRECONDITION_FAILED, CONFLICT."""
        with ExitStack() as undo, self._catalog.database.write() as transaction:
            stored = self._catalog.get_for_update(transaction, skill_id, etags)
            try:
                undo.enter_context(removing_skill_folder(self.root, self._folder(stored)))
            except FileNotFoundError:
                pass  # removed by hand a moment ago: the record goes the same way
            except ValueError as error:
                raise conflict(str(error)) from None
            self._catalog.delete(transaction, stored.key)

    def files(self, skill_id: str) -> list[FileEntry]:
        """Return a skill's files, their names as they can be shown. Raises SKILL_NOT_FOUND, NOT_FOUND."""
        folder = self._known_folder(skill_id)
        try:
            return [FileEntry(printable_name(file.path), file.size) for file in list_files(folder)]
        except OSError:
            raise not_found(f"Folder of skill '{skill_id}'") from None

    def file(self, skill_id: str, path: str) -> Path:
        """Return where one of a skill's files is. Raises SKILL_NOT_FOUND, VALIDATION_ERROR, NOT_FOUND."""
        folder = self._known_folder(skill_id)
        try:
            return open_file(folder, path)
        except ValueError as error:
            raise validation_error(FieldError("path", str(error))) from None
        except OSError:
            raise not_found(f"File of skill '{skill_id}'") from None

    def text(self, skill_id: str) -> str:
        """Return a skill's SKILL.md as it is. Raises SKILL_NOT_FOUND, NOT_FOUND."""
        path = self.file(skill_id, SKILL_FILE)
        try:
            return path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            raise not_found(f"File of skill '{skill_id}'") from None

    def _known_folder(self, skill_id: str) -> Path:
        with_folder = self._catalog.database.read("select folder from skills where id = ?", (skill_id,))
        if not with_folder:
            raise skill_not_found(skill_id)
        return self.root / str(with_folder[0][0])

    def _folder(self, stored: StoredSkill) -> Path:
        if stored.folder is None:  # a record took the folder's place a moment ago
            raise skill_not_found(stored.skill.id)
        return self.root / stored.folder

    def record_folder(self, transaction: Transaction, folder: Path, inspected: ScannedFolder | None = None) -> None:
        """Record a folder as it is now. Raises UnreadableSkill, OSError.

        `inspected` has findings from before the transaction, because a slow scan would block other writers. Its
        fingerprint is recorded: if the folder has changed since, the next scan reads it again.
        """
        place = folder.relative_to(self.root).as_posix()
        known = self._catalog.find_at(transaction, place)
        seen = scan_fingerprint(folder)
        if known is not None and known.fingerprint == seen:
            return  # a write route was quicker than the scan
        read = read_skill_folder(folder)
        skill_id = known.skill.id if known else self._free_id(transaction, folder, read)
        enabled = known.skill.enabled if known else True
        if inspected is None:
            inspected = ScannedFolder(seen, self._inspector.scan_folder(folder))
        skill = msgspec.structs.replace(_skill(read, skill_id, enabled, place), findings=inspected.findings)
        install = find_install(transaction, place)
        if install is not None and known is None and install.sha256 != skill.digest:
            delete_install(transaction, place)  # of an installation that was cut short before
        self._catalog.save(
            transaction, _installed(transaction, place, skill), read.body, FolderState(place, inspected.fingerprint)
        )

    def _free_id(self, transaction: Transaction, folder: Path, read: SkillFolder) -> str:
        """Return the folder's id: the bare one, else one qualified by the folder above, else with a number."""
        bare = suggest_id(folder, self.root, read)
        if bare in RESERVED_IDS:
            bare = f"{bare}-skill"
        qualified = qualified_id(folder, self.root, bare)
        candidates = itertools.chain((bare, qualified), (f"{qualified}-{number}" for number in itertools.count(2)))
        return next(one for one in candidates if not self._catalog.find(transaction, one))

    def _save(self, transaction: Transaction, folder: Path, skill: Skill, known: str | None = None) -> Skill:
        """Record a folder as it now is; `skill` has the fields as the caller sent them, to the letter.

        If the folder still has the fingerprint `known`, the skill keeps its findings.
        """
        place = folder.relative_to(self.root).as_posix()
        seen = scan_fingerprint(folder)
        read = read_skill_folder(folder)
        findings = skill.findings if seen == known else self._inspector.scan_folder(folder)
        found = {"digest": read.digest, "warnings": read.warnings, "findings": findings}
        skill = msgspec.structs.replace(skill, metadata=read.metadata, **found)
        skill = _installed(transaction, place, skill)
        return self._catalog.save(transaction, skill, read.body, FolderState(place, seen))


def _installed(transaction: Transaction, place: str, skill: Skill) -> Skill:
    install = current_install(transaction, place, skill.digest)
    return skill if install is None else with_install(skill, install)


def scan_fingerprint(folder: Path) -> str:
    """Return a folder's fingerprint and the version of the content rules: when either changes, it is read again."""
    return f"{ENGINE}-{fingerprint(folder)}"


def _check_not_elsewhere(folder: Path, sent: Mapping[str, Any]) -> None:
    """Refuse to change in SKILL.md what skill-project.toml, which counts before it, says too."""
    elsewhere = project_metadata(folder, []).keys() & sent.keys()
    if elsewhere:
        raise validation_error(
            *(FieldError(name, "is set in the skill's skill-project.toml") for name in sorted(elsewhere))
        )


def _fields(new: NewSkill) -> dict[str, Any]:
    """Return the front matter of a new skill: what the Agent Skills format names, the rest below `metadata`."""
    metadata: dict[str, str] = {"name": new.name} if new.name != new.id else {}
    metadata["version"] = new.version
    metadata |= {"author": new.author} if new.author else {}
    for name in ("tags", "capabilities"):
        metadata |= {name: _joined(getattr(new, name))} if getattr(new, name) else {}
    metadata |= {name: str(getattr(new, name)) for name in _IN_METADATA if getattr(new, name) is not None}
    metadata |= {"editable": "true"} if new.editable else {}
    return {"name": new.id, "description": new.description, "metadata": metadata}


def _edits(sent: Mapping[str, Any]) -> dict[str, Any]:
    """Return which keys of the front matter change, and to what; None takes a key out."""
    edits: dict[str, Any] = {}
    for name, value in sent.items():
        if name in ("content", "enabled", "skill_file"):
            continue
        if name == "description":
            edits[name] = value
        elif name in ("tags", "capabilities"):
            edits[f"metadata.{name}"] = _joined(value)
        elif name == "editable":
            edits["metadata.editable"] = "true" if value else None
        else:
            edits[f"metadata.{name}"] = None if value is None else str(value)
    return edits


def _joined(value: list[str] | str) -> str:
    return ", ".join(split_labels(value))


_SAME_FIELDS = [
    name
    for name in SkillFolder.__struct_fields__
    if name in Skill.__struct_fields__ and name not in ("skill_file", "source_type")
]
"""The fields of a skill that are taken from its folder as they are."""


def _skill(read: SkillFolder, skill_id: str, enabled: bool, place: str) -> Skill:
    scope, _, _ = skill_id.rpartition("/")
    source_type = read.source_type if read.source_type in ("git", "local", "http", "zip") else "local"
    return Skill(
        id=skill_id,
        enabled=enabled,
        skill_file=f"{place}/{SKILL_FILE}",
        source_type=cast(SourceType, source_type),
        editable=read.metadata.get("editable") == "true",
        scope=scope or None,
        execution_timeout=_number(read.metadata.get("execution_timeout")),
        memory_limit_mb=_number(read.metadata.get("memory_limit_mb")),
        **{name: getattr(read, name) for name in _SAME_FIELDS},
    )


def _number(value: object) -> int | None:
    return int(value) if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 9 else None
