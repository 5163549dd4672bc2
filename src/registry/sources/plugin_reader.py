"""Reads one plugin in another repository or zip."""

import posixpath
from typing import Any

import msgspec

from registry.domain.origins import Origin, ZipOrigin, parse_origin
from registry.domain.repository_addresses import RepositoryAddress
from registry.sources.archives import top_folder
from registry.sources.downloads import Downloads
from registry.sources.elsewhere import ReadPlugin
from registry.sources.marketplace import RemotePlugin, slug
from registry.sources.tree import RECIPE, OriginOf, read_plugin
from search import integrity


class PluginReader:
    """Reads plugins without credentials: their repositories are named by the document of another author."""

    def __init__(self, downloads: Downloads) -> None:
        self._downloads = downloads

    def read(self, plugin: RemotePlugin, before: ReadPlugin) -> ReadPlugin:
        """Return what a plugin lists now; `before` is what it listed in the state that was read last.

        Raises OutboundError, RegistryError, OSError.
        """
        if isinstance(plugin.place, ZipOrigin):
            return self._read_zip(plugin, plugin.place, before)
        return self._read_repository(plugin, plugin.place, before)

    def _read_repository(self, plugin: RemotePlugin, place: RepositoryAddress, before: ReadPlugin) -> ReadPlugin:
        origin, commit = self._downloads.state(place, lambda origin: origin)
        if RECIPE + commit == before.state:
            return msgspec.structs.replace(before, problem=None)
        with self._downloads.temporary() as folder:
            # Named after the plugin, because a skill without a name is named after its folder.
            fetched = self._downloads.git.fetch(origin, folder / slug(plugin.plugin.name))
            skills = read_plugin(fetched.path, plugin.plugin, below(msgspec.to_builtins(origin)))
            return ReadPlugin(state=RECIPE + fetched.commit, skills=skills)

    def _read_zip(self, plugin: RemotePlugin, place: ZipOrigin, before: ReadPlugin) -> ReadPlugin:
        if place.sha256 is not None and before.state == RECIPE + place.sha256:
            return msgspec.structs.replace(before, problem=None)
        with self._downloads.temporary() as folder:
            self._downloads.download(place.url, folder / "archive", place.sha256)
            state = RECIPE + (place.sha256 or integrity.sha256(folder / "archive"))
            if state == before.state:
                return msgspec.structs.replace(before, problem=None)
            tree = self._downloads.unpack(folder / "archive", folder / slug(plugin.plugin.name))
            top = top_folder(tree)
            fields = msgspec.to_builtins(place) | ({"subdir": top} if top else {})
            return ReadPlugin(state=state, skills=read_plugin(tree / top, plugin.plugin, below(fields)))


def below(fields: dict[str, Any]) -> OriginOf:
    """Return the function that gives the origin of a folder below an origin, which has these fields."""
    home = str(fields.get("subdir") or "")

    def origin_of(place: str) -> Origin:
        subdir = posixpath.normpath(posixpath.join(home, place))
        rest = {name: value for name, value in fields.items() if name != "subdir"}
        return parse_origin(rest if subdir == "." else rest | {"subdir": subdir})

    return origin_of
