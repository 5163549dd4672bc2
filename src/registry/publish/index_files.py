"""Generates the files of the index from the published versions. They are not stored."""

from registry.domain.package_urls import PackageUrls
from registry.publish.index_lines import ndjson, published_line
from registry.publish.published import PublishedVersions


class IndexFiles:
    """Generates the index file of a skill.

    Args:
        published: The published versions.
        urls: Where their packages are.
    """

    def __init__(self, published: PublishedVersions, urls: PackageUrls) -> None:
        self._published = published
        self._urls = urls

    def file(self, skill_id: str) -> bytes:
        """Return the index file of a skill; empty if the skill was never published."""
        versions = self._published.versions(skill_id)
        return ndjson([published_line(version, self._urls.of(skill_id, version.version)) for version in versions])
