"""The query parameters of the ClawHub protocol."""

from typing import Annotated

from litestar.params import QueryParameter

from registry.errors import not_found
from registry.parsing.strict_json import MAX_INTEGER

_MOST = 100

Slug = Annotated[str, QueryParameter(max_length=100, description="The name of a skill")]
OwnerHandle = Annotated[
    str, QueryParameter(name="ownerHandle", max_length=100, description="The scope of the skill; `local` without one")
]
VersionNumber = Annotated[str, QueryParameter(name="version", max_length=40, description="The number of a version")]
Tag = Annotated[str, QueryParameter(max_length=100, description="`latest`, instead of a number")]
Hash = Annotated[str, QueryParameter(name="hash", max_length=100, description="The fingerprint of the files")]
FilePath = Annotated[str, QueryParameter(name="path", max_length=1000, description="The path of a file")]
SearchText = Annotated[str, QueryParameter(name="q", description="What to look for")]
SearchMode = Annotated[str, QueryParameter(name="mode", max_length=20, description="`exact` finds the slug only")]
Prefix = Annotated[str, QueryParameter(max_length=100, description="How the slug begins")]
Cursor = Annotated[str, QueryParameter(max_length=200, description="The nextCursor of the page before")]
Most = Annotated[
    int, QueryParameter(name="limit", ge=1, le=MAX_INTEGER, description=f"How many; above {_MOST} counts as {_MOST}")
]


def at_most(limit: int) -> int:
    """Return how many to answer."""
    return min(limit, _MOST)


def number_of(version: str, tag: str) -> str | None:
    """Return the number of the version that a request names, None for the current one. Raises NOT_FOUND."""
    if tag not in ("", "latest"):
        raise not_found(f"Tag '{tag}'")
    return version or None
