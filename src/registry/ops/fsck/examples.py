"""Checks that the examples that search reads are those that follow from the stored choices."""

import functools
from collections.abc import Iterator

from registry.catalog.examples import encoded_examples, update_examples
from registry.ops.fsck.drift import Discrepancy, derived
from registry.ops.fsck.parts import Parts

_KEYS = (
    "select key, id, examples from documents"
    " where gone = 0 and (examples <> '[]' or key in (select key from examples)) order by key"
)


def check(parts: Parts) -> Iterator[Discrepancy]:
    """Yield skills whose examples differ from their choices."""
    for key, skill_id, examples in parts.database.read(_KEYS):
        if examples != encoded_examples(parts.database, key):
            repair = functools.partial(_update, parts, key)
            yield derived("rows", skill_id, "search reads other examples than the stored choices", repair)


def _update(parts: Parts, key: int) -> None:
    with parts.database.write() as transaction:
        update_examples(transaction, key)
