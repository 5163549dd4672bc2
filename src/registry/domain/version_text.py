"""Reads versions as authors write them: `1`, `1.2`, `v1.2.3`, `2.0.0-beta.1` and dates become MAJOR.MINOR.PATCH."""

import re

DEFAULT_VERSION = "1.0.0"

_SEMANTIC = re.compile(r"(?:0|[1-9][0-9]{0,8})(?:\.(?:0|[1-9][0-9]{0,8})){2}")
_WRITTEN = re.compile(
    r"(?:version|ver|release|v)?[\s:.]*([0-9]{1,9})(?:[.-]([0-9]{1,9}))?(?:[.-]([0-9]{1,9}))?(?:[^0-9].*)?",
    re.IGNORECASE | re.DOTALL,
)


def version_number(text: str) -> str | None:
    """Return a version as MAJOR.MINOR.PATCH, without a prefix, leading zeros and what follows; None if it is none."""
    text = text.strip()
    if _SEMANTIC.fullmatch(text):
        return text
    written = _WRITTEN.fullmatch(text[:100])
    if written is None:
        return None
    return ".".join(str(int(part or 0)) for part in written.groups())


def is_shortened(text: str) -> bool:
    """Return whether a version is only MAJOR or MAJOR.MINOR, with or without a `v`: nothing of it is lost."""
    return re.fullmatch(r"v?[0-9]{1,9}(?:\.[0-9]{1,9}){0,2}", text.strip(), re.IGNORECASE) is not None
