"""Packages in the store: the very bytes of every published version, and nothing that nobody knows."""

import functools
import hashlib
import re
from collections.abc import Iterator

from registry.blobs import BlobMissing, BlobStore, BlobUnavailable
from registry.blobs.store import chunks
from registry.db import Database, Transaction
from registry.ops.fsck.drift import CannotCheck, Discrepancy, derived, lost
from registry.ops.fsck.parts import Parts

PREFIX = "skills/"
_KEY = re.compile(
    r"skills/([a-z0-9_-]{1,80}/[a-z0-9-]{1,64})-((?:0|[1-9]\d{0,8})(?:\.(?:0|[1-9]\d{0,8})){2})\.zip", re.A
)

_FROM_ELSEWHERE = (
    "compare with a backup of the database, which may know it; only if none does, remove it from the store by hand"
)
_PUT_BACK = "put its bytes back into the store from a backup or a mirror, or revoke the version"


def check(parts: Parts) -> Iterator[Discrepancy]:
    """Yield versions whose bytes are missing or others, and bytes that are no version's."""
    if not parts.database.read("select 1 from publish_jobs union all select 1 from published limit 1"):
        return
    store = parts.store()
    try:
        # First what is stored, then what is known: a package is put only while its job is live.
        stored = list(store.keys(PREFIX))
        yield from _strays(parts, store, stored)
        yield from _damaged(parts, store, set(stored))
    except BlobUnavailable as error:
        raise CannotCheck(str(error)) from None


def _damaged(parts: Parts, store: BlobStore, stored: set[str]) -> Iterator[Discrepancy]:
    sql = "select skill_id, version, state, checksum, size from published order by skill_id, major, minor, patch"
    for skill_id, version, state, checksum, size in parts.database.read(sql):
        key, thing = f"{PREFIX}{skill_id}-{version}.zip", f"{skill_id} {version}"
        if state == "revoked":
            if key in stored and parts.settings.s3.blob_base_url is not None:
                problem = "it is revoked, but its bytes are still there for whoever knows their URL"
                yield lost("blobs", thing, problem, f"remove {key} from the bucket")
            continue
        try:
            found = _digest(store, key)
        except BlobMissing:
            yield lost("blobs", thing, "its package is not in the store", _PUT_BACK)
            continue
        if found != (checksum, size):
            problem = f"its package is {found[0]} ({found[1]} bytes) instead of {checksum} ({size} bytes)"
            yield lost("blobs", thing, problem, _PUT_BACK)


def _digest(store: BlobStore, key: str) -> tuple[str, int]:
    """Return digest and size of what is stored, read piece by piece. Raises BlobMissing, BlobUnavailable."""
    digest, size = hashlib.sha256(), 0
    with store.open(key) as stored:
        for chunk in chunks(stored):
            digest.update(chunk)
            size += len(chunk)
    return f"sha256:{digest.hexdigest()}", size


def _strays(parts: Parts, store: BlobStore, stored: list[str]) -> Iterator[Discrepancy]:
    for key in stored:
        named = _KEY.fullmatch(key)
        if named is None:
            yield lost("blobs", key, "nothing of ours has such a name", _FROM_ELSEWHERE)
            continue
        left_by = _left_by(parts.database, named[1], named[2])
        if left_by is None:
            continue
        checksums = set(left_by)
        if _digest_if_there(store, key) in checksums:
            repair = functools.partial(_remove, parts, store, key, named[1], named[2])
            yield derived("blobs", key, "a job that was rejected has left it", repair)
        else:
            yield lost("blobs", key, "no version and no job of this database knows it", _FROM_ELSEWHERE)


def _digest_if_there(store: BlobStore, key: str) -> str | None:
    try:
        return _digest(store, key)[0]
    except BlobMissing:
        return None


def _left_by(database: Database | Transaction, skill_id: str, version: str) -> list[str] | None:
    """Return the checksums of jobs that ended without publishing a version; None where its bytes are wanted."""
    sql = (
        "select checksum, state = 'rejected' from publish_jobs where skill_id = ? and version = ?"
        " union all select checksum, 1 = 0 from published where skill_id = ? and version = ?"
    )
    rows = database.read(sql, (skill_id, version, skill_id, version))
    return None if any(not ended for _, ended in rows) else [checksum for checksum, _ in rows]


def _remove(parts: Parts, store: BlobStore, key: str, skill_id: str, version: str) -> None:
    # The store is waited for within the transaction: a job of this version could otherwise begin, find its bytes
    # stored, and be accepted just before they are removed.
    with parts.database.write() as transaction:
        if _left_by(transaction, skill_id, version):
            store.remove(key)
