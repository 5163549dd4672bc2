"""Reads what the index has recorded of a registry: the entries of its log, and the lines of its versions."""

import base64
import datetime
from collections.abc import Iterable, Iterator
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from registry.domain.counts import counted
from registry.domain.models import Version, timestamp
from registry.domain.validation import convert
from registry.errors import RegistryError
from registry.parsing.strict_json import decode
from registry.publish.git_index import GitIndex
from registry.publish.index_lines import read_lines
from registry.transparency.bundles import BundleInvalid, bundle_count, bundle_file, bundle_range, read_bundle
from registry.transparency.checkpoint import CheckpointInvalid, LogCheckpoint, Verifier, checkpoint_file
from registry.transparency.log import LogEntry
from registry.transparency.merkle import Tree, leaf_hash, root

_LINES_SHOWN = 5
_LONGEST_PUBLISH = datetime.timedelta(days=1)
"""How long before its entry in the log a version may have been published: the time is written first."""


class RebuildRefused(Exception):
    """The database is not rebuilt, and nothing was changed; the message says why and what to do."""


class Release(msgspec.Struct, frozen=True):
    """What the log says of a published version: its id, and the digests of its package and of the unpacked files."""

    skill_id: Annotated[
        str,
        Meta(
            pattern=r"^[a-z0-9][a-z0-9_-]{0,63}/[a-z0-9][a-z0-9_-]{0,63}$(?!\n)", extra={"rule": "must be scope/name"}
        ),
    ]
    version: Version
    sha256: Annotated[str, Meta(pattern=r"^sha256:[0-9a-f]{64}$(?!\n)", extra={"rule": "must be a SHA-256"})]
    digest: str

    @property
    def name(self) -> str:
        """The id and the version."""
        return f"{self.skill_id} {self.version}"


class IndexLine(msgspec.Struct, kw_only=True):
    """What is read of a line of the index."""

    vers: Version
    cksum: str | None = None
    published_at: str = ""
    size: Annotated[int, Meta(ge=0)] | None = None


class Recorded(NamedTuple):
    """A log: its checkpoint, and its entries in order, each with its text. `head` is the commit of the index."""

    checkpoint: LogCheckpoint
    entries: list[tuple[str, LogEntry]]
    head: str


def read_log(index: GitIndex, verifier: Verifier) -> Recorded:
    """Return the log in an index, after its entries were found to be those that the checkpoint signs.

    Raises RebuildRefused, GitError, OSError.
    """
    head = index.read()
    path = checkpoint_file(verifier.name)
    note = index.file(path)
    if head is None or not note:
        raise RebuildRefused(
            f"the index has no {path}: is registryIndex the index of this registry, and transparency.name its log?"
        )
    try:
        checkpoint = verifier.read(note.decode("utf-8", "replace"))
    except CheckpointInvalid as error:
        raise RebuildRefused(
            f"{path} in the index: {error} ({verifier.text}). Put back the key of the log, log.key or "
            "transparency.key, or name the public key that readers know with --log-key"
        ) from None
    texts = list(_texts(index, verifier.name, checkpoint.size))
    _check_root(texts, checkpoint)
    return Recorded(checkpoint, [(text, _entry(number, text)) for number, text in enumerate(texts)], head)


def _texts(index: GitIndex, name: str, size: int) -> Iterator[str]:
    for number in range(bundle_count(size)):
        path = bundle_file(name, number)
        content = index.file(path)
        if not content:
            raise RebuildRefused(
                f"the index has no {path}, with entries of the log: an older release wrote the index, or the file was "
                "removed. Restore a backup, or a commit of the index with the file"
            )
        try:
            yield from read_bundle(content, len(bundle_range(number, size)))
        except BundleInvalid as error:
            raise RebuildRefused(f"{path} in the index was changed: {error}. {_RESET}") from None


_RESET = "Reset the index to a commit before the change"


def _check_root(texts: Iterable[str], checkpoint: LogCheckpoint) -> None:
    tree = Tree()
    for text in texts:
        tree.append(leaf_hash(text.encode()))
    actual = root(tree.size, tree.subtree)
    if actual != checkpoint.root:
        root_here, signed = (base64.b64encode(digest).decode() for digest in (actual, checkpoint.root))
        raise RebuildRefused(
            f"the log in the index, {counted(checkpoint.size, 'entry')}, has the root {root_here}, but the checkpoint "
            f"signs {signed}: they were changed. {_RESET}"
        )


def _entry(number: int, text: str) -> LogEntry:
    try:
        entry = msgspec.json.decode(text, type=LogEntry)
        datetime.datetime.fromisoformat(entry.at)
        if entry.version is not None or entry.kind not in ("key", "deprecate", "undeprecate"):
            release_of(entry)
    except (msgspec.DecodeError, ValueError, RegistryError) as error:
        raise RebuildRefused(f"this release cannot read entry {number} of the log: {error}") from None
    return entry


def release_of(entry: LogEntry) -> Release:
    """Return the version that an entry is about. Raises VALIDATION_ERROR."""
    return convert({name: getattr(entry, name) for name in Release.__struct_fields__}, Release)


def read_skill(index: GitIndex, skill_id: str, releases: Iterable[Release]) -> dict[str, IndexLine]:
    """Return the lines of a skill in the index, by version. Raises RebuildRefused if one contradicts the log."""
    lines, skipped = read_lines(skill_id, index.file(skill_id))
    if skipped:
        reasons = "; ".join(f"line {line.number}: {line.reason}" for line in skipped[:_LINES_SHOWN])
        raise RebuildRefused(f"{skill_id} in the index has invalid lines: {len(skipped)} ({reasons}). {_RESET}")
    try:
        lines_of_index = {line.vers: decode(raw, IndexLine) for line, raw in lines}
    except RegistryError as error:
        faults = "; ".join(f"{fault.field} {fault.message}" for fault in error.details)
        raise RebuildRefused(f"{skill_id} in the index has an invalid line: {faults}. {_RESET}") from None
    for release in releases:
        line = lines_of_index.get(release.version)
        if line is not None and line.cksum != release.sha256:
            raise RebuildRefused(
                f"the index contradicts the log: {release.name} has {str(line.cksum)[:100]} in the index and "
                f"{release.sha256} in the log. {_RESET}"
            )
    return lines_of_index


def published_at(entry: LogEntry, line: IndexLine | None) -> str:
    """Return when a version was published: as its line says, if that fits the time of its entry in the log."""
    if line is None:
        return entry.at
    try:
        moment = datetime.datetime.fromisoformat(line.published_at)
        is_plain = timestamp(moment) == line.published_at
    except ValueError:
        return entry.at
    at = datetime.datetime.fromisoformat(entry.at)
    return line.published_at if is_plain and at - _LONGEST_PUBLISH <= moment <= at else entry.at
