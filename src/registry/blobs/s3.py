"""A bucket as the store of packages, at any service that speaks S3."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from registry.blobs.store import BlobConflict, BlobMissing, BlobReader, BlobUnavailable
from registry.config.groups import LimitsSettings, S3Settings

_ABSENT = frozenset({"404", "NoSuchKey", "NotFound"})
_TAKEN = frozenset({"PreconditionFailed", "412", "ConditionalRequestConflict", "409"})
_CALLS = 2
"""How often a call is made at most; beyond that the one who publishes waits and comes again."""


class S3Store:
    """Keeps blobs in one bucket. Credentials are found where boto3 looks for them."""

    def __init__(self, s3: S3Settings, limits: LimitsSettings) -> None:
        """Prepare the client; nothing is asked of the service yet. Raises BlobUnavailable without boto3."""
        try:
            import boto3  # noqa: PLC0415 - an extra
            from botocore.config import Config  # noqa: PLC0415
            from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415
        except ImportError:
            raise BlobUnavailable("s3.bucket needs the extra s3: pip install 'skill-registry[s3]'") from None
        self._bucket = str(s3.bucket)
        self._client_error: type[Exception] = ClientError
        self._errors = (BotoCoreError, ClientError)
        self._client: Any = boto3.Session().client(
            "s3",
            region_name=s3.region,
            endpoint_url=s3.endpoint.reveal() if s3.endpoint else None,
            config=Config(
                connect_timeout=limits.s3_connect_seconds,
                read_timeout=limits.s3_read_seconds,
                retries={"total_max_attempts": _CALLS, "mode": "standard"},
                # Services other than Amazon's do not all know the newer checksums; bytes are read back anyway.
                request_checksum_calculation="when_required",
                response_checksum_validation="when_required",
                s3={"addressing_style": "path"} if s3.endpoint else {},
            ),
        )

    def put_new(self, key: str, source: Path) -> None:
        """Store the bytes of a file unless the key is taken. Raises BlobConflict, BlobUnavailable."""
        with source.open("rb") as file:
            try:
                self._client.put_object(
                    Bucket=self._bucket, Key=key, Body=file, IfNoneMatch="*", ContentType="application/zip"
                )
            except self._errors as error:
                if self._code(error) in _TAKEN:
                    raise BlobConflict(f"something is stored as {key} already") from None
                raise self._unavailable(error) from None

    @contextmanager
    def open(self, key: str) -> Iterator[BlobReader]:
        """Open what is stored. Raises BlobMissing, BlobUnavailable."""
        try:
            answer = self._client.get_object(Bucket=self._bucket, Key=key)
            with closing(answer["Body"]) as body:
                yield cast(BinaryIO, body)
        except self._errors as error:
            if self._code(error) in _ABSENT:
                raise BlobMissing(key) from None
            raise self._unavailable(error) from None

    def exists(self, key: str) -> bool:
        """Return whether anything is stored under the key. Raises BlobUnavailable."""
        try:
            self._client.head_object(Bucket=self._bucket, Key=key)
        except self._errors as error:
            if self._code(error) in _ABSENT:
                return False
            raise self._unavailable(error) from None
        return True

    def keys(self, prefix: str) -> Iterator[str]:
        """Yield the keys that begin with `prefix`, a folder such as `skills/`. Raises BlobUnavailable."""
        try:
            for page in self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=prefix):
                for found in page.get("Contents", []):
                    yield str(found["Key"])
        except self._errors as error:
            raise self._unavailable(error) from None

    def remove(self, key: str) -> None:
        """Remove what is stored under the key, if anything is. Raises BlobUnavailable."""
        try:
            self._client.delete_object(Bucket=self._bucket, Key=key)
        except self._errors as error:
            raise self._unavailable(error) from None

    def _code(self, error: Exception) -> str:
        if not isinstance(error, self._client_error):
            return ""
        response: dict[str, dict[str, str]] = getattr(error, "response", {})
        return str(response.get("Error", {}).get("Code", ""))

    def _unavailable(self, error: Exception) -> BlobUnavailable:
        reason = self._code(error) or type(error).__name__
        return BlobUnavailable(f"the bucket of packages cannot be used: {reason}")
