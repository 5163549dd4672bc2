"""Where the bytes of published packages are kept: a bucket, or a folder. What is stored is never overwritten."""

from registry.blobs.folder import FolderStore
from registry.blobs.store import BlobConflict, BlobMissing, BlobStore, BlobUnavailable, put_checked
from registry.config.settings import Settings

__all__ = [
    "BlobConflict",
    "BlobMissing",
    "BlobStore",
    "BlobUnavailable",
    "FolderStore",
    "configured_store",
    "put_checked",
]


def configured_store(settings: Settings) -> BlobStore:
    """Return the store the settings name, a bucket before a folder. Raises BlobUnavailable where none can be had."""
    if settings.s3.bucket is not None:
        from registry.blobs.s3 import S3Store  # noqa: PLC0415 - boto3 is an extra, and slow to import

        return S3Store(settings.s3, settings.limits)
    if settings.blobs.dir is not None:
        return FolderStore(settings.blobs.dir)
    raise BlobUnavailable("blob storage is not configured: set s3.bucket or blobs.dir")
