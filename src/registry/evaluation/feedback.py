"""The choices of a catalog as a labelled data set: what people asked, and which skills they chose for it."""

from collections.abc import Iterator

from registry.catalog.documents import CatalogDocuments
from registry.catalog.examples import learned_queries, query_hash
from registry.db import Database
from registry.evaluation.dataset import Dataset, DatasetError, Entry, LabelledQuery
from search.types import Document, DocumentPut

_PAGE = 1000


def chosen_skills(database: Database) -> Dataset:
    """Return the skills of a catalog, and the queries that are examples of them, with the skills that callers chose.

    The skills come without examples, because the queries are those examples: the figures are those of the search before
    it learned. Raises DatasetError if no user has chosen a skill.
    """
    queries: dict[str, LabelledQuery] = {}
    gains: dict[str, dict[str, float]] = {}
    for skill_id, texts in learned_queries(database).items():
        for text in texts:
            query = queries.setdefault(query_hash(text), LabelledQuery(query_hash(text), text))
            gains.setdefault(query.id, {})[skill_id] = 1.0
    if not queries:
        raise DatasetError("the catalog has no choices yet: clients send them to /api/v1/search/feedback")
    corpus = [
        Entry(document.id, document.name, document.description, list(document.tags), document.body)
        for document in _documents(CatalogDocuments(database))
    ]
    return Dataset("choices", corpus, list(queries.values()), dict(gains))


def _documents(catalog: CatalogDocuments) -> Iterator[Document]:
    since = 0
    while changes := catalog.document_changes(since, _PAGE):
        yield from (change.document for change in changes if isinstance(change, DocumentPut))
        since = changes[-1].revision
