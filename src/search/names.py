"""Who owns a name: which of the documents with a name have the best claim to it."""

from collections.abc import Collection, Mapping, Sequence

from search.text import fold


def best_named(
    keys: Sequence[int], cards: Mapping[int, tuple[str, bytes]], name: str, verified: Collection[int]
) -> list[int]:
    """Return those of the documents with the folded name that have the best claim to it.

    Verified documents come before others, a full id before an id without its scope, and that before a displayed
    name, which any author may choose. A document without a scope whose id is the name, and that was there before all
    verified ones of the name, is the original: it keeps its name.
    """
    taken = [key for key in keys if key in cards and key in verified and "/" in cards[key][0]]
    ranks = {
        key: (False, 0)
        if taken and key < min(taken) and fold(cards[key][0]) == name
        else _claim(cards[key][0], name, verified=key in verified)
        for key in keys
        if key in cards
    }
    best = min(ranks.values(), default=None)
    return [key for key in keys if ranks.get(key) == best]


def _claim(skill_id: str, name: str, *, verified: bool) -> tuple[bool, int]:
    """Return the rank of a document's claim to a folded name; lower is better."""
    scope, _, bare = skill_id.rpartition("/")
    kind = 0 if fold(skill_id) == name else 1 if fold(bare) == name else 2
    return not (verified and scope), kind
