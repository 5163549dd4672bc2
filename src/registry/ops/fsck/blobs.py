"""Checks the package store: the exact bytes of every published version, and no unknown blobs."""

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

_UNKNOWN_ADVICE = "look for it in a backup of the database; remove it from the store by hand only if no backup knows it"
_RESTORE_ADVICE = "restore its bytes from a backup or a mirror, or revoke the version"


def check(parts: Parts) -> Iterator[Discrepancy]:
    """Yield versions with missing or different bytes, and blobs without a version."""
    if not parts.database.read("select 1 from publish_jobs union all select 1 from published limit 1"):
        return
    store = parts.store()
    try:
        # The store is listed before the database is read, since a package is stored only while its job is active.
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
                problem = "it is revoked, but its package can still be downloaded by URL"
                yield lost("blobs", thing, problem, f"remove {key} from the bucket")
            continue
        try:
            digest, actual_size = _digest(store, key)
        except BlobMissing:
            yield lost("blobs", thing, "its package is not in the store", _RESTORE_ADVICE)
            continue
        if (digest, actual_size) != (checksum, size):
            problem = f"its package is {digest} ({actual_size} bytes) instead of {checksum} ({size} bytes)"
            yield lost("blobs", thing, problem, _RESTORE_ADVICE)


def _digest(store: BlobStore, key: str) -> tuple[str, int]:
    """Return the digest of a blob and its size in bytes. Raises BlobMissing, BlobUnavailable."""
    digest, size = hashlib.sha256(), 0
    with store.open(key) as stored:
        for chunk in chunks(stored):
            digest.update(chunk)
            size += len(chunk)
    return f"sha256:{digest.hexdigest()}", size


def _strays(parts: Parts, store: BlobStore, stored: list[str]) -> Iterator[Discrepancy]:
    for key in stored:
        match = _KEY.fullmatch(key)
        if match is None:
            yield lost("blobs", key, "the name is not that of a package", _UNKNOWN_ADVICE)
            continue
        rejected = _rejected_checksums(parts.database, match[1], match[2])
        if rejected is None:
            continue
        if _digest_or_none(store, key) in rejected:
            repair = functools.partial(_remove, parts, store, key, match[1], match[2])
            yield derived("blobs", key, "it is left over from a rejected job", repair)
        else:
            yield lost("blobs", key, "no version and no job of this database has it", _UNKNOWN_ADVICE)


def _digest_or_none(store: BlobStore, key: str) -> str | None:
    try:
        return _digest(store, key)[0]
    except BlobMissing:
        return None


def _rejected_checksums(database: Database | Transaction, skill_id: str, version: str) -> list[str] | None:
    """Return the checksums of the rejected jobs of a version; None if another job or the version needs the blob."""
    sql = (
        "select checksum, state = 'rejected' from publish_jobs where skill_id = ? and version = ?"
        " union all select checksum, 1 = 0 from published where skill_id = ? and version = ?"
    )
    rows = database.read(sql, (skill_id, version, skill_id, version))
    return None if any(not is_rejected for _, is_rejected in rows) else [checksum for checksum, _ in rows]


def _remove(parts: Parts, store: BlobStore, key: str, skill_id: str, version: str) -> None:
    # The removal happens within the transaction. Otherwise a new job of this version could find its bytes stored, and
    # be accepted just before they are removed.
    with parts.database.write() as transaction:
        if _rejected_checksums(transaction, skill_id, version):
            store.remove(key)
