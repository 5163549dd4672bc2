"""Finds the listed skill that a request names, and the credentials for its origin."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import msgspec

from registry.catalog.advertised import AdvertisedSkills
from registry.domain.models import Skill
from registry.domain.origins import GitOrigin, HttpOrigin, Origin, ZipOrigin
from registry.domain.repository_addresses import place_of
from registry.domain.source_entry import Listed, SourceEntry
from registry.errors import conflict, not_found, skill_not_found
from registry.sources.urls import with_user_of, without_credentials

_Origin = TypeVar("_Origin", bound=Origin)
_NAMED = 5


class Offer(NamedTuple):
    """A skill that a source lists. `skill_id` is its id in search, `source/id`."""

    source: str
    listed: Listed
    skill_id: str


class Offers:
    """Looks up listed skills by id. `entries` returns the configured and added sources."""

    def __init__(self, skills: AdvertisedSkills, entries: Callable[[], Sequence[SourceEntry]]) -> None:
        self._skills = skills
        self._entries = entries

    def find(self, skill: str, source: str | None) -> Offer:
        """Return the only skill with this id in `source`, in any source, or in search.

        Raises NOT_FOUND for the source, SKILL_NOT_FOUND, CONFLICT if several sources list the skill.
        """
        if source is not None and all(entry.name != source for entry in self._entries()):
            raise not_found(f"Source '{source}'")
        offers = [offer for offer in self._named(skill) if source in (None, offer.source)]
        if not offers and source is not None:  # by the id that search shows, such as `hub/x.chisel` for `x/chisel`
            offers = self._named(f"{source}/{skill}")
        if not offers:
            raise skill_not_found(skill if source is None else f"{source}/{skill}")
        if len(offers) > 1:
            names = ", ".join(f"'{offer.skill_id}'" for offer in offers)
            raise conflict(f"'{skill}' is ambiguous: use one of {names}")
        return offers[0]

    def _named(self, skill: str) -> list[Offer]:
        return [Offer(*offer) for offer in self._skills.named(skill)]

    def is_listed(self, skill: str) -> bool:
        """Return whether any source lists a skill with this id."""
        return bool(self._named(skill))

    def of_registry(self, url: str, skill: str) -> Offer | None:
        """Return a skill as the source for the registry at a URL lists it, None if there is no such source or skill."""
        url = url.rstrip("/")
        names = {entry.name for entry in self._entries() if entry.type == "registry" and entry.url == url}
        return next((offer for offer in self._named(skill) if offer.source in names), None)

    def current(self, source: str, listed: str) -> Offer | None:
        """Return the skill that a source currently lists with an id, None if it lists none."""
        return next(
            (offer for offer in self._named(listed) if (offer.source, offer.listed.id) == (source, listed)), None
        )

    def where_now(self, source: str, skill: Skill) -> str:
        """Return that a source lists no skill with the id of an installed one, and how to follow it."""
        removal = f"skill-registry uninstall {skill.id}"
        if all(entry.name != source for entry in self._entries()):
            address = f"skill-registry sources add {source} {skill.source_url or 'URL'}"
            return f"source '{source}' was removed: '{address}' adds it again, or '{removal}' removes the skill"
        lost = f"source '{source}' does not list it any more"
        ids = [listed.id for listed in self._skills.listed(source) if listed.name == skill.name]
        if not ids:
            return f"{lost}, and no other one of this name: it stays as it is, or '{removal}' removes it"
        return f"{lost}: {removal}, then " + " or ".join(
            f"skill-registry install {source}/{listed_id}" for listed_id in ids[:_NAMED]
        )

    def with_credentials(self, origin: _Origin) -> _Origin:
        """Return an origin with the credentials of the source that has the same URL, if any."""
        if not isinstance(origin, GitOrigin | HttpOrigin | ZipOrigin):
            return origin
        for entry in self._entries():
            if entry.url is not None and place_of(without_credentials(entry.url)) == origin.url:
                return msgspec.structs.replace(origin, url=with_user_of(entry.url, origin.url))
        return origin
