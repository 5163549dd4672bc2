"""The mirrors of a service: one for each source of type `registry` that is to be mirrored."""

import hashlib
import shutil
import threading
from functools import partial
from pathlib import Path
from typing import NamedTuple

from registry.config.settings import Settings
from registry.domain.source_entry import SourceEntry
from registry.errors import not_found
from registry.mirrors.kept_log import LogDamaged
from registry.mirrors.listing import kept_skills
from registry.mirrors.mirror import Mirror, MirroredPackage
from registry.mirrors.mirrored_registry import MirroredRegistry
from registry.mirrors.space import Space
from registry.mirrors.transfer import Progress, TransferRefused, take
from registry.sources.log_monitor import LogRefused
from registry.sources.remote_registry import RemoteRegistry
from registry.sources.service import Sources


class Imported(NamedTuple):
    """What an import has kept, as Carried, and how many skills the source lists of it."""

    entries: int
    skills: int
    packages: int
    bytes: int
    listed: int


FOLDER = "mirrored"
"""The folder of the data directory."""


class Mirrors:
    """Finds the mirrors by the names of their sources, and hears of each registry that the sources have read."""

    def __init__(self, settings: Settings, sources: Sources) -> None:
        self._folder = settings.data_dir / FOLDER
        self._space = Space(self._folder, settings.limits.mirror_bytes)
        self._sources = sources
        sources.told, sources.settled = self.heard, self.tidy
        sources.mirrored = lambda source: MirroredRegistry(self._at(source))
        sources.unkept = lambda source: self._at(source).problem() if source.mirror else None
        self._mirrors: dict[SourceEntry, Mirror] = {}
        self._lock = threading.Lock()

    def of(self, name: str) -> Mirror:
        """Return the mirror of a source. Raises NOT_FOUND."""
        return self._at(self._source(name))

    def has(self, name: str) -> bool:
        """Return whether a source is mirrored."""
        return self._find(name) is not None

    def _find(self, name: str) -> SourceEntry | None:
        return next((source for source in self._sources.entries() if source.name == name and source.mirror), None)

    def _source(self, name: str) -> SourceEntry:
        source = self._find(name)
        if source is None:
            raise not_found(f"Mirror '{name[:64]}'")
        return source

    def kept(self, name: str, skill_id: str, version: str) -> MirroredPackage | None:
        """Return a package that the mirror of a source keeps, None without one. Raises CONFLICT if it is revoked."""
        source = self._find(name)
        return None if source is None else self._at(source).kept_package(skill_id, version)

    def take(self, name: str, folder: Path, key: str | None, progress: Progress) -> Imported:
        """Keep what a folder from another mirror has, as `transfer.take`, and list what can be installed then.

        Raises as that, and NOT_FOUND, OutboundError.
        """
        source = self._source(name)
        mirror = self._at(source)
        carried = take(mirror, folder, key, progress)
        try:
            listed = self._sources.file(source, kept_skills(mirror), MirroredRegistry(mirror))
        except (LogDamaged, LogRefused) as error:
            raise TransferRefused(f"all is kept, but not listed: {error}") from None
        return Imported(*carried, listed)

    def heard(self, source: SourceEntry, registry: RemoteRegistry) -> None:
        """Read what is new in the log of a registry that has just answered, if it is mirrored."""
        if source.mirror:
            self._at(source).heard(registry)

    def _at(self, source: SourceEntry) -> Mirror:
        with self._lock:
            if source not in self._mirrors:
                folder = self._folder / _folder_name(source)
                registry = partial(self._sources.open, source)
                self._mirrors[source] = Mirror(source, folder, registry, self._sources.log_monitor, self._space)
            return self._mirrors[source]

    def tidy(self) -> None:
        """Remove what was kept of sources that are no mirrors any more."""
        names = {_folder_name(source) for source in self._sources.entries() if source.mirror}
        with self._lock:
            self._mirrors = {
                source: mirror for source, mirror in self._mirrors.items() if _folder_name(source) in names
            }
        if self._folder.is_dir():
            for folder in self._folder.iterdir():
                if folder.name not in names:
                    shutil.rmtree(folder, ignore_errors=True)


def _folder_name(source: SourceEntry) -> str:
    """Return the name of the folder of a mirror: another URL has another one."""
    return f"{source.name}-{hashlib.sha256(str(source.url).encode()).hexdigest()[:16]}"
