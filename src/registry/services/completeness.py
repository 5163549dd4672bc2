"""What an answer says about a catalog that is empty or not read yet. Clients use it too, so imports stay light."""

from collections.abc import Iterable

STARTING = "the skills directory is still being read: results may be incomplete"
EMPTY = {
    "local": "the catalog has no skills: put folders with a SKILL.md into the skills directory (--skills-dir), add a "
    "source with 'skill-registry sources add', or 'skill-registry import' a folder",
    "registry": "the catalog has no skills: 'skill-registry publish' adds one, and 'skill-registry sources add' lists "
    "those of another place",
}
"""What a search of an empty catalog says, by profile."""

_INCOMPLETE = (STARTING, "indexing: ", "degraded: ", *EMPTY.values())


def is_complete(warnings: Iterable[str]) -> bool:
    """Return whether a search saw the whole catalog by all its means, so that nothing fits if it found nothing."""
    return not any(warning.startswith(_INCOMPLETE) for warning in warnings)
