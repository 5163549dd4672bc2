"""Generates the files of the index from the published versions. They are not stored."""

from registry.config.settings import Settings
from registry.publish.index_lines import ndjson, published_line
from registry.publish.published import PublishedVersions


class IndexFiles:
    """Generates the index file of a skill.

    Args:
        published: The published versions.
        base_url: The base URL of downloads; None for this service.
    """

    def __init__(self, published: PublishedVersions, base_url: str | None) -> None:
        self._published = published
        self._base_url = base_url

    @classmethod
    def configured(cls, published: PublishedVersions, settings: Settings) -> "IndexFiles":
        """Return an instance with the configured base URL."""
        url = settings.s3.blob_base_url
        return cls(published, url.reveal() if url else None)

    def download_url(self, skill_id: str, version: str) -> str:
        """Return the download URL of a version."""
        if self._base_url:
            return f"{self._base_url.rstrip('/')}/skills/{skill_id}-{version}.zip"
        return f"/packages/{skill_id}/{version}.zip"

    def file(self, skill_id: str) -> bytes:
        """Return the index file of a skill; empty if the skill was never published."""
        versions = self._published.versions(skill_id)
        return ndjson([published_line(version, self.download_url(skill_id, version.version)) for version in versions])
