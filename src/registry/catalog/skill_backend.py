"""The interface of a skill's storage: a folder, a record in the database, or published packages."""

import os
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol

from registry.catalog.conditions import NO_CONDITIONS, Conditions
from registry.catalog.store import StoredSkill
from registry.db import Transaction
from registry.domain.models import Skill
from registry.skill_folder import FileEntry


class SkillFile(NamedTuple):
    """A file of a skill, open for reading; the caller closes `content`. `modified_at` is a Unix time in seconds."""

    name: str
    size: int
    modified_at: float
    etag: str
    content: BinaryIO


def opened_file(path: Path) -> SkillFile:
    """Open a file of a skill's folder. Raises OSError."""
    content = path.open("rb")
    status = os.fstat(content.fileno())
    etag = f'"{status.st_mtime_ns:x}-{status.st_size:x}"'
    return SkillFile(path.name, status.st_size, status.st_mtime, etag, content)


class SkillBackend(Protocol):
    """Reads and changes the skills of one kind of storage.

    Each change is one atomic transaction. All methods raise SKILL_NOT_FOUND for an unknown id. Methods with
    `conditions` raise FORBIDDEN and PRECONDITION_FAILED if the skill does not meet them.
    """

    def update(self, skill_id: str, sent: Mapping[str, Any], conditions: Conditions = NO_CONDITIONS) -> Skill:
        """Change the fields of `skill_changes.sent_changes` and return the skill. Raises VALIDATION_ERROR, CONFLICT."""
        ...

    def delete(self, skill_id: str, conditions: Conditions = NO_CONDITIONS) -> None:
        """Remove the skill from the catalog. Raises CONFLICT."""
        ...

    def set_version(self, transaction: Transaction, undo: ExitStack, stored: StoredSkill, version: str) -> None:
        """Make `version` the current one; `undo` reverts changes outside of the transaction. Raises CONFLICT."""
        ...

    def files(self, skill_id: str) -> list[FileEntry]:
        """Return the files of the current version."""
        ...

    def file(self, skill_id: str, path: str) -> SkillFile:
        """Open a file of the current version.

        Raises NOT_FOUND, VALIDATION_ERROR for a path outside of the skill, SERVICE_UNAVAILABLE if its package cannot be
        read.
        """
        ...

    def text(self, skill_id: str) -> str:
        """Return the Markdown text of the skill."""
        ...
