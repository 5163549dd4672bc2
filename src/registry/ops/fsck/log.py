"""The transparency log: whole, its tree that of its entries, and telling of every published version as it is.

Nothing of it is ever repaired: it is the evidence that the rest is held against.
"""

from collections.abc import Iterable, Iterator

import msgspec

from registry.ops.fsck.drift import BACKUP, EVIDENCE, Discrepancy, lost
from registry.ops.fsck.parts import Parts
from registry.transparency.log import LogEntry
from registry.transparency.merkle import Hash, Tree, leaf_hash

_A_TIME = 1000
_STATE = {"publish": "active", "unyank": "active", "yank": "yanked", "revoke": "revoked"}

Version = tuple[str, str]


class _Told:
    """What the log says of a version, and how often it says that it was published."""

    def __init__(self) -> None:
        self.state = ""
        self.published: list[tuple[str | None, str | None]] = []


def check(parts: Parts) -> Iterator[Discrepancy]:
    """Yield what is wrong with the entries, the tree over them, and between them and the published versions."""
    told: dict[Version, _Told] = {}
    tree = Tree()
    key: list[str | None] = []
    # First the versions, then the log: what is published meanwhile is told of by later entries only.
    sql = "select skill_id, version, state, checksum, record from published order by skill_id, major, minor, patch"
    published = parts.database.read(sql)
    last_key = parts.database.read("select value from facts where name = 'log_key'")
    for expected, (number, text) in enumerate(_entries(parts)):
        if number != expected:
            yield lost("log", f"entry {expected}", f"it is missing: {number} comes next", EVIDENCE)
            return  # places in the tree mean nothing from here on
        tree.append(leaf_hash(text.encode()))
        try:
            _note(told, key, msgspec.json.decode(text, type=LogEntry))
        except msgspec.DecodeError as error:
            yield lost("log", f"entry {number}", f"it cannot be read: {error}", EVIDENCE)
    yield from _tree(parts, tree.nodes)
    if last_key and (not key or key[-1] != last_key[0][0]):
        yield lost("log", "key", "the last key it tells of is not the one in use", EVIDENCE)
    yield from _versions(published, told)


def _entries(parts: Parts) -> Iterator[tuple[int, str]]:
    last = -1
    sql = "select number, entry from log_entries where number > ? order by number limit ?"
    while rows := parts.database.read(sql, (last, _A_TIME)):
        yield from rows
        last = rows[-1][0]


def _note(told: dict[Version, _Told], key: list[str | None], entry: LogEntry) -> None:
    if entry.kind == "key":
        key.append(entry.key)
        return
    version = told.setdefault((str(entry.skill_id), str(entry.version)), _Told())
    version.state = _STATE[entry.kind]
    if entry.kind == "publish":
        version.published.append((entry.sha256, entry.digest))


def _tree(parts: Parts, nodes: dict[tuple[int, int], Hash]) -> Iterator[Discrepancy]:
    stored = {
        (level, position): bytes(found)
        for level, position, found in parts.database.read("select level, position, hash from log_nodes")
    }
    for level, position in sorted(nodes.keys() | stored.keys()):
        if nodes.get((level, position)) != stored.get((level, position)):
            problem = (
                "its text is not the one that was hashed" if level == 0 else "the tree over it is not of its entries"
            )
            yield lost("log", f"entry {position << level}", problem, EVIDENCE)
            return  # whatever is above it differs too


def _versions(published: Iterable[tuple[str, str, str, str, str]], told: dict[Version, _Told]) -> Iterator[Discrepancy]:
    for skill_id, version, state, checksum, record in published:
        thing, said = f"{skill_id} {version}", told.pop((skill_id, version), _Told())
        if not said.published:
            yield lost("log", thing, "it is published, but the log does not tell of it", EVIDENCE)
        elif len(said.published) > 1:
            yield lost("log", thing, "the log tells more than once that it was published", EVIDENCE)
        elif said.published != [(checksum, _tree_digest(record))]:
            yield lost("log", thing, "the log tells of other bytes than the version has", EVIDENCE)
        elif said.state != state:
            yield lost("log", thing, f"it is {state}, and the log tells that it is {said.state}", EVIDENCE)
    for skill_id, version in told:
        yield lost("log", f"{skill_id} {version}", "the log tells of it, but there is no such version", BACKUP)


def _tree_digest(record: str) -> str | None:
    try:
        return str(msgspec.json.decode(record)["tree"])
    except (msgspec.DecodeError, KeyError, TypeError):
        return None
