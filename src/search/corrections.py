"""What a search reads in place of words that no skill contains. Clients use it too, so it loads no numeric library."""

import msgspec


class Correction(msgspec.Struct, kw_only=True, frozen=True):
    """A word of a query that no skill contains, and the words that were searched instead."""

    word: str
    used: list[str]
