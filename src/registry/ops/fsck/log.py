"""Checks the transparency log: its entries, the tree over them, and its record of every published version.

The log is evidence, so it is never repaired. Only the name under which an entry is found is derived from its text.
"""

from collections.abc import Iterable, Iterator
from functools import partial

import msgspec

from registry.database.table_roles import REBUILD
from registry.ops.fsck.drift import EVIDENCE, FORKED, Discrepancy, derived, lost
from registry.ops.fsck.parts import Parts
from registry.publish.published import LOGGED_STATES
from registry.transparency.log import LogEntry
from registry.transparency.merkle import Hash, Tree, leaf_hash

_BATCH_ROWS = 1000

Version = tuple[str, str]


class _Logged:
    """What the log records of a version: its state, and the digests of each publish entry."""

    def __init__(self) -> None:
        self.state = ""
        self.published: list[tuple[str | None, str | None]] = []


def check(parts: Parts) -> Iterator[Discrepancy]:
    """Yield faults of the entries and the tree, and differences from the published versions."""
    logged: dict[Version, _Logged] = {}
    tree = Tree()
    misnamed: list[Discrepancy] = []
    key: list[str | None] = []
    # The versions are read before the log, so that later publishing only adds entries.
    sql = "select skill_id, version, state, checksum, record from published order by skill_id, major, minor, patch"
    published = parts.database.read(sql)
    last_key = parts.database.read("select value from facts where name = 'log_key'")
    for expected, (number, text, withdraws) in enumerate(_entries(parts)):
        if number != expected:
            yield lost("log", f"entry {expected}", f"it is missing: the next one is {number}", EVIDENCE)
            return  # later positions in the tree are meaningless
        tree.append(leaf_hash(text.encode()))
        try:
            entry = msgspec.json.decode(text, type=LogEntry)
        except msgspec.DecodeError as error:
            yield lost("log", f"entry {number}", f"it cannot be read: {error}", EVIDENCE)
            continue
        _record(logged, key, entry)
        if withdraws != entry.subject:
            repair = partial(_name_subject, parts, number, entry.subject)
            problem = f"it is found as one about {withdraws}: {entry.subject}"
            misnamed.append(derived("log", f"entry {number}", problem, repair))
    altered = [*_tree(parts, tree.nodes)]
    yield from altered or misnamed  # nothing is derived from a text that the tree does not prove
    if (fork := parts.log.fork()) is not None:
        yield lost("log", "checkpoint", fork.message, FORKED)
    if last_key and (not key or key[-1] != last_key[0][0]):
        yield lost("log", "key", "the last key in the log is not the one in use", EVIDENCE)
    yield from _versions(published, logged)


def _name_subject(parts: Parts, number: int, subject: str | None) -> None:
    with parts.database.write() as transaction:
        transaction.execute("update log_entries set withdraws = ? where number = ?", (subject, number))


def _entries(parts: Parts) -> Iterator[tuple[int, str, str | None]]:
    last = -1
    sql = "select number, entry, withdraws from log_entries where number > ? order by number limit ?"
    while rows := parts.database.read(sql, (last, _BATCH_ROWS)):
        yield from rows
        last = rows[-1][0]


def _record(logged: dict[Version, _Logged], key: list[str | None], entry: LogEntry) -> None:
    if entry.kind == "key":
        key.append(entry.key)
    if entry.version is None:
        return
    version = logged.setdefault((str(entry.skill_id), str(entry.version)), _Logged())
    version.state = LOGGED_STATES[entry.kind]
    if entry.kind == "publish":
        version.published.append((entry.sha256, entry.digest))


def _tree(parts: Parts, nodes: dict[tuple[int, int], Hash]) -> Iterator[Discrepancy]:
    stored = {
        (level, position): bytes(node)
        for level, position, node in parts.database.read("select level, position, hash from log_nodes")
    }
    for level, position in sorted(nodes.keys() | stored.keys()):
        if nodes.get((level, position)) != stored.get((level, position)):
            problem = (
                "its text does not match its hash" if level == 0 else "the tree over it does not match its entries"
            )
            yield lost("log", f"entry {position << level}", problem, EVIDENCE)
            return  # the nodes above it differ too


def _versions(
    published: Iterable[tuple[str, str, str, str, str]], logged: dict[Version, _Logged]
) -> Iterator[Discrepancy]:
    for skill_id, version, state, checksum, record in published:
        thing, entry = f"{skill_id} {version}", logged.pop((skill_id, version), _Logged())
        if not entry.published:
            yield lost("log", thing, "it is published, but the log has no entry for it", EVIDENCE)
        elif len(entry.published) > 1:
            yield lost("log", thing, "the log has more than one publish entry for it", EVIDENCE)
        elif entry.published != [(checksum, _tree_digest(record))]:
            yield lost("log", thing, "its digests differ from those in the log", EVIDENCE)
        elif entry.state != state:
            yield lost("log", thing, f"it is {state}, but {entry.state} in the log", EVIDENCE)
    for skill_id, version in logged:
        yield lost(
            "log", f"{skill_id} {version}", "the log has an entry for it, but the version does not exist", REBUILD
        )


def _tree_digest(record: str) -> str | None:
    try:
        return str(msgspec.json.decode(record)["tree"])
    except (msgspec.DecodeError, KeyError, TypeError):
        return None
