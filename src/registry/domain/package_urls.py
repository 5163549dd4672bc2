"""Where the packages of published versions are downloaded."""

from typing import NamedTuple


class PackageUrls(NamedTuple):
    """Returns the download URL of each published version.

    Args:
        blob_base_url: The public URL of the package store, None if it has none.
        public_url: The URL at which others reach this service, None if it is not known.
    """

    blob_base_url: str | None
    public_url: str | None

    def of(self, skill_id: str, version: str) -> str:
        """Return the URL of a version. It is a path on this service if neither base URL is known."""
        if self.blob_base_url:
            return f"{self.blob_base_url.rstrip('/')}/skills/{skill_id}-{version}.zip"
        return f"{(self.public_url or '').rstrip('/')}/packages/{skill_id}/{version}.zip"
