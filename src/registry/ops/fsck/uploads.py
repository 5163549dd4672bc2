"""Checks the packages of publish jobs and the uploads that a crash has left. The service collects them later."""

import functools
from collections.abc import Iterator

from registry.ops.fsck.drift import Discrepancy, derived
from registry.ops.fsck.parts import Parts
from registry.publish.jobs import needed_packages
from registry.publish.leftovers import ABANDONED_SECONDS, remove_unfinished, unfinished
from registry.publish.spool import package_spool
from registry.publish.stored_packages import FOLDER


def check(parts: Parts) -> Iterator[Discrepancy]:
    """Yield packages of jobs that need them no more, and uploads that have not continued for a day."""
    spool = package_spool(parts.settings, parts.database)
    for job_id in spool.orphans(parts.database, needed_packages(parts.database)):
        problem = "the package of an upload is left over: no job needs it"
        yield derived("blobs", f"upload {job_id}", problem, functools.partial(_remove_orphans, parts))
    folder = parts.settings.data_dir / FOLDER
    for path in unfinished(folder, ABANDONED_SECONDS):
        repair = functools.partial(remove_unfinished, folder, ABANDONED_SECONDS)
        yield derived("blobs", f"{FOLDER}/{path.name}", "it is left over from an upload that has not ended", repair)


def _remove_orphans(parts: Parts) -> None:
    with parts.database.write() as transaction:
        package_spool(parts.settings, parts.database).remove_orphans(transaction, needed_packages(transaction))
