"""Keyword search by several programs over the same documents, for `keyword_engines.py`.

PostgreSQL searches in two ways. Its own full text: a `tsvector` with weights A to D for name, description, tags and
body, ranked by `ts_rank_cd` or `ts_rank`. And BM25 in SQL, over a table with a row for each term of each document,
where the terms and the repetition of fields are those of our own analyzer. Milvus has BM25 of its own.
"""

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import psycopg

from registry.evaluation.measures import DEPTH
from registry.milvus.connection import load_library
from search.lexical.schema import document_terms, query_terms
from search.text import BODY_CHARACTERS, QUERY_TERMS, indexed_text
from search.types import Document

Connection = psycopg.Connection[Any]
Search = Callable[[str], list[int]]
"""Returns the keys of the best documents for a query, best first."""

POSTINGS = 20_000
"""The search in two steps reads so many postings of the rarest terms before it leaves the others for later."""

CANDIDATES = 1000
_MILVUS_BATCH = 500
_MILVUS_BYTES = 60_000

_NORMALISATIONS = {"ts_rank_cd": (0, 1, 2, 4, 8, 16), "ts_rank": (0, 1, 2)}
_LIKE_OURS = "{0.33, 0.67, 0.67, 1}"
"""The weights of D, C, B and A in the proportions of our repetitions: body 1, tags 2, description 2, name 3."""

_DEFAULT = "{0.1, 0.2, 0.4, 1}"
_BEST_RANKS = [("ts_rank_cd", 1, _LIKE_OURS), ("ts_rank", 0, _DEFAULT)]
"""The best of each function by nDCG@10 on the set `toole`."""

_ADD_TEXT = """
insert into texts select %s, setweight(to_tsvector('english', %s), 'A') || setweight(to_tsvector('english', %s), 'B')
    || setweight(to_tsvector('english', %s), 'C') || setweight(to_tsvector('english', %s), 'D')
"""
_FULL_TEXT = """
with request as (select replace(plainto_tsquery('english', %s)::text, '&', '|')::tsquery as words)
select document from texts, request where texts.words @@ request.words
order by {function}('{weights}', texts.words, request.words, {normalisation}) desc, document limit {depth}
"""

_TERMS = """
with request as materialized (
    select id, df, sum(df) over (order by df, id) as postings,
        weight * ln(1 + ({count} - df + 0.5) / (df + 0.5)) as weight
    from unnest(%s::text[], %s::float8[]) as query (word, weight) join words using (word)
)"""
_SCORE = "sum(weight * 2.2 * tf / (tf + 1.2 * (0.25 + 0.75 * length / {mean})))"
_BM25 = (
    _TERMS
    + f"""
select document, {_SCORE} as score from request join terms on term = id
group by document order by score desc, document limit {{depth}}
"""
)
_BM25_IN_TWO_STEPS = (
    _TERMS
    + f""", candidates as materialized (
    select document, {_SCORE} as score from request join terms on term = id where postings - df < {POSTINGS}
    group by document order by score desc limit {CANDIDATES}
), others as (
    select document, {_SCORE} as score from candidates
    cross join (select id, weight from request where postings - df >= {POSTINGS}) as common
    join terms using (document) where term = id group by document
)
select document, candidates.score + coalesce(others.score, 0) as score from candidates left join others using (document)
order by score desc, document limit {{depth}}
"""
)


class Built(NamedTuple):
    """The searches of a program, the seconds to fill and index it, and the megabytes that it keeps, if known."""

    searches: dict[str, Search]
    seconds: float
    megabytes: float | None


def full_text(connection: Connection, documents: Sequence[Document], *, all_ranks: bool) -> Built:
    """Fill PostgreSQL's full text search; return it with all rankings, or the best of each function."""
    started = time.perf_counter()
    connection.execute("create unlogged table texts (document integer primary key, words tsvector not null)")
    with connection.cursor() as cursor:
        cursor.executemany(_ADD_TEXT, (_text_row(document) for document in documents))
    connection.execute("create index on texts using gin (words)")
    connection.execute("vacuum analyze texts")
    seconds = time.perf_counter() - started
    searches = {}
    for function, normalisation, weights in _all_ranks() if all_ranks else _BEST_RANKS:
        sql = _FULL_TEXT.format(function=function, weights=weights, normalisation=normalisation, depth=DEPTH)
        name = f"PostgreSQL {function}, {normalisation}{', our weights' if weights == _LIKE_OURS else ''}"
        searches[name] = _ranked(connection, sql)
    return Built(searches, seconds, _megabytes(connection, "texts"))


def _all_ranks() -> list[tuple[str, int, str]]:
    numbers = [(function, number) for function, several in _NORMALISATIONS.items() for number in several]
    return [(function, number, weights) for function, number in numbers for weights in (_DEFAULT, _LIKE_OURS)]


def _text_row(document: Document) -> tuple[Any, ...]:
    texts = (document.name, document.description, " ".join(document.tags), document.body[:BODY_CHARACTERS])
    return (document.key, *(text.replace("\0", " ") for text in texts))


def _ranked(connection: Connection, sql: str) -> Search:
    return lambda query: [row[0] for row in connection.execute(sql.encode(), (query,)).fetchall()]


def _megabytes(connection: Connection, *tables: str) -> float:
    sizes = [connection.execute("select pg_total_relation_size(%s::regclass)", (table,)).fetchall() for table in tables]
    return float(sum(rows[0][0] for rows in sizes)) / 1e6


def term_table(connection: Connection, documents: Sequence[Document]) -> Built:
    """Fill the table of terms; return BM25 over all postings, and in two steps."""
    started = time.perf_counter()
    connection.execute("create table words (id integer primary key, word text not null unique, df integer not null)")
    connection.execute("create unlogged table terms (term integer, document integer, tf smallint, length smallint)")
    ids: dict[str, int] = {}
    frequencies: Counter[int] = Counter()
    lengths = 0
    with connection.cursor() as cursor, cursor.copy("copy terms from stdin") as copy:
        for document in documents:
            counts = Counter(document_terms(indexed_text(document)))
            lengths += (length := counts.total())
            for term, count in counts.items():
                number = ids.setdefault(term, len(ids))
                frequencies[number] += 1
                copy.write_row((number, document.key, count, min(length, 32_767)))
    with connection.cursor() as cursor, cursor.copy("copy words from stdin") as copy:
        for term, number in ids.items():
            copy.write_row((number, term, frequencies[number]))
    connection.execute("create unique index on terms (term, document) include (tf, length)")
    connection.execute("vacuum analyze terms")
    connection.execute("vacuum analyze words")
    seconds = time.perf_counter() - started
    facts = {"count": len(documents), "mean": lengths / len(documents), "depth": DEPTH}
    known = {term: math.log1p(len(documents) / frequencies[number]) for term, number in ids.items()}
    searches = {
        "PostgreSQL BM25": _weighted(connection, _BM25.format(**facts), known),
        "PostgreSQL BM25, rarest terms first": _weighted(connection, _BM25_IN_TWO_STEPS.format(**facts), known),
    }
    return Built(searches, seconds, _megabytes(connection, "terms", "words"))


def _weighted(connection: Connection, sql: str, known: dict[str, float]) -> Search:
    """Return a search with at most 48 terms, those that weigh most, as ours has."""

    def search(query: str) -> list[int]:
        terms = query_terms(query)
        best = sorted(terms, key=lambda term: terms[term] * known.get(term, 0.0), reverse=True)[:QUERY_TERMS]
        rows = connection.execute(sql.encode(), (best, [terms[term] for term in best])).fetchall()
        return [row[0] for row in rows]

    return search


def milvus(uri: str, documents: Sequence[Document], *, our_terms: bool) -> Built:
    """Fill a collection of Milvus with BM25; the texts are those of our index, or the terms of our analyzer."""
    library = load_library()
    client, collection = library.MilvusClient(uri), "ours" if our_terms else "its_own"
    started = time.perf_counter()
    schema = client.create_schema()
    schema.add_field("key", library.DataType.INT64, is_primary=True)
    schema.add_field("text", library.DataType.VARCHAR, max_length=65_535, enable_analyzer=True)
    schema.add_field("weights", library.DataType.SPARSE_FLOAT_VECTOR)
    schema.add_function(library.Function("bm25", library.FunctionType.BM25, ["text"], ["weights"]))
    index = client.prepare_index_params()
    parameters = {"bm25_k1": 1.2, "bm25_b": 0.75}
    index.add_index("weights", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25", params=parameters)
    client.create_collection(collection, schema=schema, index_params=index)
    for batch in _batches(documents):
        rows = [{"key": document.key, "text": _milvus_text(document, our_terms=our_terms)} for document in batch]
        client.insert(collection, rows)
    client.flush(collection)
    client.load_collection(collection)

    def search(query: str) -> list[int]:
        text = " ".join(query_terms(query)) if our_terms else query
        [hits] = client.search(collection, data=[text], anns_field="weights", limit=DEPTH)
        return [hit["key"] for hit in hits]

    name = "Milvus Lite BM25, our terms" if our_terms else "Milvus Lite BM25, its analyzer"
    return Built({name: search}, time.perf_counter() - started, None)


def _batches(documents: Sequence[Document]) -> Iterator[Sequence[Document]]:
    return (documents[first : first + _MILVUS_BATCH] for first in range(0, len(documents), _MILVUS_BATCH))


def _milvus_text(document: Document, *, our_terms: bool) -> str:
    text = indexed_text(document)
    if our_terms:
        text = " ".join(document_terms(text))
    return text.encode()[:_MILVUS_BYTES].decode("utf-8", "ignore") or "-"
