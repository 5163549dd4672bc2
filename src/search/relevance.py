"""Hits that are never of low relevance: their names have all words of the query, or hardly any other text has them."""

import msgspec
import numpy as np

from search.fusion import PAGE, Ranking
from search.identifiers import MARK
from search.lexical.concurrent_query import LexicalQuery
from search.lexical.schema import document_terms
from search.pages import Cards
from search.types import Described

_MOST_TERMS = 6
_FEW, _FEW_OF = 5, 20
"""How many documents with all words are few: five, and in a small catalog a twentieth."""

_MOST_NAMES = 200
"""The documents with all words whose names are read."""


def lifted(ranking: Ranking, query: LexicalQuery, cards: Cards) -> Ranking:
    """Return the ranking with weak hits as *medium* whose names have all words of the query, or words that few have.

    A query such as a word of a name or an error code is short, so its evidence is low, and yet it leaves no doubt.
    A first page without weak hits is of no such query.
    """
    terms = {term for term in query.terms if not term.startswith(MARK)}
    weak = ranking.is_weak
    if not 0 < len(terms) <= _MOST_TERMS or not weak[:PAGE].any():
        return ranking
    keys = query.reader.keys_with_terms(terms, _MOST_NAMES, query.allowed)
    if len(keys) > max(1, min(_FEW, len(query.reader) // _FEW_OF)):
        weak_cards = cards(np.intersect1d(ranking.all_keys()[weak], np.array(keys, np.int64)).tolist())
        names = {
            key: f"{msgspec.json.decode(card, type=Described).name} {skill_id}"
            for key, (skill_id, card) in weak_cards.items()
        }
        keys = [key for key, name in names.items() if terms <= set(document_terms(name))]
    return ranking.raised(keys)
