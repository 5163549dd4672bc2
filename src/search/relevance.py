"""Hits that are never of low relevance: their names have all words of the query, or hardly any other text has them."""

from collections.abc import Mapping, Sequence

from search.identifiers import MARK
from search.lexical.concurrent_query import LexicalQuery
from search.lexical.schema import document_terms
from search.requests import Hit

_MOST_TERMS = 6
_FEW, _FEW_OF = 5, 20
"""How many documents with all words are few: five, and in a small catalog a twentieth."""


def lifted(hits: Sequence[Hit], query: LexicalQuery, names: Mapping[int, str]) -> list[Hit]:
    """Return the hits, those with all words of the query in their names or with words that few have as *medium*.

    A query such as a word of a name or an error code is short, so its evidence is low, and yet it leaves no doubt.
    `names` has the names of the hits by key.
    """
    terms = {term for term in query.terms if not term.startswith(MARK)}
    if not 0 < len(terms) <= _MOST_TERMS:
        return list(hits)
    few = max(1, min(_FEW, len(query.reader) // _FEW_OF))
    keys = query.reader.keys_with_terms(terms, few + 1, query.allowed)
    sure = set(keys) if len(keys) <= few else set()
    return [
        hit._replace(relevance="medium")
        if hit.relevance == "low" and (hit.key in sure or terms <= set(document_terms(f"{names[hit.key]} {hit.id}")))
        else hit
        for hit in hits
    ]
