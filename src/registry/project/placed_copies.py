"""The record of the copies in the folders of agents, and of the files that each had.

The files of a copy say whose it is: those of the skills directory, or those that a command has put there earlier. The
second matters where the skills directory is ahead of a copy, because a command was killed or a service has upgraded the
skill. A copy with other files was changed by hand. A record that is lost only costs that.
"""

from collections.abc import Collection, Mapping
from pathlib import Path

import msgspec

from registry.runtime.atomic_files import only_writer, replace_file


class PlacedCopies:
    """Reads and writes the record at `path`: for each copy, the digests (`tree_digest`) of what may be there."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> Mapping[str, Collection[str]]:
        """Return the digests by the paths of the copies; nothing if the record is missing or damaged."""
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=dict[str, list[str]])
        except (OSError, msgspec.MsgspecError):
            return {}

    def expect(self, copies: Mapping[Path, str]) -> None:
        """Add what is going to be written, so that it is known also if the command is killed. Raises OSError."""
        copies_before = self.read()
        self._change({str(place): [*copies_before.get(str(place), ()), digest] for place, digest in copies.items()})

    def settle(self, copies: Mapping[Path, str | None]) -> None:
        """Set what was written, None for a copy that is gone. Raises OSError."""
        self._change({str(place): [digest] if digest else [] for place, digest in copies.items()})

    def _change(self, changes: Mapping[str, list[str]]) -> None:
        if not changes:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with only_writer(self._path):
            before = self.read()
            after = {place: digests for place, digests in {**before, **changes}.items() if digests}
            if after != before:
                replace_file(self._path, msgspec.json.encode(after), 0o600)
