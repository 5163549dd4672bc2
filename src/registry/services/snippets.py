"""The passages of hits: what of a skill a person reads to see why a search found it."""

from collections.abc import Sequence

import msgspec

from registry.catalog.documents import CatalogDocuments
from search.requests import Hit
from search.snippet import Snippet
from search.snippets import body_snippet, description_snippet, wanted
from search.text import normalized


class _Described(msgspec.Struct):
    description: str


def find_snippets(documents: CatalogDocuments, query: str, hits: Sequence[Hit]) -> dict[int, Snippet]:
    """Return the passage of each hit that has words of the query: of its description, else of its body."""
    terms = wanted(normalized(query))
    snippets: dict[int, Snippet] = {}
    for hit in hits:
        description = msgspec.json.decode(hit.payload, type=_Described).description
        if (snippet := description_snippet(description, terms)) is not None:
            snippets[hit.key] = snippet
    others = [hit.key for hit in hits if hit.key not in snippets and hit.matched_by != ("semantic",)]
    for key, body in documents.bodies(others).items() if others else ():
        if (snippet := body_snippet(body, terms)) is not None:
            snippets[key] = snippet
    return snippets
