"""The rows of documents: read as `search.types.Document`, written within the transactions of the catalog."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from registry.database.counts import DOCUMENTS, DocumentState, count_document, vectors_in, vectors_of
from registry.db import Row, Transaction
from registry.domain.file_names import printable_name
from registry.domain.models import Card
from registry.domain.runtime_needs import RuntimeNeeds
from search.text import vector_hash
from search.types import Document, Example

DOCUMENT_COLUMNS = "key, id, name, description, tags, capabilities, labels, examples, card"

ONLY_BY_PERSONS = "invocation:user"
"""The label of skills that agents do not choose by themselves."""

DEPRECATED, REVOKED = "withdrawn:deprecated", "withdrawn:revoked"
"""The labels of skills that their registry has deprecated, and of installed ones whose version it has revoked."""

ANY = "any"
"""The value of labels of skills that do not say which systems or agents they are for."""

LABEL_RECIPE = 3
"""The version of `labels`. Increase it with any new label: documents then get those that they lack."""

_FILE_CHARACTERS = 100_000
"""How much of the paths of a skill's files is stored for search: of real skills, all."""

_REFRESHED_AT_ONCE = 5000

_BLANK_COLUMNS = "gone, name, description, tags, capabilities, labels, text_hash, card"
_BLANK = "1, '', '', '[]', '[]', '[]', '', '{}'"

_CHANGED = ("number", "name", "description", "tags", "capabilities", "labels", "text_hash", "card", "examples")
_PUT = (
    f"insert into documents (id, {', '.join(_CHANGED)}, gone) values (?, {', '.join('?' * len(_CHANGED))}, 0)"
    f" on conflict (id) do update set {', '.join(f'{name} = excluded.{name}' for name in _CHANGED)}, gone = 0"
    " returning key"
)


def document_of(row: Row, body: str = "", files: str = "") -> Document:
    """Return the document of a row with DOCUMENT_COLUMNS. `files` are paths, one a line."""
    searched = msgspec.json.decode(row[8], type=_Searched)
    return Document(
        key=row[0],
        id=row[1],
        name=row[2],
        description=row[3],
        tags=tuple(json.loads(row[4])),
        capabilities=tuple(json.loads(row[5])),
        body=body,
        files=files,
        labels=tuple(json.loads(row[6])),
        examples=decode_examples(row[7]) if row[7] != "[]" else (),
        compatibility=searched.compatibility or "",
        triggers=searched.triggers,
    )


class _Searched(msgspec.Struct):
    """The fields of a card that are searched and have no column of their own."""

    compatibility: str | None = None
    triggers: tuple[str, ...] = ()


def labels(card: Card, scope: str | None) -> tuple[str, ...]:
    """Return the filter labels of a skill, each as `field:value`."""
    return (
        *(f"tag:{tag.casefold()}" for tag in card.tags),
        *(f"capability:{capability.casefold()}" for capability in card.capabilities),
        f"source:{card.source}",
        *((f"scope:{scope}",) if scope else ()),
        f"installed:{str(card.installed).lower()}",
        f"enabled:{str(card.enabled).lower()}",
        *((f"risk:{card.findings}",) if card.findings else ()),
        *((f"withdrawn:{card.withdrawn.state}",) if card.withdrawn else ()),
        *attribute_labels(card.author, card.license),
        *_needs_labels(card),
    )


def _needs_labels(needs: RuntimeNeeds) -> Iterator[str]:
    systems = needs.requires.os if needs.requires else []
    yield from (f"os:{system}" for system in systems or [ANY])
    yield from (f"agent:{agent}" for agent in needs.agents or [ANY])
    if not needs.model_invocation:
        yield ONLY_BY_PERSONS


def attribute_labels(author: str | None, licence: str | None) -> Iterator[str]:
    """Return the filter labels of an author and a licence, as far as they are given."""
    for field, value in (("author", author), ("license", licence)):
        if value and (compared := comparable(value)):
            yield f"{field}:{compared}"


def comparable(value: str) -> str:
    """Return free text as filters and counts compare it: without differences of case and white space."""
    return " ".join(value.split()).casefold()


class _Attributes(RuntimeNeeds, kw_only=True):
    author: str
    license: str | None


def add_missing_labels(transaction: Transaction) -> None:
    """Add the labels of author, licence and needs to documents that were written before there were any."""
    sql = "select key, labels, card from documents where gone = 0 and key > ? order by key limit ?"
    last = 0
    while rows := transaction.read(sql, (last, _REFRESHED_AT_ONCE)):
        last = rows[-1][0]
        for key, encoded, card in rows:
            of_card, present = msgspec.json.decode(card, type=_Attributes), json.loads(encoded)
            needed_labels = (*attribute_labels(of_card.author, of_card.license), *_needs_labels(of_card))
            missing = [label for label in needed_labels if label not in present]
            if missing:
                transaction.changes_documents = True
                transaction.execute(
                    "update documents set labels = ?, number = ? where key = ?",
                    (json.dumps([*present, *missing]), transaction.next_revision(), key),
                )


class FormerDocument(NamedTuple):
    """What the document of a skill held before a change. A deleted document keeps its key."""

    key: int
    gone: int
    text_hash: str
    examples: str


def former_document(transaction: Transaction, skill_id: str) -> FormerDocument | None:
    """Return the document of a skill that the transaction is about to change; None for a new skill."""
    rows = transaction.read("select key, gone, text_hash, examples from documents where id = ?", (skill_id,))
    return FormerDocument(*rows[0]) if rows else None


def blank_document(transaction: Transaction, skill_id: str) -> FormerDocument:
    """Create a blank document for a new skill; `put_document` comes next."""
    sql = f"insert into documents (id, number, {_BLANK_COLUMNS}) values (?, ?, {_BLANK}) returning key"
    return FormerDocument(int(transaction.read(sql, (skill_id, transaction.next_revision()))[0][0]), 1, "", "[]")


def embedded_hash(card: Card, examples: Sequence[Example]) -> str:
    """Return the hash of what the vector of a skill is made from: its card and the examples of its use."""
    document = Document(
        key=0,
        id=card.id,
        name=card.name,
        description=card.description,
        triggers=tuple(card.triggers),
        examples=tuple(examples),
    )
    return vector_hash(document)


def restore_document(transaction: Transaction, key: int, skill_id: str) -> None:
    """Create a blank document under the existing key of a skill, unless there is one; `put_document` comes next."""
    sql = f"insert into documents (key, id, number, {_BLANK_COLUMNS}) values (?, ?, ?, {_BLANK}) on conflict do nothing"
    transaction.execute(sql, (key, skill_id, transaction.next_revision()))


def put_document(
    transaction: Transaction,
    former: FormerDocument | None,
    card: Card,
    scope: str | None,
    body: str,
    files: Iterable[str] | None,
) -> tuple[int, int]:
    """Create or update the document of a skill from its card and body; return its key and the revision.

    `files` are the paths of its files, None if they stay the same.
    """
    revision = transaction.next_revision()
    transaction.changes_documents = True
    examples = decode_examples(former.examples) if former else ()
    key = former.key if former else 0
    text_hash, encode = embedded_hash(card, examples), msgspec.json.encode
    if former is None:
        transaction.count(DOCUMENTS, 1)
    else:
        count_document(transaction, key, DocumentState(former.gone, former.text_hash), DocumentState(0, text_hash))
    values = (
        card.id,
        revision,
        card.name,
        card.description,
        encode(card.tags).decode(),
        encode(card.capabilities).decode(),
        encode(labels(card, scope)).decode(),
        text_hash,
        encode(card).decode(),
        former.examples if former else "[]",
    )
    key = int(transaction.read(_PUT, values)[0][0])
    names = "" if files is None else "\n".join(map(printable_name, files))[:_FILE_CHARACTERS]
    changed = "body = excluded.body" if files is None else "body = excluded.body, files = excluded.files"
    sql = f"insert into bodies (key, body, files) values (?, ?, ?) on conflict (key) do update set {changed}"
    transaction.execute(sql, (key, body, names))
    return key, revision


def renew_document(transaction: Transaction, key: int) -> None:
    """Draw a new revision for a skill of which something has changed that its document does not contain."""
    transaction.changes_documents = True
    transaction.execute("update documents set number = ? where key = ?", (transaction.next_revision(), key))


def renew_gone(transaction: Transaction, skill_id: str) -> None:
    """Draw a new revision for a skill that is deleted already, so that those who follow it look at it again."""
    sql = "update documents set number = ? where id = ? and gone = 1"
    if transaction.read("select 1 from documents where id = ? and gone = 1", (skill_id,)):
        transaction.changes_documents = True
        transaction.execute(sql, (transaction.next_revision(), skill_id))


def remove_document(transaction: Transaction, key: int) -> int:
    """Mark a document as deleted and delete its vectors and examples; return the revision."""
    revision = transaction.next_revision()
    transaction.changes_documents = True
    for gone, text_hash in transaction.read("select gone, text_hash from documents where key = ?", (key,)):
        count_document(transaction, key, DocumentState(gone, text_hash), DocumentState(1, text_hash))
    transaction.execute(
        "update documents set gone = 1, number = ?, name = '', description = '', labels = '[]', card = '{}',"
        " examples = '[]' where key = ?",
        (revision, key),
    )
    transaction.execute("delete from bodies where key = ?", (key,))
    for space, _ in vectors_of(transaction, key):
        transaction.count(vectors_in(space), -1)
        transaction.execute("delete from vectors where space = ? and key = ?", (space, key))
    transaction.execute("delete from examples where key = ?", (key,))
    return revision


def put_examples(transaction: Transaction, key: int, examples: Sequence[Example]) -> None:
    """Replace the examples of a document. Its vector becomes stale, and searches learn of the change."""
    sql = "select card, text_hash from documents where key = ? and gone = 0"
    for card, before in transaction.read(sql, (key,)):
        revision = transaction.next_revision()
        transaction.changes_documents = True
        encoded = msgspec.json.encode(examples).decode()
        text_hash = embedded_hash(msgspec.json.decode(card, type=Card), examples)
        count_document(transaction, key, DocumentState(0, before), DocumentState(0, text_hash))
        sql = "update documents set number = ?, examples = ?, text_hash = ? where key = ?"
        transaction.execute(sql, (revision, encoded, text_hash, key))


def decode_examples(encoded: str) -> tuple[Example, ...]:
    """Return the examples in the column of a document."""
    return msgspec.json.decode(encoded, type=tuple[Example, ...])
