"""The protocol of the readers of sources. Each type of source, but that of registries, has one."""

from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol

from registry.domain.source_entry import Listing, SourceEntry
from registry.sources.downloads import Downloads
from registry.sources.elsewhere import PluginsElsewhere
from registry.sources.marketplace import RemotePlugin
from registry.sources.plugin_reader import PluginReader


class SourceContents(NamedTuple):
    """The current listing of a source.

    Args:
        mark: Identifies this state, so that an unchanged source is not read again.
        listing: The skills and warnings.
        is_complete: Whether all is listed. Otherwise the source is soon read again, for the rest.
    """

    mark: str
    listing: Listing
    is_complete: bool = True


class SourceReader(Protocol):
    """Reads the sources of one type."""

    def read(self, source: SourceEntry, mark: str) -> SourceContents | None:
        """Return the listing of a source, or None if its state still matches `mark`.

        Raises OutboundError, UnreadableDocument, OSError.
        """
        ...


class Elsewhere:
    """Reads the plugins that a source names in other places, during one reading of the source."""

    def __init__(self, downloads: Downloads, source: SourceEntry) -> None:
        self._plugins = PluginsElsewhere(downloads.folder / source.name, PluginReader(downloads).read)
        self.is_used = False

    def __call__(self, plugins: Sequence[RemotePlugin], taken: Collection[str]) -> Listing:
        """Return what these plugins list, beside skills with the ids `taken`."""
        self.is_used = True
        return self._plugins.listing(plugins, taken)

    def contents(self, mark: str, listing: Listing) -> SourceContents:
        """Return the contents of the source. With plugins elsewhere it is read at each refresh: they may change too."""
        return SourceContents("" if self.is_used else mark, listing, self._plugins.is_complete)
