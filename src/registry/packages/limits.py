"""How large a package may be."""

from typing import Annotated

import msgspec
from msgspec import Meta

_Positive = Annotated[int, Meta(ge=1)]


class PackageLimits(msgspec.Struct, kw_only=True, frozen=True):
    """Sizes in bytes. A ratio of unpacked to packed size is looked at only where more than `ratio_bytes` come out."""

    archive_bytes: _Positive = 25 * 1024 * 1024
    entries: _Positive = 2_000
    file_bytes: _Positive = 10 * 1024 * 1024
    total_bytes: _Positive = 50 * 1024 * 1024
    ratio: _Positive = 100
    ratio_bytes: _Positive = 8 * 1024 * 1024


DEFAULT_LIMITS = PackageLimits()
