"""Generates the files of the index from the published versions. They are not stored."""

from registry.domain.package_urls import PackageUrls
from registry.domain.withdrawals import Withdrawn
from registry.publish.index_lines import ndjson, published_line
from registry.publish.published import PublishedVersions
from registry.publish.published_version import VersionState, VersionSummary
from search.lru_cache import LruCache

_KEPT_BYTES = 16 << 20

_Key = tuple[str, str, VersionState, Withdrawn | None]


class IndexFiles:
    """Generates the index file of a skill.

    Args:
        published: The published versions.
        urls: Where their packages are.
    """

    def __init__(self, published: PublishedVersions, urls: PackageUrls) -> None:
        self._published = published
        self._urls = urls
        self._kept: LruCache[_Key, bytes] = LruCache(_KEPT_BYTES, lambda key, line: len(line))

    def file(self, skill_id: str) -> bytes:
        """Return the index file of a skill; empty if the skill was never published."""
        summaries = self._published.summaries(skill_id)
        return b"".join(self._line(skill_id, summary) for summary in summaries)

    def _line(self, skill_id: str, summary: VersionSummary) -> bytes:
        """Return the line of a version. It is kept: its record never changes, and may be a megabyte."""
        key = (skill_id, summary.version, summary.state, summary.withdrawn)
        line = self._kept.get(key)
        if line is None:
            release = self._published.find(skill_id, summary.version)
            line = ndjson([published_line(release, self._urls.of(skill_id, summary.version), summary.withdrawn)])
            if release.state == summary.state:
                self._kept.put(key, line)
        return line
