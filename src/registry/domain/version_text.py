"""Reads versions as authors write them: `1`, `1.2`, `v1.2.3`, `2.0.0-beta.1` and dates become MAJOR.MINOR.PATCH."""

import re

DEFAULT_VERSION = "1.0.0"

_N = r"(?:0|[1-9][0-9]{0,8})"
EXACT_PATTERN = rf"{_N}\.{_N}\.{_N}"
_PARTIAL = rf"{_N}(?:\.{_N}){{0,2}}"
_COMPARISON = rf"(?:(?:[\^~]|[<>]=?) ?{_PARTIAL}|{_N}(?:\.{_N})?\.[xX*]|{EXACT_PATTERN})"
_ALL_OF = rf"{_COMPARISON}(?: ?, ?{_COMPARISON}){{0,9}}"
RANGE_PATTERN = rf"(?:latest|\*|{_ALL_OF}(?: ?\|\| ?{_ALL_OF}){{0,9}})"
"""A version or a range of versions: the one grammar wherever a range is taken (`domain.version_requirement`)."""

REQUIREMENT_PATTERN = rf"^{RANGE_PATTERN}$(?!\n)"
REPLACEMENT_PATTERN = rf"^[a-z0-9][a-z0-9_-]{{0,79}}/[a-z0-9][a-z0-9_-]{{0,79}}(?:@{RANGE_PATTERN})?$(?!\n)"

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
