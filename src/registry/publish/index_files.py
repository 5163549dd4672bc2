"""Generates the files of the index from the published versions. They are not stored."""

from registry.domain.package_urls import PackageUrls
from registry.publish.index_lines import ndjson, published_line
from registry.publish.published import PublishedVersions
from registry.publish.published_version import VersionState
from search.lru_cache import LruCache

_KEPT_BYTES = 16 << 20


class IndexFiles:
    """Generates the index file of a skill.

    Args:
        published: The published versions.
        urls: Where their packages are.
    """

    def __init__(self, published: PublishedVersions, urls: PackageUrls) -> None:
        self._published = published
        self._urls = urls
        self._kept: LruCache[tuple[str, str, VersionState], bytes] = LruCache(_KEPT_BYTES, lambda key, line: len(line))

    def file(self, skill_id: str) -> bytes:
        """Return the index file of a skill; empty if the skill was never published."""
        summaries = self._published.summaries(skill_id)
        return b"".join(self._line(skill_id, one.version, one.state) for one in summaries)

    def _line(self, skill_id: str, version: str, state: VersionState) -> bytes:
        """Return the line of a version. It is kept: its record never changes, and may be a megabyte."""
        kept = self._kept.get((skill_id, version, state))
        if kept is None:
            found = self._published.find(skill_id, version)
            kept = ndjson([published_line(found, self._urls.of(skill_id, version))])
            self._kept.put((skill_id, version, found.state), kept)
        return kept
