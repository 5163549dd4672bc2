"""New skills before they are in the catalog: their folders are written in a staging place, and scanned."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from registry.catalog.folder_fields import front_matter_of, skill_of_folder
from registry.catalog.folder_state import new_fingerprint
from registry.catalog.skill_changes import default_body, with_fields
from registry.domain.models import NewSkill, Skill
from registry.inspection.inspector import Inspector
from registry.skill_folder import StagedSkill, read_new_skill_folder

_WRITERS = 8
"""The number of folders that are written at a time, because each waits for the disk."""


class FolderDraft(msgspec.Struct):
    """A new skill and its folder. `complete` writes it, and sets the fingerprint and the findings of the skill."""

    staged: StagedSkill
    skill: Skill
    body: str
    fingerprint: str = ""


def new_draft(place: Path, new: NewSkill, sent: Mapping[str, Any]) -> FolderDraft:
    """Return the draft of a new skill with the fields `sent`, whose folder is to be written in `place`."""
    staged = StagedSkill.of(place, front_matter_of(new), default_body(new))
    read = read_new_skill_folder(staged.folder, staged.data, named=new.id)
    return FolderDraft(staged, with_fields(skill_of_folder(read, new.id, new.enabled, new.id), sent), read.body)


def complete(drafts: Sequence[FolderDraft], inspector: Inspector) -> None:
    """Write the folders durably, and scan their texts meanwhile if there are several. Raises OSError."""
    if len(drafts) == 1:
        _write(drafts)  # without a process that scans, because other creates may wait for one
    texts = [draft.staged.data for draft in drafts]
    for draft, findings in zip(drafts, inspector.scan_skill_files(texts, partial(_write, drafts)), strict=True):
        draft.skill.findings = findings
    _write(drafts)  # where no process has begun with the scan


def _write(drafts: Sequence[FolderDraft]) -> None:
    waiting = [draft for draft in drafts if not draft.fingerprint]
    shares = [share for first in range(_WRITERS) if (share := waiting[first::_WRITERS])]
    if len(shares) > 1:
        with ThreadPoolExecutor(len(shares)) as pool:
            list(pool.map(_write_one_by_one, shares))
    else:
        _write_one_by_one(waiting)


def _write_one_by_one(drafts: Sequence[FolderDraft]) -> None:
    for draft in drafts:
        draft.fingerprint = new_fingerprint(draft.staged.write())
