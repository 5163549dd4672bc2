"""What the words index keeps of a document: one weighted text, exact names, labels, and the key, as tantivy has it."""

from collections.abc import Sequence

import tantivy

from search.text import (
    QUERY_TERMS,
    document_analyzer,
    fold,
    folded_names,
    indexed_text,
    joined,
    query_analyzer,
    segmented,
)
from search.types import Document

NAME_FIELDS = ("id", "name", "joined_name")


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("key", indexed=True, fast=True)
    builder.add_text_field("text", tokenizer_name="skill", index_option="freq")
    for field in NAME_FIELDS:
        builder.add_text_field(field, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("labels", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("state", tokenizer_name="raw", index_option="basic", stored=True)
    return builder.build()


SCHEMA = _schema()
_DOCUMENT_ANALYZER = document_analyzer()
_QUERY_ANALYZER = query_analyzer()


def open_index(folder: str) -> tantivy.Index:
    """Return the index in a folder. Raises ValueError, OSError."""
    index = tantivy.Index(SCHEMA, folder)
    index.register_tokenizer("skill", _DOCUMENT_ANALYZER)
    # One that also reloads itself after a commit holds up whoever reloads it, for 100 ms at a time.
    index.config_reader("manual")
    return index


def indexed_fields(document: Document) -> dict[str, Sequence[str]]:
    """Return the values of a document that are indexed as they are, by field."""
    names = folded_names(document)
    return {
        "id": (fold(document.id),),
        "name": names,
        "joined_name": [joined(name) for name in names],
        "labels": document.labels,
    }


def tantivy_document(document: Document) -> tantivy.Document:
    """Return what tantivy indexes of a document."""
    made = tantivy.Document()
    made.add_unsigned("key", document.key)
    made.add_text("text", indexed_text(document))
    for field, values in indexed_fields(document).items():
        for value in values:
            made.add_text(field, value)
    return made


def key_query(key: int) -> tantivy.Query:
    """Return the query for the document with a key."""
    return tantivy.Query.term_query(SCHEMA, "key", key, "basic")


def has_key(searcher: tantivy.Searcher, key: int) -> bool:
    """Return whether there is a document with a key."""
    return bool(searcher.search(key_query(key), 1, count=False).hits)


def document_terms(text: str) -> list[str]:
    """Return the terms that are indexed of a text, as often as they are there."""
    return _DOCUMENT_ANALYZER.analyze(text)


def query_terms(query: str) -> list[str]:
    """Return the terms of a query as the index knows them, each once.

    Stop words are among them only where there is nothing else.
    """
    text = segmented(query)
    terms = _QUERY_ANALYZER.analyze(text) or _DOCUMENT_ANALYZER.analyze(text)
    return list(dict.fromkeys(terms))[:QUERY_TERMS]
