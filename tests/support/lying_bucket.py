"""A bucket that says that it has stored what it has not, as a full or broken S3 service does."""

from collections.abc import Callable
from types import TracebackType
from typing import Any, Literal, Self, get_args

from support.s3 import BUCKET, SeaweedFS
from support.spoiling_proxy import Passed, SpoilingProxy

Lie = Literal["nothing", "half", "other bytes", "wrong ETag", "cut"]
"""What becomes of an object that was stored with status 200. A cut connection tells nothing of what was stored."""

LIES: tuple[Lie, ...] = get_args(Lie)


class LyingBucket:
    """Stands before the bucket of a real S3 service. While `lie` is set, each object that is written meets that lie.

    `then` is called after each lie, before the writer hears of it.
    """

    def __init__(self, bucket: SeaweedFS) -> None:
        self._bucket = bucket
        self.client: Any = bucket.client
        self.lie: Lie | None = None
        self.told = 0
        self.then: Callable[[], None] = lambda: None

    def __enter__(self) -> Self:
        self._proxy = SpoilingProxy(self._bucket.url, self._spoil).__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._proxy.__exit__(kind, error, trace)

    @property
    def url(self) -> str:
        """The address of the service, as its clients have it."""
        return self._proxy.url

    def flags(self) -> tuple[str, ...]:
        """Return the flags of a server that stores here."""
        return ("--s3-bucket", BUCKET, "--s3-endpoint", self.url)

    def stored(self) -> list[str]:
        """Return what is stored below `skills/`."""
        return self._bucket.stored()

    def _spoil(self, answer: Passed) -> Passed:
        if self.lie is None or answer.method != "PUT" or answer.status != 200:
            return answer
        self.told += 1
        place = {"Bucket": BUCKET, "Key": answer.path.removeprefix(f"/{BUCKET}/").partition("?")[0]}
        if self.lie == "nothing":
            self.client.delete_object(**place)
        elif self.lie in {"half", "other bytes"}:
            data = self.client.get_object(**place)["Body"].read()
            self.client.put_object(**place, Body=data[: len(data) // 2] if self.lie == "half" else data[::-1])
        self.then()
        if self.lie == "wrong ETag":
            return answer._replace(headers=answer.headers | {"Etag": '"0123456789abcdef0123456789abcdef"'})
        return answer._replace(status=0) if self.lie == "cut" else answer
