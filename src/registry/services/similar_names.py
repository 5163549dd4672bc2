"""The skills whose names are like an id that does not exist."""

import difflib
from collections.abc import Iterable, Sequence

from registry.services.schemas import SearchBody, SearchFilters

_CANDIDATES = 10
_NAMED = 3
_LONGEST = 100
_LEAST_RATIO = 0.7
_SEPARATORS = str.maketrans("-_.", "   ")


def search_for_name(skill_id: str, filters: SearchFilters) -> SearchBody:
    """Return the search for candidates: for the words of an id, by words alone."""
    query = " ".join(_words(skill_id)) or skill_id[:_LONGEST]
    return SearchBody(query=query, limit=_CANDIDATES, mode="keyword", filters=filters)


def similar_ids(skill_id: str, candidates: Iterable[str]) -> Sequence[str]:
    """Return the first candidates that have a word of an id in their names, or names of nearly the same letters."""
    words = set(_words(skill_id))
    name = "".join(_words(skill_id))
    alike = [candidate for candidate in candidates if words & set(_words(candidate)) or _is_near(name, candidate)]
    return alike[:_NAMED]


def _is_near(name: str, candidate: str) -> bool:
    return difflib.SequenceMatcher(None, name, "".join(_words(candidate))).ratio() >= _LEAST_RATIO


def _words(skill_id: str) -> list[str]:
    return skill_id.rstrip("/").rpartition("/")[2][:_LONGEST].lower().translate(_SEPARATORS).split()
