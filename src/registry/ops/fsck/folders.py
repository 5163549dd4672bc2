"""Installed skills: the folder behind each record, and the record of where each folder is from."""

import datetime
import functools
from collections.abc import Iterator

import msgspec

from registry.catalog.installs import InstallRecord, forget_install
from registry.domain.models import timestamp
from registry.ops.fsck.drift import CannotCheck, Discrepancy, derived, lost
from registry.ops.fsck.parts import Parts

_UNDER_WAY = datetime.timedelta(minutes=1)
"""How long an installation may be on its way from its record to its folder."""


def check(parts: Parts) -> Iterator[Discrepancy]:
    """Yield skills whose folder is gone, and origins of folders that never came."""
    yield from _installs(parts)
    places = parts.catalog.places()
    # A running service watches its folders, and a replica's are not those of another.
    if not places or not parts.alone or not parts.database.lead():
        return
    if not parts.local.root.is_dir():
        raise CannotCheck("the skills directory is not there: name it with --skills-dir, as the service has it")
    for place in sorted(places):
        if not (parts.local.root / place).is_dir():
            advice = "put the folder back, or let the next start, or 'skill-registry scan', take the skill away"
            yield lost("rows", place, "the catalog has its skill, but the folder is gone", advice)


def _installs(parts: Parts) -> Iterator[Discrepancy]:
    sql = (
        "select folder, record from installs i where not exists (select 1 from skills s where s.folder = i.folder)"
        " order by folder"
    )
    recent = timestamp(parts.now() - _UNDER_WAY)
    for folder, record in parts.database.read(sql):
        if (
            msgspec.json.decode(record, type=InstallRecord).installed_at < recent
            and not (parts.local.root / folder).exists()
        ):
            repair = functools.partial(_forget, parts, folder)
            yield derived("rows", folder, "where it was installed from is known, but it is not installed", repair)


def _forget(parts: Parts, folder: str) -> None:
    with parts.database.write() as transaction:
        if not transaction.read("select 1 from skills where folder = ?", (folder,)):
            forget_install(transaction, folder)
