"""Lists of all skills that search can find: filtered, in an order, counted by their values; and an overview of them."""

import datetime
import heapq
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar, cast

import msgspec
import numpy as np

from registry.catalog.documents import CatalogDocuments
from registry.domain.findings import RISKS
from registry.domain.models import Card
from registry.domain.source_entry import LOCAL, REGISTRY
from registry.services.facets import count_facets
from registry.services.filters import allowed
from registry.services.schemas import Facets, ListSort, SearchFilters
from registry.services.usage import Usage
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
    source: str
    findings: str | None = None


_NEW = 6
_TOPICS = 24
_QUERIES = 5
_NAMES = 200
"""Names, spread over the catalog, among which queries are chosen."""

_READS_AS_A_QUERY = re.compile(r"[a-z]{3,12}(?: [a-z]{2,12}){1,3}")
_SCAN = datetime.timedelta(minutes=1)
"""A skill that is changed sooner after it was added was added twice by one scan."""


_Each = TypeVar("_Each")


class Overview(msgspec.Struct, kw_only=True):
    """What a catalog has, for a first page: the newest skills, those changed after they were added, and the most tags.

    `total` is the number of skills that a search can find. `queries` are names of some of them that read as a query.
    """

    total: int
    created: list[Card]
    updated: list[Card]
    tags: list[tuple[str, int]]
    queries: list[str]


class CardList(NamedTuple):
    """A page of encoded cards, the number of all, and their values if they were to be counted."""

    cards: list[bytes]
    total: int
    facets: Facets | None


class CatalogLists:
    """Lists skills that pass a filter. Safe to use from several threads.

    `usage` knows the uses of skills. `browse` returns the keys of those that pass, with one of near-copies if they
    are to be grouped.
    """

    def __init__(self, documents: CatalogDocuments, usage: Usage, browse: Callable[..., tuple[Keys, int]]) -> None:
        self._documents = documents
        self._usage = usage
        self._browse = browse
        self._orders: LruCache[tuple[int, Filter, bool, ListSort | None, int], Keys] = LruCache(_KEPT)
        self._facets: LruCache[tuple[int, Filter, bool], Facets] = LruCache(_KEPT)
        self._overviews: LruCache[tuple[int, int], Overview] = LruCache(1)

    def page(
        self, filters: SearchFilters, sort: ListSort | None, limit: int, offset: int, *, group: bool, facets: bool
    ) -> CardList:
        """Return a page of the skills that a search with these filters can find, without `sort` the oldest first."""
        labels = allowed(filters)
        keys, revision = self._browse(labels, groups=group)
        uses = self._usage.version if sort in ("uses", "unused") else 0
        ordered = self._kept(self._orders, (revision, labels, group, sort, uses), partial(self._ordered, keys, sort))
        page_keys = ordered[offset : offset + limit].tolist()
        cards = dict(self._documents.each_card(page_keys))
        return CardList(
            [self._usage.shown(key, cards[key]) for key in page_keys if key in cards],
            len(keys),
            self._counts(keys, (revision, labels, group)) if facets else None,
        )

    def _counts(self, keys: Keys, key: tuple[int, Filter, bool]) -> Facets:
        return self._kept(self._facets, key, lambda: count_facets(self._documents, keys.tolist()))

    def overview(self) -> Overview:
        """Return what the skills that search can find are, made once for each state of the catalog."""
        labels = allowed(SearchFilters())
        keys, revision = self._browse(labels, groups=False)
        return self._kept(
            self._overviews, (revision, self._usage.version), lambda: self._overview(keys, (revision, labels, False))
        )

    def _overview(self, keys: Keys, key: tuple[int, Filter, bool]) -> Overview:
        created = heapq.nlargest(_NEW, keys.tolist())
        places = (
            (skill_key, msgspec.json.decode(card, type=_Place))
            for skill_key, card in self._documents.each_card(keys.tolist())
        )
        changed = ((place.updated_at, skill_key) for skill_key, place in places if _is_changed(place))
        updated = [skill_key for _, skill_key in heapq.nlargest(_NEW, changed)]
        cards = self._documents.cards([*created, *updated])
        raw = [
            [
                cast("Card", msgspec.Raw(self._usage.shown(skill_key, cards[skill_key][1])))
                for skill_key in some
                if skill_key in cards
            ]
            for some in (created, updated)
        ]
        tags = self._counts(keys, key).tags[:_TOPICS]
        return Overview(total=len(keys), created=raw[0], updated=raw[1], tags=tags, queries=self._queries(keys))

    def _queries(self, keys: Keys) -> list[str]:
        """Return names of skills without findings, spread over the catalog."""
        some = _spread(keys.tolist(), _NAMES)
        places = [msgspec.json.decode(card, type=_Place) for _, card in self._documents.each_card(some)]
        names = {re.sub("[-_]+", " ", place.name.lower()).strip() for place in places if place.findings == "none"}
        return _spread(sorted(name for name in names if _READS_AS_A_QUERY.fullmatch(name)), _QUERIES)

    def _ordered(self, keys: Keys, sort: ListSort | None) -> Keys:
        return (
            keys
            if sort is None
            else np.array(in_order(self._documents, self._usage.recent, sort, keys.tolist()), np.int64)
        )

    @staticmethod
    def _kept(cache: LruCache[Any, _Each], key: Any, make: Callable[[], _Each]) -> _Each:
        value = cache.get(key)
        if value is None:
            cache.put(key, value := make())
        return value


def _is_changed(place: _Place) -> bool:
    created, updated = (datetime.datetime.fromisoformat(at) for at in (place.created_at, place.updated_at))
    return updated - created > _SCAN


def _spread(values: Sequence[_Each], count: int) -> list[_Each]:
    """Return at most this many of some values, at equal distances."""
    step = max(1, len(values) // count)
    return list(values[step // 2 :: step][:count])


def in_order(documents: CatalogDocuments, uses: Mapping[int, int], sort: ListSort, keys: Sequence[int]) -> list[int]:
    """Return the keys of those of some skills that exist, in an order, those at one place in it by name.

    `uses` are those of the last 30 days, by key.
    """
    places = [(key, msgspec.json.decode(card, type=_Place)) for key, card in documents.each_card(keys)]
    places.sort(key=lambda item: (item[1].name.casefold(), item[1].id))
    if sort in ("uses", "unused"):
        places.sort(key=lambda item: uses.get(item[0], 0), reverse=sort == "uses")
    elif sort in _VALUES:
        places.sort(key=lambda item: _VALUES[sort](item[1]), reverse=sort != "source")
    return [key for key, _ in places]


_VALUES: dict[ListSort, Callable[[_Place], Any]] = {
    "updated": lambda place: place.updated_at,
    "created": lambda place: place.created_at,
    "source": lambda place: (place.source not in (LOCAL, REGISTRY), place.source),
    "risk": lambda place: RISKS.index(place.findings) if place.findings in RISKS else -1,
}
"""What is compared in an order, the greatest first, but of sources the service's own."""
