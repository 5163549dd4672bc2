"""Lists of all skills that search can find: filtered, in an order, counted by their values."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec
import numpy as np

from registry.catalog.documents import CatalogDocuments
from registry.domain.findings import RISKS
from registry.services.facets import count_facets
from registry.services.filters import allowed
from registry.services.schemas import Facets, ListSort, SearchFilters
from search.lru_cache import LruCache
from search.types import Filter, Keys

_KEPT = 8
"""Lists that are kept until the catalog changes: of other filters or orders, 8 bytes a skill."""


class _Place(msgspec.Struct):
    """What decides the place of a card."""

    id: str
    name: str
    created_at: str
    updated_at: str
    findings: str | None = None


class CardList(NamedTuple):
    """A page of encoded cards, the number of all, and their values if they were to be counted."""

    cards: list[bytes]
    total: int
    facets: Facets | None


class CatalogLists:
    """Lists skills that pass a filter. Safe to use from several threads.

    `browse` returns the keys of those that pass, with one of near-copies if they are to be grouped.
    """

    def __init__(self, documents: CatalogDocuments, browse: Callable[..., tuple[Keys, int]]) -> None:
        self._documents = documents
        self._browse = browse
        self._orders: LruCache[tuple[int, Filter, bool, ListSort | None], Keys] = LruCache(_KEPT)
        self._facets: LruCache[tuple[int, Filter, bool], Facets] = LruCache(_KEPT)

    def page(
        self, filters: SearchFilters, sort: ListSort | None, limit: int, offset: int, *, group: bool, facets: bool
    ) -> CardList:
        """Return a page of the skills that a search with these filters can find, without `sort` the oldest first."""
        wanted = allowed(filters)
        keys, revision = self._browse(wanted, groups=group)
        ordered = self._kept(self._orders, (revision, wanted, group, sort), partial(self._ordered, keys, sort))
        counts = partial(count_facets, self._documents, keys.tolist())
        shown = ordered[offset : offset + limit].tolist()
        cards = dict(self._documents.each_card(shown))
        return CardList(
            [cards[key] for key in shown if key in cards],
            len(keys),
            self._kept(self._facets, (revision, wanted, group), counts) if facets else None,
        )

    def _ordered(self, keys: Keys, sort: ListSort | None) -> Keys:
        return keys if sort is None else np.array(in_order(self._documents, sort, keys.tolist()), np.int64)

    @staticmethod
    def _kept(cache: LruCache[Any, Any], key: Any, make: Callable[[], Any]) -> Any:
        value = cache.get(key)
        if value is None:
            cache.put(key, value := make())
        return value


def in_order(documents: CatalogDocuments, sort: ListSort, keys: Sequence[int]) -> list[int]:
    """Return the keys of those of some skills that exist, in an order, those at one place in it by name."""
    places = [(key, msgspec.json.decode(card, type=_Place)) for key, card in documents.each_card(keys)]
    places.sort(key=lambda item: (item[1].name.casefold(), item[1].id))
    if sort in _VALUES:
        places.sort(key=lambda item: _VALUES[sort](item[1]), reverse=True)
    return [key for key, _ in places]


_VALUES: dict[ListSort, Callable[[_Place], Any]] = {
    "updated": lambda place: place.updated_at,
    "created": lambda place: place.created_at,
    "risk": lambda place: RISKS.index(place.findings) if place.findings in RISKS else -1,
}
"""What is compared in an order, the greatest first."""
