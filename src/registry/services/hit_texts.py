"""The texts of hits: their starts, or the texts as a whole as long as one answer may hold them."""

from collections.abc import Sequence

from registry.catalog.documents import CatalogDocuments
from registry.services.schemas import ContentDetail
from search.requests import Hit

PREVIEW_CHARACTERS = 500

MOST_CHARACTERS = 4 << 20
"""The characters of whole texts in one answer. A text has at most a quarter of them, so the first hits have theirs."""

_READ_AT_ONCE = 10


def find_texts(documents: CatalogDocuments, hits: Sequence[Hit], detail: ContentDetail) -> dict[int, str]:
    """Return the texts of hits by key. Of whole texts, those of the best hits, up to the first that is too much."""
    keys = [hit.key for hit in hits]
    if detail == "none" or not keys:
        return {}
    return documents.body_starts(keys, PREVIEW_CHARACTERS) if detail == "preview" else _whole(documents, keys)


def left_out(hits: Sequence[Hit], texts: dict[int, str], detail: ContentDetail) -> list[str]:
    """Return a warning if some hits lack their whole text, because all are too much for one answer."""
    if detail != "full" or len(texts) == len(hits):
        return []
    return [f"content: only the first {len(texts)} hits have it, because the texts are too large for one answer"]


def _whole(documents: CatalogDocuments, keys: Sequence[int]) -> dict[int, str]:
    texts: dict[int, str] = {}
    left = MOST_CHARACTERS
    for start in range(0, len(keys), _READ_AT_ONCE):
        some = keys[start : start + _READ_AT_ONCE]
        bodies = documents.bodies(some)
        for key in some:
            text = bodies.get(key, "")
            left -= len(text)
            if left < 0:
                return texts
            texts[key] = text
    return texts
