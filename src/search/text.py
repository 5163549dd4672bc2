"""Which text of a document is searched by words, which is embedded, and how names and queries are read."""

import hashlib
import re
from collections.abc import Iterator, Sequence

import tantivy

from search.types import Document

RECIPE = 1
"""Version of everything in this module: raise it when a recipe changes, so that indexes and vectors are made anew."""

BODY_CHARACTERS = 6000
QUERY_TERMS = 64


def analyzer() -> tantivy.TextAnalyzer:
    """Return the analysis shared by documents and queries: lower case, no accents, English stems."""
    return (
        tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
        .filter(tantivy.Filter.remove_long(60))
        .filter(tantivy.Filter.lowercase())
        .filter(tantivy.Filter.ascii_fold())
        .filter(tantivy.Filter.stemmer("english"))
        .build()
    )


def indexed_text(document: Document) -> str:
    """Return the words a document is found by, repeated by weight: one field keeps BM25F's meaning."""
    labels = " ".join((*document.tags, *document.capabilities))
    parts = [document.name] * 3 + [document.description] * 2 + [labels] * 2 + [document.body[:BODY_CHARACTERS]]
    return "\n".join(parts)


def embedded_text(document: Document) -> str:
    """Return the text whose vector stands for the document."""
    return f"{document.name}: {document.description}"


def text_hash(text: str) -> str:
    """Return the name of an embedded text: two documents with one hash have one vector."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


_SEPARATORS = re.compile(r"[\s_\-]+")


def fold(name: str) -> str:
    """Return a name as names are compared: case, `-`, `_` and white space do not count."""
    return _SEPARATORS.sub("", name.casefold())


def folded_names(document: Document) -> Iterator[str]:
    """Yield the folded forms a document answers to: its id, the id without its scope, its name."""
    seen = set()
    for name in (document.id, document.id.rpartition("/")[2], document.name):
        folded = fold(name)
        if folded and folded not in seen:
            seen.add(folded)
            yield folded


def query_terms(terms: Sequence[str]) -> list[tuple[str, float]]:
    """Return the terms to search for, each with its weight."""
    return [(term, 1.0) for term in list(dict.fromkeys(terms))[:QUERY_TERMS]]
