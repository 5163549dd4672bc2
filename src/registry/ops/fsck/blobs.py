"""Checks the package store: the exact bytes of every published version, and no unknown blobs."""

from collections.abc import Iterator

from registry.blobs import BlobMissing, BlobStore, BlobUnavailable
from registry.ops.fsck import strays
from registry.ops.fsck.drift import CannotCheck, Discrepancy, lost
from registry.ops.fsck.parts import Parts

PREFIX = "skills/"
_RESTORE_ADVICE = "restore its bytes from a backup or a mirror, or revoke the version"


def check(parts: Parts) -> Iterator[Discrepancy]:
    """Yield versions with missing or different bytes, and blobs without a version."""
    if not parts.database.read("select 1 from publish_jobs union all select 1 from published limit 1"):
        return
    store = parts.store()
    try:
        # The store is listed before the database is read, since a package is stored only while its job is active.
        stored = list(store.keys(PREFIX))
        yield from strays.check(parts, store, stored)
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
            digest, actual_size = strays.digest(store, key)
        except BlobMissing:
            yield lost("blobs", thing, "its package is not in the store", _RESTORE_ADVICE)
            continue
        if (digest, actual_size) != (checksum, size):
            problem = f"its package is {digest} ({actual_size} bytes) instead of {checksum} ({size} bytes)"
            yield lost("blobs", thing, problem, _RESTORE_ADVICE)
