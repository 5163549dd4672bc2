"""What a search reads in place of words that no skill contains. Clients use it too, so it loads no numeric library."""

from collections.abc import Iterable

import msgspec


class Correction(msgspec.Struct, kw_only=True, frozen=True):
    """A word of a query that no skill contains, and the words that were searched instead."""

    word: str
    used: list[str]


def described(corrections: Iterable[Correction]) -> str:
    """Return corrections in words, such as `kubernetes instead of kuberntes, deployment instead of deploymnt`."""
    return ", ".join(f"{' '.join(each.used)} instead of {each.word}" for each in corrections)
