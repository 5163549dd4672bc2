"""Skills that are records in the database, created through the API, without a folder."""

from collections.abc import Container, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec

from registry.catalog.conditions import NO_CONDITIONS, Conditions
from registry.catalog.new_skills import NewSkills
from registry.catalog.skill_backend import SkillFile
from registry.catalog.skill_changes import checked_fields, default_body, refuse_existing, refuse_taken, with_fields
from registry.catalog.store import Catalog, StoredSkill
from registry.db import Transaction
from registry.domain.findings import SkillFindings
from registry.domain.models import NewSkill, Skill
from registry.errors import FieldError, RegistryError, not_found, result_or_error, validation_error
from registry.findings.engine import CURRENT_RULES, ENGINE
from registry.inspection.inspector import Inspector
from registry.inspection.messages import RecordTexts
from registry.skill_folder import FileEntry, open_file

SOURCE = "registry"

_OPTIONAL_FIELDS = ("source_url", "source_type", "source_branch", "execution_timeout", "memory_limit_mb", "skill_file")


class _Draft(NamedTuple):
    """A record before it is scanned and stored."""

    skill: Skill
    body: str


class RecordSkills:
    """Creates, changes and deletes records. A record's `skill_file` is a path below `files_root`.

    Texts are scanned before the transaction that records them, because a slow scan would block other writers.
    """

    def __init__(self, files_root: Path, catalog: Catalog, inspector: Inspector) -> None:
        self._files_root = files_root
        self._catalog = catalog
        self._inspector = inspector

    def create_all(self, news: Sequence[NewSkill], scope: str | None = None) -> list[Skill | RegistryError]:
        """Create records of a scope, if any, in one transaction, and return each, or why it was refused.

        The refusals are VALIDATION_ERROR, and CONFLICT if the id exists.
        """
        return self.prepare(news, scope).store()

    def prepare(self, news: Sequence[NewSkill], scope: str | None = None) -> NewSkills:
        """Scan new records of a scope, if any, before the transaction, because other writers wait for it."""
        taken = self._catalog.keys([new.id for new in news])  # before the work of a scan
        drafts = [result_or_error(self._draft, new, scope, taken) for new in news]
        good = [draft for draft in drafts if isinstance(draft, _Draft)]
        texts = [RecordTexts(skill.name, skill.description, body) for skill, body in good]
        for draft, findings in zip(good, self._inspector.scan_records(texts), strict=True):
            draft.skill.findings = findings
        return NewSkills(partial(self._store, drafts))

    def _store(self, drafts: Sequence[_Draft | RegistryError]) -> list[Skill | RegistryError]:
        if not any(isinstance(draft, _Draft) for draft in drafts):
            return [draft for draft in drafts if isinstance(draft, RegistryError)]
        with self._catalog.database.write(shared=True) as transaction:
            return [
                result_or_error(self._save_new, transaction, draft) if isinstance(draft, _Draft) else draft
                for draft in drafts
            ]

    def _draft(self, new: NewSkill, scope: str | None, taken: Container[str]) -> _Draft:
        sent = checked_fields(new) | {name: getattr(new, name) for name in _OPTIONAL_FIELDS}
        body = new.content or self._file_text(sent) or default_body(new)
        blank = Skill(id=new.id, name=new.name, description=new.description, version=new.version)
        blank.source, blank.installed, blank.scope = SOURCE, False, scope
        refuse_taken(new.id, taken)
        return _Draft(with_fields(blank, sent), body)

    def _save_new(self, transaction: Transaction, draft: _Draft) -> Skill:
        refuse_existing(transaction, draft.skill.id)
        return self._catalog.save(transaction, draft.skill, draft.body)

    def update(self, skill_id: str, sent: Mapping[str, Any], conditions: Conditions = NO_CONDITIONS) -> Skill:
        """Change the fields that were sent.

        Raises SKILL_NOT_FOUND, FORBIDDEN, PRECONDITION_FAILED, VALIDATION_ERROR.
        """
        body = sent.get("content", self._file_text(sent))
        before = self._catalog.get(skill_id)
        texts = self._texts(with_fields(before, sent), body)
        findings = self._current_findings(before, texts) or self._inspector.scan_records([texts])[0]
        with self._catalog.database.write() as transaction:
            skill = with_fields(self._catalog.get_for_update(transaction, skill_id, conditions).skill, sent)
            if (now := self._texts(skill, body)) != texts:  # changed by another writer
                findings = self._inspector.scan_records([now])[0]
            return self._catalog.save(transaction, msgspec.structs.replace(skill, findings=findings), now.body)

    def delete(self, skill_id: str, conditions: Conditions = NO_CONDITIONS) -> None:
        """Delete a record with its versions. Raises SKILL_NOT_FOUND, FORBIDDEN, PRECONDITION_FAILED."""
        with self._catalog.database.write() as transaction:
            self._catalog.delete(transaction, self._catalog.get_for_update(transaction, skill_id, conditions).key)

    def set_version(self, transaction: Transaction, undo: ExitStack, stored: StoredSkill, version: str) -> None:
        """Make `version` the current one. All changes are in the transaction."""
        self._catalog.save(
            transaction, with_fields(stored.skill, {"version": version}), self._catalog.body(stored.skill.id)
        )

    def files(self, skill_id: str) -> list[FileEntry]:
        """Return no files. Raises SKILL_NOT_FOUND."""
        self._catalog.get(skill_id)
        return []

    def file(self, skill_id: str, path: str) -> SkillFile:
        """Raise NOT_FOUND, because a record has no files. Raises SKILL_NOT_FOUND for an unknown id."""
        self._catalog.get(skill_id)
        raise not_found(f"File of skill '{skill_id}'")

    def text(self, skill_id: str) -> str:
        """Return the body of a record. Raises SKILL_NOT_FOUND."""
        return self._catalog.body(skill_id)

    def stale_ids(self, after: str, limit: int) -> list[str]:
        """Return at most `limit` ids above `after`, in order, of skills without a folder and current findings."""
        sql = (
            "select id from skills where id > ? and folder is null and advertised = 0 and detail not like ?"
            " order by id limit ?"
        )
        return [row[0] for row in self._catalog.database.read(sql, (after, CURRENT_RULES, limit))]

    def rescan(self, skill_id: str, inspector: Inspector) -> None:
        """Rescan a record with `inspector`, unless it changes during the scan."""
        try:
            texts = self._texts(self._catalog.get(skill_id))
        except RegistryError:
            return  # the record was deleted
        findings = inspector.scan_records([texts])[0]
        with self._catalog.database.write() as transaction:
            stored = self._catalog.find(transaction, skill_id)
            if stored is None or stored.folder is not None or stored.advertised or self._texts(stored.skill) != texts:
                return
            self._catalog.save(transaction, msgspec.structs.replace(stored.skill, findings=findings), texts.body)

    def _texts(self, skill: Skill, body: str | None = None) -> RecordTexts:
        return RecordTexts(skill.name, skill.description, self._catalog.body(skill.id) if body is None else body)

    def _current_findings(self, skill: Skill, texts: RecordTexts) -> SkillFindings | None:
        """Return the skill's findings if they come from the current rules and these texts."""
        report = skill.findings
        return report if report and report.engine == ENGINE and self._texts(skill) == texts else None

    def _file_text(self, sent: Mapping[str, Any]) -> str | None:
        """Return the text of the file that `skill_file` names; None without one. Raises VALIDATION_ERROR."""
        name = cast("str | None", sent.get("skill_file"))
        if name is None:
            return None
        try:
            path = open_file(self._files_root, name)
            if path.stat().st_size <= _MAX_FILE_BYTES:
                return path.read_text(encoding="utf-8", errors="replace")
            problem = f"must be a file of at most {_MAX_FILE_BYTES:,} bytes"
        except OSError:
            problem = "must exist below the skills directory and be readable"
        except ValueError as error:
            problem = str(error).replace("the skill's folder", "the skills directory")
        raise validation_error(FieldError("skill_file", problem))


_MAX_FILE_BYTES = 1 << 20
