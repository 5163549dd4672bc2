"""The rows of documents as `search.types.Document`."""

import json

from registry.db import Row
from search.types import Document

DOCUMENT_COLUMNS = "key, id, name, description, tags, capabilities, labels"


def document_of(row: Row, body: str = "") -> Document:
    """Return the document of a row with DOCUMENT_COLUMNS."""
    return Document(
        key=row[0],
        id=row[1],
        name=row[2],
        description=row[3],
        tags=tuple(json.loads(row[4])),
        capabilities=tuple(json.loads(row[5])),
        body=body,
        labels=tuple(json.loads(row[6])),
    )
