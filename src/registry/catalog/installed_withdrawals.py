"""What registries have withdrawn of the installed skills: kept in install records, and shown on the skills."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
from msgspec import UNSET

from registry.catalog.installs import InstallRecord, find_install, put_install
from registry.catalog.skill_rows import FolderState
from registry.catalog.store import Catalog
from registry.db import Database, Reader, Row, Transaction
from registry.domain.models import Skill
from registry.domain.withdrawals import Withdrawn, described

_WITHDRAWN = '"withdrawn":{'
"""What the record of an installation contains if its registry has withdrawn it. In a text, the quotes are escaped."""


class InstalledFolder(NamedTuple):
    """A folder with an installed release of a registry."""

    folder: str
    record: InstallRecord


def installed_releases(reader: Reader) -> list[InstalledFolder]:
    """Return the folders that were installed from registries, in order."""
    return _releases(reader.read("select folder, record from installs order by folder"))


def releases_of(reader: Reader, source: str, listed: str) -> list[InstalledFolder]:
    """Return the folders with releases of a skill that a source lists, in order."""
    sql = "select folder, record from installs where source = ? and listed = ? order by folder"
    return _releases(reader.read(sql, (source, listed)))


def _releases(rows: Sequence[Row]) -> list[InstalledFolder]:
    folders = (InstalledFolder(folder, msgspec.json.decode(text, type=InstallRecord)) for folder, text in rows)
    return [installed for installed in folders if installed.record.release is not None]


def set_withdrawn(
    transaction: Transaction, catalog: Catalog, installed: InstalledFolder, withdrawn: Withdrawn | None
) -> None:
    """Note how an installation is withdrawn, and show it on its skill. One that has changed meanwhile is left alone."""
    folder, record = installed
    if record.withdrawn == withdrawn or find_install(transaction, folder) != record:
        return
    put_install(transaction, folder, msgspec.structs.replace(record, withdrawn=withdrawn))
    stored = catalog.find_at(transaction, folder)
    if stored is not None and stored.fingerprint is not None:
        skill = msgspec.structs.replace(stored.skill, withdrawn=withdrawn or UNSET)
        catalog.save(transaction, skill, catalog.body(skill.id), FolderState(folder, stored.fingerprint))


def withdrawn_skills(database: Database) -> Mapping[str, str]:
    """Return in words how each installed skill is withdrawn that is, by id."""
    return {skill.id: described(skill.version, withdrawn) for skill, withdrawn in _withdrawn(database)}


def count_withdrawn(database: Database) -> Counter[str]:
    """Return the number of installed skills by how they are withdrawn."""
    return Counter(withdrawn.state for _, withdrawn in _withdrawn(database))


def _withdrawn(database: Database) -> Iterator[tuple[Skill, Withdrawn]]:
    rows = database.read("select folder, record from installs where record like ?", (f"%{_WITHDRAWN}%",))
    records = {folder: msgspec.json.decode(text, type=InstallRecord) for folder, text in rows}
    withdrawn = {folder: record.withdrawn for folder, record in records.items() if record.withdrawn is not None}
    if not withdrawn:  # as nearly always: a search for folders reads all skills
        return
    folders = ", ".join("?" * len(withdrawn))
    sql = f"select folder, detail from skills where folder in ({folders}) order by id"
    for folder, detail in database.read(sql, tuple(withdrawn)):
        yield msgspec.json.decode(detail, type=Skill), withdrawn[folder]
