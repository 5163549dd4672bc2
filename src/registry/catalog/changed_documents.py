"""Reads the documents in the order of their changes, for programs that follow the catalog."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from registry.db import Reader
from registry.domain.models import Card


class ChangedDocument(NamedTuple):
    """A document at its latest revision. `card` is None if its skill was deleted."""

    revision: int
    key: int
    id: str
    card: Card | None


def changed_documents(reader: Reader, after: int, until: int, limit: int) -> list[ChangedDocument]:
    """Return at most `limit` documents with a revision in (`after`, `until`], the oldest change first."""
    sql = "select number, key, id, gone, card from documents where number > ? and number <= ? order by number limit ?"
    return [
        ChangedDocument(number, key, skill_id, None if gone else msgspec.json.decode(card, type=Card))
        for number, key, skill_id, gone, card in reader.read(sql, (after, until, limit))
    ]


def latest_documents(reader: Reader, after: int, before: int, limit: int) -> list[tuple[int, str]]:
    """Return revision and id of at most `limit` documents between two revisions, both excluded, the latest first."""
    sql = "select number, id from documents where number > ? and number < ? order by number desc limit ?"
    return [(number, skill_id) for number, skill_id in reader.read(sql, (after, before, limit))]


def beginnings(reader: Reader, keys: Sequence[int], characters: int) -> dict[int, str]:
    """Return the first characters of the bodies of documents, by key."""
    placeholders = ", ".join("?" * len(keys)) or "null"
    sql = f"select key, substr(body, 1, ?) from bodies where key in ({placeholders})"
    return dict(reader.read(sql, (characters, *keys)))
