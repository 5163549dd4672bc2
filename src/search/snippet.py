"""A passage of a skill. This module loads no numeric library, so clients can use it too."""

from typing import Literal

import msgspec


class Snippet(msgspec.Struct, kw_only=True):
    """A passage of a skill, as plain text. `ranges` are the matched words: `[start, end)` in Unicode characters."""

    field: Literal["description", "body"]
    text: str
    ranges: list[tuple[int, int]]
