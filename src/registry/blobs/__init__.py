"""Blob storage for published packages: an S3 bucket or a folder. A stored blob is never overwritten."""

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
    """Return the configured store, a bucket before a folder. Raises BlobUnavailable if none is configured or usable."""
    if settings.s3.bucket is not None:
        from registry.blobs.s3 import S3Store  # noqa: PLC0415 - boto3 is an extra, and slow to import

        return S3Store(settings.s3, settings.limits)
    if settings.blobs.dir is not None:
        return FolderStore(settings.blobs.dir)
    raise BlobUnavailable("blob storage is not configured: set s3.bucket or blobs.dir")
