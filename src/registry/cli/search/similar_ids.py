"""The ids that may be meant by an unknown id."""

from collections.abc import Iterator
from contextlib import contextmanager

from registry.cli.backend import CommandBackend, CommandFailed
from registry.services.schemas import SearchFilters
from registry.services.similar_names import search_for_name, similar_ids


@contextmanager
def naming_similar(backend: CommandBackend, skill_id: str, *, installed: bool = False) -> Iterator[None]:
    """Add the ids of skills of similar names to the error of the block, if that is an unknown id.

    `installed` leaves out skills that are not. Raises CommandFailed.
    """
    try:
        yield
    except CommandFailed as error:
        raise with_similar(backend, error, skill_id, installed=installed) from None


def with_similar(
    backend: CommandBackend, error: CommandFailed, skill_id: str, *, installed: bool = False
) -> CommandFailed:
    """Return an error with the ids of skills of similar names, if it is an unknown id."""
    if error.code != "SKILL_NOT_FOUND":
        return error
    try:
        candidates = backend.ids_for(search_for_name(skill_id, SearchFilters(installed=installed or None)))
    except CommandFailed:
        return error
    ids = similar_ids(skill_id, candidates)
    if not ids or skill_id in candidates:  # what does not exist is a version of it
        return error
    return CommandFailed(f"{error}; similar: {', '.join(ids)}", error.code)
