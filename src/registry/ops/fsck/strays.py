"""Checks the packages in the store that no published version has, and collects those without any reference."""

import datetime
import functools
import hashlib
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from registry.blobs import BlobMissing, BlobStore
from registry.blobs.store import chunks
from registry.db import Database, Transaction
from registry.ops.fsck.drift import Discrepancy, derived, lost
from registry.ops.fsck.parts import Parts
from registry.outbound.git_run import GitError
from registry.publish.index_lines import read_lines
from registry.transparency.checkpoint import CheckpointInvalid, Verifier, checkpoint_file

COLLECTED_AFTER = datetime.timedelta(hours=24)
"""How long a package without any reference is kept."""

_KEY = re.compile(
    r"skills/([a-z0-9_-]{1,80}/[a-z0-9-]{1,64})-((?:0|[1-9]\d{0,8})(?:\.(?:0|[1-9]\d{0,8})){2})\.zip", re.A
)

_UNKNOWN = "no version and no job of this database has these bytes"
_UNKNOWN_ADVICE = "look for it in a backup of the database; remove it from the store by hand only if no backup knows it"
_YOUNG_ADVICE = "leave it, or run this again with --repair when it is 24 hours old"


class _Package(NamedTuple):
    key: str
    skill_id: str
    version: str


def check(parts: Parts, store: BlobStore, stored: list[str]) -> Iterator[Discrepancy]:
    """Yield the blobs in the list `stored` that no version and no unfinished job has."""
    unknown: list[_Package] = []
    for key in stored:
        match = _KEY.fullmatch(key)
        if match is None:
            yield lost("blobs", key, "the name is not that of a package", _UNKNOWN_ADVICE)
            continue
        package = _Package(key, match[1], match[2])
        rejected = _rejected_checksums(parts.database, package)
        if rejected is None:
            continue
        if _digest_or_none(store, key) in rejected:
            repair = functools.partial(_remove, parts, store, package)
            yield derived("blobs", key, "it is left over from a rejected job", repair)
        else:
            unknown.append(package)
    if unknown:
        yield from _unknown(parts, store, unknown)


def _unknown(parts: Parts, store: BlobStore, packages: list[_Package]) -> Iterator[Discrepancy]:
    """Yield packages without a version and a job. Those that the index does not know either can be collected.

    A package may be the last copy of a version that a restored, older database has lost. The index knows such versions.
    """
    index = _index(parts, {package.skill_id for package in packages})
    for package in packages:
        if index is None:
            yield lost("blobs", package.key, _UNKNOWN, _UNKNOWN_ADVICE)
        elif (package.skill_id, package.version) in index:
            yield lost("blobs", package.key, f"{_UNKNOWN}, but the index lists it", _UNKNOWN_ADVICE)
        elif (at := _stored_at(store, package.key)) is None:
            continue
        elif parts.now() - at < COLLECTED_AFTER:
            yield lost("blobs", package.key, f"{_UNKNOWN}; it is younger than 24 hours", _YOUNG_ADVICE)
        else:
            repair = functools.partial(_remove, parts, store, package)
            yield derived("blobs", package.key, "no version, no job and no line of the index has these bytes", repair)


def _index(parts: Parts, skill_ids: set[str]) -> set[tuple[str, str]] | None:
    """Return the versions of these skills in the remote index.

    None if it cannot be read, if it is not the index of this registry, because it has no checkpoint of its log, or if
    it knows a longer log than this database, which then is an older one.
    """
    clone = parts.clone()
    if clone is None:
        return None
    try:
        with tempfile.TemporaryDirectory(prefix="skill-registry-git-") as folder:
            remote = clone.clone_remote(Path(folder))
            objects = remote.committed_objects()
            checkpoint = objects.get(checkpoint_file(parts.settings.transparency.name))
            if checkpoint is None or _log_is_older(parts, remote.content(checkpoint)):
                return None
            files = {skill_id: remote.content(objects[skill_id]) for skill_id in skill_ids & objects.keys()}
    except (GitError, OSError):
        return None
    return {(skill_id, line.vers) for skill_id in files for line, _ in read_lines(skill_id, files[skill_id])[0]}


def _log_is_older(parts: Parts, checkpoint: bytes) -> bool:
    key = parts.database.read("select value from facts where name = 'log_key'")
    try:
        return not key or Verifier(key[0][0]).read(checkpoint.decode()).size > parts.log.size()
    except (CheckpointInvalid, UnicodeDecodeError):
        return True


def _stored_at(store: BlobStore, key: str) -> datetime.datetime | None:
    try:
        return store.stored_at(key)
    except BlobMissing:
        return None


def digest(store: BlobStore, key: str) -> tuple[str, int]:
    """Return the digest of a blob and its size in bytes. Raises BlobMissing, BlobUnavailable."""
    hasher, size = hashlib.sha256(), 0
    with store.open(key) as stored:
        for chunk in chunks(stored):
            hasher.update(chunk)
            size += len(chunk)
    return f"sha256:{hasher.hexdigest()}", size


def _digest_or_none(store: BlobStore, key: str) -> str | None:
    try:
        return digest(store, key)[0]
    except BlobMissing:
        return None


def _rejected_checksums(database: Database | Transaction, package: _Package) -> list[str] | None:
    """Return the checksums of the rejected jobs of a version; None if another job or the version needs the blob."""
    sql = (
        "select checksum, state = 'rejected' from publish_jobs where skill_id = ? and version = ?"
        " union all select checksum, 1 = 0 from published where skill_id = ? and version = ?"
    )
    rows = database.read(sql, (package.skill_id, package.version) * 2)
    return None if any(not is_rejected for _, is_rejected in rows) else [checksum for checksum, _ in rows]


def _remove(parts: Parts, store: BlobStore, package: _Package) -> None:
    # The removal happens within the transaction. Otherwise a new job of this version could find its bytes stored, and
    # be accepted just before they are removed.
    with parts.database.write() as transaction:
        if _rejected_checksums(transaction, package) is not None:
            store.remove(package.key)
