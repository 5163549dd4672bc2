"""Examples: the queries for which people chose a skill, and what search reads of them."""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from itertools import groupby, islice
from typing import Literal, NamedTuple

import msgspec

from registry.catalog.document_rows import FormerDocument, blank_document, decode_examples, put_examples
from registry.db import Database, Reader, Row, Transaction
from registry.domain.models import Skill, example_texts, timestamp
from search.types import Example

Outcome = Literal["chosen", "installed", "helped", "wrong"]

MAX_CHARACTERS = 500
"""The characters of a query that are kept."""

MAX_EXAMPLES = 20
"""The examples of a skill that search uses."""

MAX_CHOICES = 60
"""The choices that are stored for a skill. The oldest ones go first."""

AUTHOR = "author"
"""The caller of the examples that a skill brings with it, in `metadata.examples` of its front matter."""

LOCAL = "local"
"""The only caller of the local profile: a person whose own choices count in full."""

MAX_OF_AUTHOR = 6
"""The examples of a skill's author that count. The others are ignored."""

_AUTHOR_WEIGHT = 0.5  # what an author expects to be asked says less than what a user asked
_LONE_WEIGHT = 0.2  # of the choices of a registry's skill that one caller alone chose: one account buys no rank
_MAX_VOTES = 3  # callers who chose a skill for the same query and count
_HALF_LIFE = timedelta(days=180)


class Choice(msgspec.Struct, kw_only=True):
    """A stored choice: a caller said of a skill that it fits a query, or that it does not.

    `caller` is a keyed hash, or `LOCAL`.
    """

    skill_id: str
    example_id: str
    query: str
    outcome: str
    caller: str
    at: str


class NewChoice(NamedTuple):
    """A choice to store. A caller may have at most `limit` choices of one skill; the oldest ones go first."""

    key: int
    query: str
    caller: str
    outcome: Outcome
    limit: int


_CHOICES = (
    "select d.id, e.query_hash, e.query, e.outcome, e.caller, e.at from examples e join documents d on d.key = e.key"
)


class Examples:
    """Stores choices, and keeps the examples of documents in step with them."""

    def __init__(self, database: Database, clock: Callable[[], datetime], keep: timedelta) -> None:
        self._database = database
        self._clock = clock
        self._keep = keep

    def add(self, choice: NewChoice) -> None:
        """Store a choice in place of the caller's earlier one of the same skill and query."""
        query = normalized(choice.query)
        with self._database.write() as transaction:
            transaction.execute(
                "insert into examples (key, query_hash, caller, query, outcome, at) values (?, ?, ?, ?, ?, ?)"
                " on conflict (key, query_hash, caller) do update set outcome = excluded.outcome, at = excluded.at",
                (choice.key, query_hash(query), choice.caller, query, choice.outcome, timestamp(self._clock())),
            )
            self._drop_oldest(transaction, choice)
            update_examples(transaction, choice.key)

    def _drop_oldest(self, transaction: Transaction, choice: NewChoice) -> None:
        transaction.execute("delete from examples where key = ? and at < ?", (choice.key, self._oldest()))
        for condition, values, limit in (
            ("key = ? and caller = ?", (choice.key, choice.caller), choice.limit),
            ("key = ? and caller <> ?", (choice.key, AUTHOR), MAX_CHOICES),
        ):
            rows = transaction.read(
                f"select query_hash, caller from examples where {condition} order by at desc, query_hash", values
            )
            dropped = [(choice.key, *row) for row in rows[limit:]]
            transaction.execute_many("delete from examples where key = ? and query_hash = ? and caller = ?", dropped)

    def _oldest(self) -> str:
        return timestamp(self._clock() - self._keep)

    def forget_old(self) -> int:
        """Delete the choices that are too old, and return how many there were."""
        return self._delete("at < ? and caller <> ?", (self._oldest(), AUTHOR))

    def forget(self, skill_id: str | None = None, example_id: str | None = None, caller: str | None = None) -> int:
        """Delete choices: all, or those of a skill, of one query, of a caller. Return how many there were."""
        conditions, values = ["caller <> ?"], [AUTHOR]
        for condition, value in (
            ("key in (select key from documents where id = ?)", skill_id),
            ("query_hash = ?", example_id),
            ("caller = ?", caller),
        ):
            if value is not None:
                conditions.append(condition)
                values.append(value)
        return self._delete(" and ".join(conditions), values)

    def _delete(self, condition: str, values: Sequence[str]) -> int:
        with self._database.write() as transaction:
            keys = transaction.read(f"select distinct key from examples where {condition}", values)
            deleted = transaction.execute(f"delete from examples where {condition}", values)
            for (key,) in keys:
                update_examples(transaction, key)
            return deleted

    def list(self, skill_id: str | None, limit: int, offset: int) -> tuple[list[Choice], int]:
        """Return stored choices of a skill or of all, newest first, and their total number."""
        where, values = ("", ()) if skill_id is None else (" where d.id = ?", (skill_id,))
        total = self._database.read(f"select count(*) from ({_CHOICES}{where}) c", values)[0][0]
        order = " order by e.at desc, e.key, e.query_hash, e.caller limit ? offset ?"
        rows = self._database.read(f"{_CHOICES}{where}{order}", (*values, limit, offset))
        return [
            Choice(skill_id=row[0], example_id=row[1], query=row[2], outcome=row[3], caller=row[4], at=row[5])
            for row in rows
        ], int(total)


def normalized(query: str) -> str:
    """Return the part of a query that is kept, without redundant white space."""
    return " ".join(query.split())[:MAX_CHARACTERS].rstrip()


def query_hash(query: str) -> str:
    """Return the id of an example: the same for queries that differ only in case."""
    return hashlib.sha256(query.casefold().encode()).hexdigest()[:16]


def put_author_examples(
    transaction: Transaction, former: FormerDocument | None, skill: Skill, now: str
) -> FormerDocument | None:
    """Replace the examples of a skill's author by those in its metadata: a list, or a text with one on each line.

    Returns the document of the skill with its examples, for `put_document`, which comes next; None for a new skill
    without examples.
    """
    queries = _queries_of(skill.metadata.get("examples"))
    if former is None:
        if not queries:
            return None
        former = blank_document(transaction, skill.id)
    key = former.key
    sql = "select query from examples where key = ? and caller = ?"
    if queries == {query for (query,) in transaction.read(sql, (key, AUTHOR))}:
        return former
    transaction.execute("delete from examples where key = ? and caller = ?", (key, AUTHOR))
    transaction.execute_many(
        "insert into examples (key, query_hash, caller, query, outcome, at) values (?, ?, ?, ?, 'chosen', ?)",
        [(key, query_hash(query), AUTHOR, query, now) for query in queries],
    )
    return former._replace(examples=encoded_examples(transaction, key))


def _queries_of(examples: object) -> set[str]:
    """Return the first examples of an author, each query once."""
    queries = map(normalized, example_texts(examples))
    return set(islice({query_hash(query): query for query in queries if query}.values(), MAX_OF_AUTHOR))


def update_examples(transaction: Transaction, key: int) -> None:
    """Bring the examples of a document in step with its choices. A document that did not change keeps its revision."""
    encoded = encoded_examples(transaction, key)
    if transaction.read("select 1 from documents where key = ? and examples <> ?", (key, encoded)):
        put_examples(transaction, key, decode_examples(encoded))


def encoded_examples(reader: Reader, key: int) -> str:
    """Return the examples that follow from the stored choices of a document, as its column holds them."""
    sql = "select query_hash, caller, query, outcome, at from examples where key = ? order by at desc, query_hash"
    return msgspec.json.encode(examples_of(reader.read(sql, (key,)))).decode()


def learned_queries(database: Database) -> dict[str, list[str]]:
    """Return the queries for which callers chose skills, and which are examples of them, by skill id."""
    sql = (
        "select e.query_hash, e.caller, e.query, e.outcome, e.at, d.id"
        " from examples e join documents d on d.key = e.key where d.gone = 0 and e.caller <> ?"
        " order by d.id, e.at desc, e.query_hash"
    )
    by_skill = groupby(database.read(sql, (AUTHOR,)), key=lambda row: row[5])
    return {skill_id: [example.text for example in examples_of(row[:5] for row in rows)] for skill_id, rows in by_skill}


def examples_of(rows: Iterable[Row]) -> list[Example]:
    """Return the examples that follow from the choices of a skill, given newest first.

    A query counts as often as callers chose the skill for it, less those who found it wrong but one: a single caller
    cancels no choice of another. Older examples weigh less than the newest one: half after 180 days. In a registry, the
    examples of a skill that one caller alone chose weigh a fifth. Examples of the author come last.
    """
    choosers: set[str] = set()
    votes: dict[str, int] = defaultdict(int)
    wrong: dict[str, int] = defaultdict(int)
    queries: dict[str, tuple[str, str]] = {}
    authors: list[Example] = []
    for hashed, caller, query, outcome, at in rows:
        if caller == AUTHOR:
            authors.append(Example(query, _AUTHOR_WEIGHT))
            continue
        if outcome == "wrong":
            wrong[hashed] += 1
        else:
            votes[hashed] += 1
            choosers.add(caller)
            queries.setdefault(hashed, (query, at))
    left = {hashed: votes[hashed] - max(0, wrong[hashed] - 1) for hashed in queries}
    choices = [(*queries[hashed], count) for hashed, count in left.items() if count > 0]
    newest = max((at for _, at, _ in choices), default="")
    trust = 1.0 if len(choosers) > 1 or LOCAL in choosers else _LONE_WEIGHT
    learned = [Example(query, round(trust * _weight(count, at, newest), 3)) for query, at, count in choices]
    return [*learned, *authors][:MAX_EXAMPLES]


def _weight(votes: int, at: str, newest: str) -> float:
    age = datetime.fromisoformat(newest) - datetime.fromisoformat(at)
    return float(min(votes, _MAX_VOTES) * 0.5 ** (age / _HALF_LIFE))
