"""Counts of the values that the hits of a search have, for the filters beside them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from registry.catalog.document_rows import comparable
from registry.catalog.documents import CatalogDocuments
from registry.domain.runtime_needs import Requirements
from registry.services.schemas import Facets

_KEPT = 40


class _Values(msgspec.Struct):
    source: str
    installed: bool
    tags: list[str]
    capabilities: list[str]
    author: str
    license: str | None
    findings: str | None = None
    requires: Requirements | None = None
    agents: list[str] = msgspec.field(default_factory=list)


def count_facets(documents: CatalogDocuments, keys: Sequence[int]) -> Facets:
    """Return how many of these skills have each value, as filters compare it."""
    cards = [msgspec.json.decode(card, type=_Values) for _, card in documents.each_card(keys)]
    return Facets(
        sources=_most(card.source for card in cards),
        tags=_most(tag for card in cards for tag in {tag.casefold() for tag in card.tags}),
        capabilities=_most(value for card in cards for value in {value.casefold() for value in card.capabilities}),
        authors=_most(_as_usual(card.author for card in cards)),
        licenses=_most(_as_usual(card.license or "" for card in cards)),
        risks=_most(card.findings for card in cards if card.findings),
        systems=_most(system for card in cards if card.requires for system in card.requires.os),
        agents=_most(agent for card in cards for agent in card.agents),
        installed=sum(card.installed for card in cards),
    )


def _as_usual(values: Iterable[str]) -> Iterator[str]:
    """Return each value that is not blank, in the most frequent spelling of those that are compared as equal."""
    spellings = Counter(value for value in values if value.strip())
    usual: dict[str, str] = {}
    for value, _ in sorted(spellings.items(), key=lambda item: (-item[1], item[0])):
        usual.setdefault(comparable(value), value)
    return (usual[comparable(value)] for value in spellings.elements())


def _most(values: Iterable[str]) -> list[tuple[str, int]]:
    return sorted(Counter(values).items(), key=lambda item: (-item[1], item[0]))[:_KEPT]
