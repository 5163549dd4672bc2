"""Checks that every table of the database can be read in full, and agrees with its indexes."""

from collections.abc import Iterator

from registry.ops.fsck.drift import BACKUP, Discrepancy, lost
from registry.ops.fsck.parts import Parts


def check(parts: Parts) -> Iterator[Discrepancy]:
    """Yield the tables that are damaged: other checks may miss their rows."""
    for table, problem in parts.database.damaged_tables():
        yield lost("rows", f"table {table}", f"it is damaged, and rows may be lost: {problem}", BACKUP)
