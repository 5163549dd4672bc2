"""The files of the index as they are to be: made from the published versions, never kept."""

from registry.config.settings import Settings
from registry.publish.index_lines import ndjson, published_line
from registry.publish.published import PublishedVersions


class IndexFiles:
    """Makes the index's file of each skill.

    Args:
        published: The versions.
        base_url: Where packages are downloaded from; without it from this service.
    """

    def __init__(self, published: PublishedVersions, base_url: str | None) -> None:
        self._published = published
        self._base_url = base_url

    @classmethod
    def configured(cls, published: PublishedVersions, settings: Settings) -> "IndexFiles":
        """Return what makes the files as the settings say."""
        url = settings.s3.blob_base_url
        return cls(published, url.reveal() if url else None)

    def download_url(self, skill_id: str, version: str) -> str:
        """Return where a version is downloaded from."""
        if self._base_url:
            return f"{self._base_url.rstrip('/')}/skills/{skill_id}-{version}.zip"
        return f"/packages/{skill_id}/{version}.zip"

    def file(self, skill_id: str) -> bytes:
        """Return a skill's file, empty where it was never published."""
        versions = self._published.versions(skill_id)
        return ndjson([published_line(one, self.download_url(skill_id, one.version)) for one in versions])
