"""A blob store in a bucket of any S3-compatible service, or in a part of one."""

import datetime
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

from registry.blobs.store import BlobConflict, BlobMissing, BlobReader, BlobUnavailable
from registry.config.groups import LimitsSettings, S3Settings
from search.steps import in_step, step

_NOT_FOUND = frozenset({"404", "NoSuchKey", "NotFound"})
_EXISTS = frozenset({"PreconditionFailed", "412", "ConditionalRequestConflict", "409"})
_MAX_ATTEMPTS = 2
"""Attempts of one call. After that the publisher waits and tries again."""

_MAX_CONNECTIONS = 100
"""Connections that are kept for reuse. Downloads in progress have one each."""


class S3Store:
    """Stores blobs in one bucket, or below a prefix of it. boto3 finds the credentials in its usual places."""

    def __init__(self, s3: S3Settings, limits: LimitsSettings) -> None:
        """Create the client without calling the service. Raises BlobUnavailable without boto3."""
        try:
            import botocore.session  # noqa: PLC0415 - an extra
            from boto3 import Session  # noqa: PLC0415
            from botocore.config import Config  # noqa: PLC0415
            from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415
        except ImportError:
            raise BlobUnavailable("s3.bucket needs the extra s3: pip install 'skill-registry[s3]'") from None
        self._bucket, _, prefix = str(s3.bucket).partition("/")
        self._prefix = f"{prefix}/" if prefix else ""
        self._client_error: type[Exception] = ClientError
        self._errors = (BotoCoreError, ClientError)
        session = botocore.session.get_session()
        session.register_component("data_loader", _loader())
        self._client: Any = Session(botocore_session=session).client(
            "s3",
            region_name=s3.region,
            endpoint_url=s3.endpoint.reveal() if s3.endpoint else None,
            config=Config(
                connect_timeout=limits.s3_connect_seconds,
                read_timeout=limits.s3_read_seconds,
                max_pool_connections=_MAX_CONNECTIONS,
                retries={"total_max_attempts": _MAX_ATTEMPTS, "mode": "standard"},
                # Not all S3-compatible services know the newer checksums. `put_checked` reads the bytes back anyway.
                request_checksum_calculation="when_required",
                response_checksum_validation="when_required",
                s3={"addressing_style": "path"} if s3.endpoint else {},
            ),
        )

    @step("package store write")
    def put_new(self, key: str, source: Path) -> None:
        """Store the bytes of a file under a new key. Raises BlobConflict, BlobUnavailable."""
        with source.open("rb") as file:
            try:
                self._client.put_object(
                    Bucket=self._bucket,
                    Key=self._prefix + key,
                    Body=file,
                    IfNoneMatch="*",
                    ContentType="application/zip",
                )
            except self._errors as error:
                if self._code(error) in _EXISTS:
                    raise BlobConflict(f"another package is already stored as {key}") from None
                raise self._unavailable(error) from None

    @contextmanager
    def open(self, key: str) -> Iterator[BlobReader]:
        """Open a blob for reading. Raises BlobMissing, BlobUnavailable."""
        try:
            with in_step("package store read"):
                response = self._client.get_object(Bucket=self._bucket, Key=self._prefix + key)
        except self._errors as error:
            if self._code(error) in _NOT_FOUND:
                raise BlobMissing(key) from None
            raise self._unavailable(error) from None
        with closing(response["Body"]) as body:
            yield _Body(body, self._errors, self._unavailable)

    def exists(self, key: str) -> bool:
        """Return whether the key exists. Raises BlobUnavailable."""
        try:
            self._client.head_object(Bucket=self._bucket, Key=self._prefix + key)
        except self._errors as error:
            if self._code(error) in _NOT_FOUND:
                return False
            raise self._unavailable(error) from None
        return True

    def stored_at(self, key: str) -> datetime.datetime:
        """Return when a blob was stored, in UTC. Raises BlobMissing, BlobUnavailable."""
        try:
            stored: datetime.datetime = self._client.head_object(Bucket=self._bucket, Key=self._prefix + key)[
                "LastModified"
            ]
        except self._errors as error:
            if self._code(error) in _NOT_FOUND:
                raise BlobMissing(key) from None
            raise self._unavailable(error) from None
        return stored

    def keys(self, prefix: str) -> Iterator[str]:
        """Yield the keys that start with `prefix`, a folder such as `skills/`. Raises BlobUnavailable."""
        try:
            for page in self._client.get_paginator("list_objects_v2").paginate(
                Bucket=self._bucket, Prefix=self._prefix + prefix
            ):
                for entry in page.get("Contents", []):
                    yield str(entry["Key"]).removeprefix(self._prefix)
        except self._errors as error:
            raise self._unavailable(error) from None

    def remove(self, key: str) -> None:
        """Remove a blob, if the key exists. Raises BlobUnavailable."""
        try:
            self._client.delete_object(Bucket=self._bucket, Key=self._prefix + key)
        except self._errors as error:
            raise self._unavailable(error) from None

    def _code(self, error: Exception) -> str:
        if not isinstance(error, self._client_error):
            return ""
        response: dict[str, dict[str, str]] = getattr(error, "response", {})
        return str(response.get("Error", {}).get("Code", ""))

    def _unavailable(self, error: Exception) -> BlobUnavailable:
        reason = self._code(error) or type(error).__name__
        return BlobUnavailable(f"the package bucket (s3.bucket) cannot be used: {reason}")


@cache
def _loader() -> Any:
    """Return what reads the descriptions of services: 12 MB, which all stores of this process share."""
    from botocore.loaders import create_loader  # noqa: PLC0415 - as above

    return create_loader()


class _Body:
    """Reads a blob, and raises BlobUnavailable where that fails."""

    def __init__(
        self, body: BinaryIO, errors: tuple[type[Exception], ...], unavailable: Callable[[Exception], BlobUnavailable]
    ) -> None:
        self._body = body
        self._errors = errors
        self._unavailable = unavailable

    def read(self, size: int, /) -> bytes:
        try:
            return self._body.read(size)
        except self._errors as error:
            raise self._unavailable(error) from None
