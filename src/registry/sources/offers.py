"""Which skill of which source is meant, and how its origin is reached."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from registry.db import Database
from registry.domain.origins import GitOrigin, HttpOrigin, Origin, ZipOrigin
from registry.domain.source_entry import Listed, SourceEntry
from registry.errors import conflict, not_found, skill_not_found
from registry.sources.fetching import without_credentials


class Offer(NamedTuple):
    """A skill as a source lists it; `skill_id` is its id in search: `source/id`."""

    source: str
    listed: Listed
    skill_id: str


class Offers:
    """What the sources list, looked up by id. `entries` returns the sources there are."""

    def __init__(self, database: Database, entries: Callable[[], Sequence[SourceEntry]]) -> None:
        self._database = database
        self._entries = entries

    def find(self, skill: str, source: str | None) -> Offer:
        """Return the one skill that is meant: by its id in `source`, or in any, or by its id in search.

        Raises NOT_FOUND for a source, SKILL_NOT_FOUND, CONFLICT where several sources have it.
        """
        if source is not None and all(one.name != source for one in self._entries()):
            raise not_found(f"Source '{source}'")
        found = [one for one in self._named(skill) if source in (None, one.source)]
        if not found:
            raise skill_not_found(skill if source is None else f"{source}/{skill}")
        if len(found) > 1:
            names = ", ".join(f"'{one.skill_id}'" for one in found)
            raise conflict(f"'{skill}' is ambiguous: say which of {names}")
        return found[0]

    def _named(self, skill: str) -> list[Offer]:
        sql = (
            "select a.source, a.record, s.id from advertised a join skills s on s.key = a.key"
            " where a.id = ? or s.id = ? order by s.id"
        )
        rows = self._database.read(sql, (skill, skill))
        return [Offer(source, msgspec.json.decode(record, type=Listed), known) for source, record, known in rows]

    def of(self, source: str, listed: str) -> Offer | None:
        """Return what a source lists under an id now, None where it does not any more."""
        return next((one for one in self._named(listed) if (one.source, one.listed.id) == (source, listed)), None)

    def reachable(self, origin: Origin) -> Origin:
        """Return an origin as it can be fetched: with the credentials of the source whose URL it has."""
        if not isinstance(origin, GitOrigin | HttpOrigin | ZipOrigin):
            return origin
        for one in self._entries():
            if one.url is not None and without_credentials(one.url) == origin.url:
                return msgspec.structs.replace(origin, url=one.url)
        return origin
