"""Lists the skills of plugins that a marketplace names in other repositories and zips.

A marketplace may name hundreds. Each refresh of the source reads some of them, several at a time, within a few seconds.
What was read is kept in a file for each plugin, which is fetched again only if its commit has changed.
"""

import contextlib
import hashlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import msgspec

from registry.domain.source_entry import Listed, Listing
from registry.errors import RegistryError
from registry.outbound import OutboundError
from registry.runtime.atomic_files import replace_file
from registry.sources.marketplace import RemotePlugin, plain, slug

SECONDS = 8.0
"""How long one refresh reads plugins, before it lists what it has. The next refresh goes on."""

MAX_PLUGINS = 1_000
_AT_A_TIME = 8
_SHOWN = 3

FOLDER = "plugins"
"""The name of the folder, below that of a source, with what its plugins list."""

_log = logging.getLogger("registry.sources")


class ReadPlugin(msgspec.Struct, kw_only=True):
    """A plugin that was read: the state that was read, what it lists, and why the last try has failed, if it has."""

    state: str = ""
    skills: list[Listed] = msgspec.field(default_factory=list)
    problem: str | None = None


Read = Callable[[RemotePlugin, ReadPlugin], ReadPlugin]
"""Reads a plugin, which was read before as this. Raises OutboundError, RegistryError, ValueError, OSError."""


class PluginsElsewhere:
    """Reads the plugins of one source, and keeps what it has read below `folder`.

    Attributes:
        is_complete: Whether the last listing has all plugins.
    """

    def __init__(self, folder: Path, read: Read, seconds: float = SECONDS) -> None:
        self._folder = folder / FOLDER
        self._read = read
        self._seconds = seconds
        self.is_complete = True

    def listing(self, plugins: Sequence[RemotePlugin], taken: Collection[str] = ()) -> Listing:
        """Return the skills of these plugins, and what is to be said about the others.

        An id that is `taken`, or that several plugins have, becomes `plugin/id`.
        """
        current = {_key(plugin): plugin for plugin in plugins[:MAX_PLUGINS]}
        self._folder.mkdir(parents=True, exist_ok=True)
        for file in self._folder.iterdir():
            if file.stem not in current:
                file.unlink(missing_ok=True)
        # Those that were never read come first, so that each refresh lists more of them.
        pending = deque(sorted(current, key=lambda key: self._place(key).exists()))
        deadline = time.monotonic() + self._seconds
        threads = [
            threading.Thread(target=self._work, args=(pending, current, deadline), daemon=True)
            for _ in range(min(_AT_A_TIME, len(pending)))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        return self._listed(current, set(taken))

    def _work(self, pending: deque[str], current: dict[str, RemotePlugin], deadline: float) -> None:
        """Read plugins until none is left or the time is over. One that takes longer is kept when it is read."""
        while time.monotonic() < deadline:
            try:
                key = pending.popleft()
            except IndexError:
                return
            before = self._kept(key)
            try:
                read = self._read(current[key], before or ReadPlugin())
            except (OutboundError, RegistryError, ValueError, OSError) as error:
                read = msgspec.structs.replace(before or ReadPlugin(), problem=str(error)[:200])
            except Exception:  # a plugin of another author must not end the reading of the others
                _log.exception("the plugin %s cannot be read", current[key].plugin.name[:100])
                read = msgspec.structs.replace(before or ReadPlugin(), problem="an unexpected error; see the log")
            if read != before:
                with contextlib.suppress(OSError):  # the source was removed meanwhile, or it is read again later
                    replace_file(self._place(key), msgspec.json.encode(read), 0o600)

    def _place(self, key: str) -> Path:
        return self._folder / f"{key}.json"

    def _kept(self, key: str) -> ReadPlugin | None:
        try:
            return msgspec.json.decode(self._place(key).read_bytes(), type=ReadPlugin)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return None

    def _listed(self, current: dict[str, RemotePlugin], taken: set[str]) -> Listing:
        listing = Listing()
        without, unread, failed = [], [], []
        for key, plugin in current.items():
            name, read = plain(plugin.plugin.name, 100), self._kept(key)
            if read is None:
                unread.append(name)
                continue
            for skill in read.skills:
                is_taken = skill.id in taken and "/" not in skill.id
                skill.id = f"{slug(name)}/{skill.id}" if is_taken else skill.id
                taken.add(skill.id)
                listing.skills.append(skill)
            if read.problem is not None:
                failed.append(f"{name} ({read.problem})")
            elif not read.skills:
                without.append(name)
        self.is_complete = not unread
        listing.warnings += _counted(unread, "are not read yet, the next refresh goes on")
        listing.warnings += _counted(failed, "cannot be read")
        listing.warnings += _counted(without, "have no skills")
        return listing


def _key(plugin: RemotePlugin) -> str:
    """Return what identifies a plugin: where it is, and what its entry says of it."""
    return hashlib.sha256(msgspec.json.encode((plugin.place, plugin.plugin))).hexdigest()


def _counted(names: Sequence[str], what: str) -> list[str]:
    if not names:
        return []
    more = ", …" if len(names) > _SHOWN else ""
    return [f"{len(names)} plugins in other places {what}: {', '.join(names[:_SHOWN])}{more}"]
