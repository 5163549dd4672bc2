"""Checks installed skills: the folder of each record, and the install record of each folder."""

import datetime
import functools
from collections.abc import Iterator

import msgspec

from registry.catalog.installs import InstallRecord, delete_install
from registry.domain.models import timestamp
from registry.ops.fsck.drift import CannotCheck, Discrepancy, derived, lost
from registry.ops.fsck.parts import Parts

_INSTALL_TIME = datetime.timedelta(minutes=1)
"""How long an installation may take from its record to its folder."""


def check(parts: Parts) -> Iterator[Discrepancy]:
    """Yield skills whose folder is missing, and install records without a folder."""
    yield from _installs(parts)
    folders = parts.catalog.folder_fingerprints()
    # A running service scans its own folders, and each replica has different ones.
    if not folders or not parts.alone or not parts.database.lead():
        return
    if not parts.local.root.is_dir():
        raise CannotCheck("the skills directory does not exist: set --skills-dir as for the service")
    for folder in sorted(folders):
        if not (parts.local.root / folder).is_dir():
            advice = "restore the folder, or remove the skill with 'skill-registry scan' or the next start"
            yield lost("rows", folder, "the catalog has its skill, but the folder is missing", advice)


def _installs(parts: Parts) -> Iterator[Discrepancy]:
    sql = (
        "select folder, record from installs i where not exists (select 1 from skills s where s.folder = i.folder)"
        " order by folder"
    )
    recent = timestamp(parts.now() - _INSTALL_TIME)
    for folder, record in parts.database.read(sql):
        if (
            msgspec.json.decode(record, type=InstallRecord).installed_at < recent
            and not (parts.local.root / folder).exists()
        ):
            repair = functools.partial(_forget, parts, folder)
            yield derived("rows", folder, "there is an install record, but the skill is not installed", repair)


def _forget(parts: Parts, folder: str) -> None:
    with parts.database.write() as transaction:
        if not transaction.read("select 1 from skills where folder = ?", (folder,)):
            delete_install(transaction, folder)
