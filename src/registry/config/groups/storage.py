"""Where data is stored: the database, packages and the registry index."""

from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, field

from registry.config.types import BucketPart, DatabaseUrl, HttpUrl, Seconds, Url


class DatabaseSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The database of the catalog, and the time-outs of a PostgreSQL server."""

    url: Annotated[
        DatabaseUrl | None,
        Meta(description="sqlite:///FILE or postgresql://USER@HOST/DATABASE; default: skill-registry.db in data_dir"),
    ] = None
    connect_seconds: Annotated[
        float, Meta(ge=2, le=86_400, description="timeout for connecting to the PostgreSQL server")
    ] = 5.0
    lock_seconds: Annotated[
        Seconds, Meta(description="time that a change waits for other changes before it gets 503")
    ] = 5.0
    statement_seconds: Annotated[
        Seconds, Meta(description="timeout of one statement, after which the PostgreSQL server ends it")
    ] = 10.0
    answer_seconds: Annotated[
        Seconds,
        Meta(
            description="time that the service waits for an answer of the PostgreSQL server before it closes the "
            "connection, as for a server that is stopped; greater than statement_seconds"
        ),
    ] = 15.0


class S3Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The bucket of published packages."""

    bucket: Annotated[
        BucketPart | None, Meta(description="S3 bucket of published packages, or BUCKET/PREFIX for a part of it")
    ] = None
    private_bucket: Annotated[
        BucketPart | None,
        Meta(
            description="bucket of the packages of private scopes, or BUCKET/PREFIX, that only the service can read; "
            "each scope has a prefix of its own in it; without it, they are in data_dir"
        ),
    ] = field(default=None, name="privateBucket")
    region: Annotated[str, Meta(description="region of the bucket")] = "us-east-1"
    endpoint: Annotated[HttpUrl | None, Meta(description="endpoint URL of an S3-compatible service")] = None
    blob_base_url: Annotated[HttpUrl | None, Meta(description="public base URL of published packages")] = field(
        default=None, name="blobBaseUrl"
    )


class BlobsSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The folder of published packages."""

    dir: Annotated[Path | None, Meta(description="folder of published packages, as an alternative to a bucket")] = None


class RegistryIndexSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The git repository that lists published versions."""

    url: Annotated[Url | None, Meta(description="git repository of the registry index")] = None
    branch: Annotated[str, Meta(description="branch of the registry index")] = "main"
    path: Annotated[Path | None, Meta(description="folder of the clone; default: a folder in data_dir")] = None
