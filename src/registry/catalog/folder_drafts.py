"""New skills before they are in the catalog: their folders are staged, made durable, read and scanned."""

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
from registry.skill_folder import StagedSkill, read_new_skill_folder, stage_skill_folder

_SYNCS = 8
"""The number of folders that are made durable at a time, because each waits for the disk."""


class FolderDraft(msgspec.Struct):
    """A new skill whose folder is staged. `complete` sets the fingerprint and the findings of the skill."""

    staged: StagedSkill
    skill: Skill
    body: str
    fingerprint: str = ""


def staged_draft(place: Path, new: NewSkill, sent: Mapping[str, Any], staged: list[StagedSkill]) -> FolderDraft:
    """Write the folder of a new skill with the fields `sent` in `place`, add it to `staged`, and return the draft."""
    written = stage_skill_folder(place, front_matter_of(new), default_body(new))
    staged.append(written)
    read = read_new_skill_folder(written.folder, written.data)
    return FolderDraft(written, with_fields(skill_of_folder(read, new.id, new.enabled, new.id), sent), read.body)


def complete(drafts: Sequence[FolderDraft], inspector: Inspector) -> None:
    """Make the staged folders durable, and scan them meanwhile if there are several. Raises OSError."""
    if len(drafts) == 1:
        _sync(drafts)  # without a process that scans, because other creates may wait for one
    folders = [draft.staged.folder for draft in drafts]
    for draft, findings in zip(drafts, inspector.scan_folders(folders, partial(_sync, drafts)), strict=True):
        if isinstance(findings, OSError):
            raise findings
        draft.skill.findings = findings
    _sync(drafts)  # where no process has begun with the scan


def _sync(drafts: Sequence[FolderDraft]) -> None:
    waiting = [draft for draft in drafts if not draft.fingerprint]
    shares = [share for first in range(_SYNCS) if (share := waiting[first::_SYNCS])]
    if len(shares) > 1:
        with ThreadPoolExecutor(len(shares)) as pool:
            list(pool.map(_sync_one_by_one, shares))
    else:
        _sync_one_by_one(waiting)


def _sync_one_by_one(drafts: Sequence[FolderDraft]) -> None:
    for draft in drafts:
        draft.fingerprint = new_fingerprint(draft.staged.sync())
