"""Which text of a document is searched by words, which is embedded, and how names and queries are read."""

import hashlib
import re
from itertools import pairwise

import tantivy

from search.stop_words import STOP_WORDS
from search.types import Document

RECIPE = 3
"""Version of everything in this module: raise it when a recipe changes, so that indexes and vectors are made anew."""

BODY_CHARACTERS = 6000
QUERY_TERMS = 64


QUERY_SENTENCES = 6
_SHORTEST_SENTENCE = 3  # words

# Han, kana and hangul are written without spaces, so a run of them would be one term that nothing else matches.
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]{2,}")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|\n+")
_SEPARATORS = re.compile(r"[\s_\-]+")


def _plain_words() -> tantivy.TextAnalyzerBuilder:
    return (
        tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
        .filter(tantivy.Filter.remove_long(60))
        .filter(tantivy.Filter.lowercase())
        .filter(tantivy.Filter.ascii_fold())
    )


def document_analyzer() -> tantivy.TextAnalyzer:
    """Return the analysis of documents: lower case, no accents, English stems."""
    return _plain_words().filter(tantivy.Filter.stemmer("english")).build()


def query_analyzer() -> tantivy.TextAnalyzer:
    """Return the analysis of queries: that of documents, without stop words."""
    without = _plain_words().filter(tantivy.Filter.custom_stopword(list(STOP_WORDS)))
    return without.filter(tantivy.Filter.stemmer("english")).build()


def segmented(text: str) -> str:
    """Return a text in which writing without spaces stands as overlapping pairs of characters."""
    if text.isascii():
        return text
    return _UNSPACED.sub(lambda run: " " + " ".join(map("".join, pairwise(run[0]))) + " ", text)


def _humps(name: str) -> str:
    """Return the words of a camel-case name, nothing for any other."""
    split = _HUMP.sub(" ", name)
    return split if split != name else ""


def indexed_text(document: Document) -> str:
    """Return the words a document is found by, repeated by weight: one field keeps BM25F's meaning."""
    labels = " ".join((*document.tags, *document.capabilities))
    names = [document.name] * 3 + [_humps(document.name), document.id, _humps(document.id)]
    parts = [*names, *[document.description] * 2, *[labels] * 2, document.body[:BODY_CHARACTERS]]
    return segmented("\n".join(parts))


def embedded_text(document: Document) -> str:
    """Return the text whose vector stands for the document."""
    return f"{document.name}: {document.description}"


def text_hash(text: str) -> str:
    """Return the name of an embedded text: two documents with one hash have one vector."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def fold(name: str) -> str:
    """Return a name as names are compared: in small letters, with one space for white space, `-` and `_`."""
    return _SEPARATORS.sub(" ", name.casefold()).strip()


def joined(folded: str) -> str:
    """Return a folded name without spaces: how a name is looked for that is not there as it was written."""
    return folded.replace(" ", "")


def folded_names(document: Document) -> list[str]:
    """Return what a document is called, folded: its id without the scope, and its name."""
    names = (fold(document.id.rpartition("/")[2]), fold(document.name))
    return [name for name in dict.fromkeys(names) if name]


def sentences(query: str) -> list[str]:
    """Return the query, and its sentences where there are several: each may ask for something else.

    The best likeness of any counts. One vector of a query with several wishes is near to none of them.
    """
    parts = [part for part in _SENTENCE_END.split(query) if len(part.split()) >= _SHORTEST_SENTENCE]
    return [query, *parts[:QUERY_SENTENCES]] if len(parts) > 1 else [query]
