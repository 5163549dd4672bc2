"""Where the packages of published versions are downloaded."""

from typing import NamedTuple


class PackageUrls(NamedTuple):
    """Returns the download URL of each published version.

    Args:
        blob_base_url: The public URL of the package store, None if it has none.
        route: The URL of this service's own download route, or only its path if the service does not know its address.
    """

    blob_base_url: str | None
    route: str

    def of(self, skill_id: str, version: str) -> str:
        """Return the URL of a version, or its path on this service."""
        if self.blob_base_url:
            return f"{self.blob_base_url.rstrip('/')}/skills/{skill_id}-{version}.zip"
        return f"{self.route}/{skill_id}/{version}.zip"
