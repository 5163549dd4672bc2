"""Counts of the values that the hits of a search have, for the filters beside them."""

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from registry.catalog.documents import CatalogDocuments
from registry.services.schemas import Facets

_KEPT = 40


class _Values(msgspec.Struct):
    source: str
    installed: bool
    tags: list[str]
    capabilities: list[str]
    findings: str | None = None


def count_facets(documents: CatalogDocuments, keys: Sequence[int]) -> Facets:
    """Return how many of these skills have each value. Tags and capabilities are compared case-folded."""
    cards = [msgspec.json.decode(card, type=_Values) for _, card in documents.cards(keys).values()]
    return Facets(
        sources=_most(card.source for card in cards),
        tags=_most(tag for card in cards for tag in {tag.casefold() for tag in card.tags}),
        capabilities=_most(one for card in cards for one in {one.casefold() for one in card.capabilities}),
        risks=_most(card.findings for card in cards if card.findings),
        installed=sum(card.installed for card in cards),
    )


def _most(values: Iterable[str]) -> list[tuple[str, int]]:
    return sorted(Counter(values).items(), key=lambda item: (-item[1], item[0]))[:_KEPT]
