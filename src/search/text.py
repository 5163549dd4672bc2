"""Text preparation: the indexed text and the embedded text of a document, analyzers, and folded names."""

import hashlib
import html
import re
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import unquote

import tantivy

from search.explanation import Field
from search.scripts import composed, divided_document
from search.stop_words import STOP_WORDS
from search.types import Document

INDEXING_RECIPE = 10
"""The version of `indexed_text`, the analyzers and the signatures.

Increase it with any change: keyword indexes are then rebuilt.
"""

EMBEDDING_RECIPE = 3
"""The version of `embedded_text`. Increase it with any change: every document is then embedded again."""

BODY_CHARACTERS = 6000
_EMBEDDED_TRIGGERS = 300
QUERY_TERMS = 48

QUERY_SENTENCES = 6
_END_SENTENCES = 2
"""How many of them are at the beginning of a longer query, and how many at its end."""

_MIN_SENTENCE_WORDS = 3

_CAMEL_CASE_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_CAMEL_CASE_WORD = re.compile(r"(?<![^\W_])[^\W_]*[a-z][A-Z][^\W_]*")
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|\n+")
_INVISIBLE = re.compile("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
_ENTITY = re.compile(r"&amp;|(?!(?<!\S)&[a-z0-9#]{2,4};(?!\S))&(?:apos|nbsp|quot|#39|#x27|#34);")
_DECODED = 20_000
"""The characters of a query up to which codes in it are decoded."""

_WHITE_SPACE = re.compile(r"\s")
_SEPARATORS = re.compile(r"[\s_\-]+")


def _base_analyzer() -> tantivy.TextAnalyzerBuilder:
    return (
        tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
        .filter(tantivy.Filter.remove_long(60))
        .filter(tantivy.Filter.lowercase())
        .filter(tantivy.Filter.ascii_fold())
    )


def surface_analyzer() -> tantivy.TextAnalyzer:
    """Return the analyzer of words as they are written: that of documents, without stemming."""
    return _base_analyzer().build()


def document_analyzer() -> tantivy.TextAnalyzer:
    """Return the analyzer of documents: lower case, no accents, English stemming."""
    return _base_analyzer().filter(tantivy.Filter.stemmer("english")).build()


def query_analyzer() -> tantivy.TextAnalyzer:
    """Return the analyzer of queries: that of documents, and without stop words."""
    without_stop_words = _base_analyzer().filter(tantivy.Filter.custom_stopword(sorted(STOP_WORDS)))
    return without_stop_words.filter(tantivy.Filter.stemmer("english")).build()


def camel_case_parts(text: str) -> str:
    """Return the parts of the camel-case words of a text that have three or more; `JavaScript` is a name."""
    split = (_split_camel_case(word) for word in _CAMEL_CASE_WORD.findall(text))
    return " ".join(parts for parts in split if parts.count(" ") >= 2)


def _split_camel_case(name: str) -> str:
    """Return the words of a camel-case name, or an empty string for any other name."""
    split = _CAMEL_CASE_BOUNDARY.sub(" ", name)
    return split if split != name else ""


class TextPart(NamedTuple):
    """A text of the keyword index, the field of the document that it is from, and how often it is repeated."""

    field: Field
    repetitions: int
    text: str


def text_parts(document: Document) -> list[TextPart]:
    """Return the parts of the indexed text. Repetition weights them: one field keeps the behaviour of BM25F."""
    return [
        TextPart("name", 3, document.name),
        TextPart("name", 1, _split_camel_case(document.name)),
        TextPart("id", 1, document.id),
        TextPart("id", 1, _split_camel_case(document.id)),
        TextPart("description", 2, document.description),
        TextPart("tags", 2, " ".join(document.tags)),
        TextPart("capabilities", 2, " ".join(document.capabilities)),
        TextPart("description", 2, "\n".join(document.triggers)),
        TextPart("description", 1, document.compatibility),
        TextPart("body", 1, document.body[:BODY_CHARACTERS]),
    ]


def whole_parts(document: Document) -> list[TextPart]:
    """Return the texts of a document, each once and to its end: those whose identifiers are indexed."""
    return [
        TextPart("name", 1, document.name),
        TextPart("id", 1, document.id),
        TextPart("description", 1, document.description),
        TextPart("description", 1, "\n".join(document.triggers)),
        TextPart("tags", 1, " ".join(document.tags)),
        TextPart("capabilities", 1, " ".join(document.capabilities)),
        TextPart("files", 1, document.files),
        TextPart("body", 1, document.body),
    ]


def indexed_text(document: Document) -> str:
    """Return the text of the keyword index."""
    texts = [text for _, repetitions, text in text_parts(document) for _ in range(repetitions)]
    return divided_document("\n".join(texts))


def embedded_text(document: Document) -> str:
    """Return the text from which the document's vector is made."""
    text = f"{document.name}: {document.description}"
    return f"{text} {', '.join(document.triggers)[:_EMBEDDED_TRIGGERS]}" if document.triggers else text


def text_hash(text: str) -> str:
    """Return the hash of an embedded text."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def vector_hash(document: Document) -> str:
    """Return the hash of all that a document's vector is made from. Documents with equal hashes have equal vectors."""
    examples = [f"\0{example.weight:.3f} {example.text}" for example in document.examples]
    return text_hash("".join((embedded_text(document), *examples)))


def normalized(query: str) -> str:
    """Return the query without redundant white space. Line breaks stay, because they may end sentences."""
    return "\n".join(line for part in query.splitlines() if (line := " ".join(part.split())))


def readable(query: str) -> str:
    """Return a query as its reader sees it: composed, without invisible characters and the codes of addresses and HTML.

    Copies from pages, documents and addresses have them: soft hyphens, `&amp;`, `%20`. What is nothing else stays, as
    does the code in `escape &quot; in JSON`.
    """
    read = query
    is_short = len(query) <= _DECODED  # a longer one is a paste, with the codes of its kind
    if is_short and "%20" in read and _WHITE_SPACE.search(read) is None:
        read = unquote(read.replace("%00", ""))
    read = read.replace("\r\n", "\n")
    if not read.isascii():
        read = _INVISIBLE.sub("", read)
    if is_short:  # composed, a text may be many times as long
        read = _ENTITY.sub(_character, composed(read))
    return read if read.strip() else query


def _character(entity: re.Match[str]) -> str:
    return html.unescape(entity[0])


def fold(name: str) -> str:
    """Return a name in the form in which names are compared: composed, case-folded, one space for each separator."""
    return _SEPARATORS.sub(" ", composed(name).casefold()).strip()


def remove_spaces(folded: str) -> str:
    """Return a folded name without spaces, so that `pdftools` finds `pdf tools`."""
    return folded.replace(" ", "")


def folded_names(document: Document) -> list[str]:
    """Return the folded names of a document: its id without the scope, and its name."""
    names = (fold(document.id.rpartition("/")[2]), fold(document.name))
    return [name for name in dict.fromkeys(names) if name]


class Sentences(NamedTuple):
    """The sentences of a query that are searched on their own, and what else it says, joined by blanks."""

    sentences: list[str]
    rest: str


def split_sentences(query: str) -> Sentences | None:
    """Return the sentences of a query; None if it has only one of at least three words."""
    long: list[str] = []
    short: list[str] = []
    for part in filter(None, _SENTENCE_END.split(query)):
        (long if len(part.split()) >= _MIN_SENTENCE_WORDS else short).append(part)
    if len(long) < 2:
        return None
    chosen = _telling(long)
    others = (sentence for position, sentence in enumerate(long) if position not in chosen)
    return Sentences([long[position] for position in sorted(chosen)], " ".join([*short, *others]))


def _telling(sentences: Sequence[str]) -> set[int]:
    """Return the positions of at most six sentences that are most likely to say what a query asks for.

    Instructions come before a request or after it, so the first two and the last two are among them. Of those between,
    the sentences with the fewest stop words for their length are.
    """
    count = len(sentences)
    if count <= QUERY_SENTENCES:
        return set(range(count))
    between = range(_END_SENTENCES, count - _END_SENTENCES)
    best = sorted(between, key=lambda position: _share_of_stop_words(sentences[position]))
    ends = (*range(_END_SENTENCES), *range(count - _END_SENTENCES, count))
    return {*ends, *best[: QUERY_SENTENCES - len(ends)]}


def _share_of_stop_words(sentence: str) -> float:
    words = sentence.lower().rstrip(".!?;").split()
    return sum(map(STOP_WORDS.__contains__, words)) / len(words)
