"""Explains hits: the matched words, and what each signal contributes to the evidence."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from search.explanation import Explanation, Field, MatchedWord, Part, Tier
from search.fusion import Parts, Signals, evidence_parts
from search.identifiers import MARK, first_identifiers
from search.lexical.concurrent_query import LexicalQuery
from search.lexical.schema import document_terms, query_terms
from search.modes import RanMode
from search.scripts import divided, divided_document
from search.text import text_parts, whole_parts
from search.types import Document

_DIGITS = 4
_WORD = re.compile(r"\w+")


def explain(
    keys: Sequence[int], documents: Mapping[int, Document], query: LexicalQuery, signals: Signals, mode: RanMode
) -> dict[int, Explanation]:
    """Return the explanation of each hit, by key. Only documents that still exist have matched words.

    The time is that of analyzing the texts of the hits again: about a millisecond a hit with a long body.
    """
    parts, rows = evidence_parts(signals, mode), {key: row for row, key in enumerate(signals.keys.tolist())}
    words = _words_by_term(query)
    explanations = {}
    for key in keys:
        row = rows[key]
        explanation = _explanation(row, signals, parts, mode)
        if mode != "semantic" and key in documents:
            explanation.examples = _matched_examples(documents[key], query)
            if signals.bm25[row] > 0:
                scale = parts.scale / math.sqrt(signals.ceiling)
                explanation.words = _matched_words(documents[key], query, words, scale)
        explanations[key] = explanation
    return explanations


def _explanation(row: int, signals: Signals, parts: Parts, mode: RanMode) -> Explanation:
    weights: dict[Part, float] = {}
    if mode != "semantic":
        weights["words"] = round(float(parts.words[row]), _DIGITS)
        if signals.examples is not None:
            weights["examples"] = round(float(parts.examples[row]), _DIGITS)
    if mode != "keyword":
        weights["vectors"] = round(float(parts.vectors[row]), _DIGITS)
    tier: Tier = "exact_name" if signals.exact[row] else "name_prefix" if signals.prefix[row] else "evidence"
    cosine = float(signals.cosine[row])
    return Explanation(
        tier=tier,
        evidence=round(sum(weights.values()), _DIGITS),
        parts=weights,
        cosine=None if math.isnan(cosine) else round(cosine, _DIGITS),
        words=[],
    )


def _words_by_term(query: LexicalQuery) -> dict[str, str]:
    """Return the first word of the spelled query that each of its terms was made from."""
    words: dict[str, str] = {}
    for word in _WORD.findall(divided(query.spelling.words)):
        for term in document_terms(word):
            words.setdefault(term, word)
    return {term: words.get(term, term.removeprefix(MARK)) for term in query.terms}


def _matched_examples(document: Document, query: LexicalQuery) -> list[str]:
    """Return the examples that share words with the query, those with most of them first."""
    terms = set(query.terms)
    shared = {example.text: len(terms & set(query_terms(example.text))) for example in document.examples}
    return sorted((text for text, count in shared.items() if count), key=lambda text: -shared[text])


def _matched_words(
    document: Document, query: LexicalQuery, words: Mapping[str, str], scale: float
) -> list[MatchedWord]:
    """Return the words that a document contains, those that count most first."""
    fields: dict[str, dict[Field, None]] = {}
    counts: Counter[str] = Counter()
    length = 0
    for field, repetitions, text in text_parts(document):
        terms = document_terms(divided_document(text))
        length += repetitions * len(terms)
        for term in terms:
            if term in words:
                counts[term] += repetitions
                fields.setdefault(term, {})[field] = None
    if any(term.startswith(MARK) for term in words):
        for field, _, text in whole_parts(document):
            for term in words.keys() & {MARK + identifier for identifier in first_identifiers([text])}:
                counts[term] = 1
                fields.setdefault(term, {})[field] = None
    scores = query.reader.term_scores(query.terms, counts, length)
    matched = [
        MatchedWord(word=words[term], fields=list(fields[term]), weight=round(score * scale, _DIGITS))
        for term, score in scores.items()
    ]
    return sorted(matched, key=lambda match: -match.weight)
