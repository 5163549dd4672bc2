"""The tantivy schema of the keyword index: one weighted text field, exact names, labels, key and signature."""

import math
import re
from collections import Counter
from collections.abc import Collection

import tantivy

from search.copies.likeness import SIGNATURE_WORDS, signature
from search.identifiers import first_identifiers
from search.scripts import divided
from search.text import (
    camel_case_parts,
    document_analyzer,
    fold,
    folded_names,
    indexed_text,
    query_analyzer,
    remove_spaces,
    surface_analyzer,
    text_parts,
    whole_parts,
)
from search.types import Document

NAME_FIELDS = ("id", "name", "joined_name")
SIGNATURE_FIELDS = tuple(f"signature{number}" for number in range(SIGNATURE_WORDS))
_DICTIONARY_WORD = re.compile(r"[a-z]{3,24}")


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("key", indexed=True, fast=True)
    builder.add_text_field("text", tokenizer_name="skill", index_option="freq")
    for field in SIGNATURE_FIELDS:
        builder.add_unsigned_field(field, fast=True)
    for field in NAME_FIELDS:
        builder.add_text_field(field, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("identifier", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("word", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("labels", tokenizer_name="raw", index_option="basic")
    return builder.build()


SCHEMA = _schema()
_DOCUMENT_ANALYZER = document_analyzer()
_QUERY_ANALYZER = query_analyzer()
_SURFACE_ANALYZER = surface_analyzer()


def open_index(folder: str) -> tantivy.Index:
    """Open the index in a folder, or create it. Raises ValueError, OSError."""
    index = tantivy.Index(SCHEMA, folder)
    index.register_tokenizer("skill", _DOCUMENT_ANALYZER)
    # With automatic reloading after a commit, an explicit reload would block for up to 100 ms.
    index.config_reader("manual")
    return index


def indexed_fields(document: Document) -> dict[str, Collection[str]]:
    """Return the values of a document's untokenized fields, by field name."""
    names = folded_names(document)
    return {
        "id": (fold(document.id),),
        "name": names,
        "joined_name": [remove_spaces(name) for name in names],
        "identifier": first_identifiers(part.text for part in whole_parts(document)),
        "word": _dictionary_words(document),
        "labels": document.labels,
    }


def _dictionary_words(document: Document) -> list[str]:
    """Return the words that a misspelled word may mean, as they are written: those of all texts but the body.

    Bodies are left out: they are full of words that no user means, such as names of variables, and of misspellings.
    """
    text = " ".join(part.text for part in text_parts(document) if part.field != "body")
    return sorted(filter(_DICTIONARY_WORD.fullmatch, set(_SURFACE_ANALYZER.analyze(text))))


def tantivy_document(document: Document) -> tantivy.Document:
    """Return the document in the form that tantivy indexes."""
    indexed = tantivy.Document()
    indexed.add_unsigned("key", document.key)
    indexed.add_text("text", indexed_text(document))
    for field, word in zip(SIGNATURE_FIELDS, signature(document).tolist(), strict=True):
        indexed.add_unsigned(field, word)
    for field, values in indexed_fields(document).items():
        for value in values:
            indexed.add_text(field, value)
    return indexed


def key_query(key: int) -> tantivy.Query:
    """Return a query that matches the document with this key."""
    return tantivy.Query.term_query(SCHEMA, "key", key, "basic")


def has_key(searcher: tantivy.Searcher, key: int) -> bool:
    """Return whether the index contains a document with this key."""
    return bool(searcher.search(key_query(key), 1, count=False).hits)


def document_terms(text: str) -> list[str]:
    """Return the terms of a document's text, with repetitions."""
    return _DOCUMENT_ANALYZER.analyze(text)


def query_terms(query: str) -> dict[str, float]:
    """Return the terms of a query with their weights: the square root of how often the query has the term.

    Stop words count only if the query has no other words. A camel-case word of three parts or more also has its parts.
    """
    text = divided(query)
    terms = _QUERY_ANALYZER.analyze(text) or _DOCUMENT_ANALYZER.analyze(text)
    counts = Counter(terms)
    if camel_case := camel_case_parts(text):
        counts.update([part for part in dict.fromkeys(_QUERY_ANALYZER.analyze(camel_case)) if part not in counts])
    return {term: math.sqrt(count) for term, count in counts.items()}
