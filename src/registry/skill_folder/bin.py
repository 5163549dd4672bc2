"""The bin: folders of skills that were removed, kept for some days, because a skill made here has no other copy.

Each entry is a folder with `entry.json`, and the folder of the skill, or the link to it, as `skill`.
"""

import datetime
import errno
import logging
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import msgspec

from registry.config.settings import Settings
from registry.domain.models import timestamp
from registry.runtime.atomic_files import replace_file, sync_folder, temporary_path
from registry.skill_folder.placing import copy_folder, placing_skill_folder
from registry.skill_folder.writing import removing_skill_folder

MOST_BYTES = 1 << 30
"""The size of the bin. The oldest entries beyond it are deleted soon; the newest stays, whatever its size."""

_EMPTIED_EVERY = datetime.timedelta(hours=1)
_EMPTIED_AFTER = 16
"""The bin is emptied after this part of `MOST_BYTES` too: a removal does not read all entries of the ones before."""

_ENTRY = "entry.json"
_SKILL = "skill"

_log = logging.getLogger("registry.skill_folder")


class BinEntry(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """One removed skill.

    Args:
        id: The id of the skill.
        folder: Its folder, below the skills directory.
        removed_at: When it was removed, as `YYYY-MM-DDTHH:MM:SS.sssZ`. The bin sets it, and `size`.
        enabled: Whether it was enabled.
        size: The bytes of its files; 0 for a link.
        install: Its install record, if it was installed.
        manifest_name: How the project's manifest named it, if it did.
        manifest_entry: The entry of the manifest.
    """

    id: str
    folder: str
    removed_at: str = ""
    enabled: bool = True
    size: int = 0
    install: msgspec.Raw = msgspec.Raw()
    manifest_name: str | None = None
    manifest_entry: msgspec.Raw = msgspec.Raw()


class SkillBin:
    """The entries in `place`, of skills of a skills directory `root`.

    `days` is how long an entry is kept, 0 to keep nothing, and `clock` returns the present.
    """

    def __init__(self, place: Path, days: int, clock: Callable[[], datetime.datetime]) -> None:
        self.days = days
        self._place = place
        self._clock = clock
        self._emptied_at: datetime.datetime | None = None
        self._added = 0  # bytes since then

    @classmethod
    def configured(cls, settings: Settings, clock: Callable[[], datetime.datetime]) -> "SkillBin":
        """Return the bin that the settings describe."""
        return cls(settings.bin_dir, settings.limits.bin_days, clock)

    @contextmanager
    def removing(self, root: Path, entry: BinEntry) -> Iterator[None]:
        """Move a skill's folder to the bin; restore it if the block fails.

        Raises ValueError if the folder is outside of the skills directory, FileNotFoundError, OSError.
        """
        folder = root / entry.folder
        if not self.days:
            with removing_skill_folder(root, folder):
                yield
            return
        place = self._place / secrets.token_hex(8)
        place.mkdir(parents=True, mode=0o700)
        try:
            entry = msgspec.structs.replace(entry, removed_at=timestamp(self._clock()), size=_size(folder))
            replace_file(place / _ENTRY, msgspec.json.encode(entry), 0o600)
            sync_folder(self._place)
            with removing_skill_folder(root, folder, place / _SKILL):
                yield
        except BaseException:
            with suppress(OSError):  # a folder that could not move back stays here
                if not os.path.lexists(place / _SKILL):
                    shutil.rmtree(place)
            raise
        self._added += entry.size
        is_due = self._emptied_at is None or abs(self._clock() - self._emptied_at) >= _EMPTIED_EVERY
        if is_due or self._added >= MOST_BYTES // _EMPTIED_AFTER:
            self.empty(but=place)

    def entries(self) -> list[BinEntry]:
        """Return what can be restored, what was removed last first."""
        return [entry for _, entry in self._entries()]

    def note_manifest(self, skill_id: str, name: str, entry: bytes) -> None:
        """Remember how the manifest named a skill that was just removed. Without such an entry, nothing happens."""
        with suppress(LookupError):
            place, entry_before = self._last(skill_id)
            noted = msgspec.structs.replace(entry_before, manifest_name=name, manifest_entry=msgspec.Raw(entry))
            replace_file(place / _ENTRY, msgspec.json.encode(noted), 0o600)

    @contextmanager
    def restoring(self, root: Path, skill_id: str) -> Iterator[BinEntry]:
        """Move the skill that was removed last under an id back into its place; undo it if the block fails.

        Raises LookupError if the bin has none, FileExistsError if its place is taken, OSError.
        """
        place, entry = self._last(skill_id)
        folder = root / entry.folder
        folder.parent.mkdir(parents=True, exist_ok=True)
        with ExitStack() as undo:
            try:
                undo.enter_context(placing_skill_folder(place / _SKILL, folder))
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                copy = temporary_path(root, "restored-")
                undo.callback(shutil.rmtree, copy, ignore_errors=True)
                copy_folder(place / _SKILL, copy)
                undo.enter_context(placing_skill_folder(copy, folder))
            yield entry
        shutil.rmtree(place, ignore_errors=True)

    def empty(self, but: Path | None = None) -> None:
        """Delete the entries that are too old, and the oldest beyond `MOST_BYTES`."""
        total = 0
        self._emptied_at, self._added = self._clock(), 0
        oldest = self._clock() - datetime.timedelta(days=self.days)
        for place, entry in self._entries():
            total += entry.size
            is_old = datetime.datetime.fromisoformat(entry.removed_at) < oldest
            if place != but and (is_old or total > MOST_BYTES):
                shutil.rmtree(place, ignore_errors=True)

    def _last(self, skill_id: str) -> tuple[Path, BinEntry]:
        for place, entry in self._entries():
            if entry.id == skill_id:
                return place, entry
        raise LookupError(skill_id)

    def _entries(self) -> list[tuple[Path, BinEntry]]:
        entries = []
        for place in self._place.iterdir() if self._place.is_dir() else ():
            try:
                entry = msgspec.json.decode((place / _ENTRY).read_bytes(), type=BinEntry)
                if os.path.lexists(place / _SKILL):
                    entries.append((place, entry))
            except (OSError, msgspec.MsgspecError) as error:
                _log.debug("bin: %s is no entry: %s", place.name, error)
        return sorted(entries, key=lambda each: each[1].removed_at, reverse=True)


def _size(folder: Path) -> int:
    if folder.is_symlink():
        return 0
    return sum(os.lstat(f"{parent}/{name}").st_size for parent, _, names in os.walk(folder) for name in names)
