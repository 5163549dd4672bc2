"""The origins of installed skills, and the advertised skills that they shadow.

An install record is written before the folder is moved into place, so that a crash never leaves a skill without its
origin. A record without its folder, or with a folder of other content, is ignored.
"""

import json
from collections.abc import Mapping
from typing import NamedTuple

import msgspec
from msgspec import UNSET

from registry.db import Database, Transaction
from registry.domain.findings import Finding, SkillFindings, risk
from registry.domain.models import Skill
from registry.domain.origins import GitOrigin, LocalOrigin, Origin, source_type
from registry.domain.release_proofs import PinnedProof
from registry.domain.withdrawals import Withdrawn

SHADOWED = "twin:installed"
"""The label of an advertised skill that is installed. Search shows the installed skill instead."""

INTERNAL_MARK = '"internal":true'
"""What the record of an advertised skill contains if it is internal: lists and searches never show it."""


class InstalledRelease(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """The release of a registry that was installed.

    Args:
        skill_id: The id of the skill in the registry, `scope/name`.
        sha256: The digest of the zip, `sha256:` and hexadecimal digits.
        proof: The proof that the registry's log includes the release; None if this service is the registry.
    """

    skill_id: str
    sha256: str
    proof: PinnedProof | None = None


class Inherited(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """What the source of a skill says of it that the files of the skill do not: that of its plugin."""

    version: str | None = None
    author: str | None = None
    license: str | None = None


class InstallRecord(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """One installation.

    Args:
        origin: The origin of the files.
        source: The source that lists the skill, if the install named one.
        listed: The id of the skill in the source.
        commit: The installed commit of a repository.
        sha256: The `tree_digest` of the folder at install time.
        pinned: Whether the install named a version. Automatic upgrades do not replace it.
        version_range: The range of versions that the install named. Automatic upgrades stay in it.
        release: The installed release, if the files are from a registry.
        name: The name of the skill, if its folder has another one because another skill had the name.
        inherited: What the source says of the skill that its files do not.
        notes: Findings about the last update.
        withdrawn: How the registry has withdrawn the installed version, or all of the skill.
        following: The record of the new version while an upgrade runs.
        installed_at: The time of the install, as `YYYY-MM-DDTHH:MM:SS.sssZ`.
    """

    origin: Origin
    source: str | None = None
    listed: str | None = None
    commit: str | None = None
    sha256: str
    pinned: bool = False
    version_range: str | None = None
    release: InstalledRelease | None = None
    name: str | None = None
    inherited: Inherited | None = None
    notes: list[Finding] = msgspec.field(default_factory=list)
    withdrawn: Withdrawn | None = None
    following: "InstallRecord | None" = None
    installed_at: str

    @property
    def editable(self) -> bool:
        """Whether the folder is used in place."""
        return isinstance(self.origin, LocalOrigin) and self.origin.editable


def put_install(transaction: Transaction, folder: str, install: InstallRecord) -> None:
    """Set the install record of `folder`."""
    transaction.execute(
        "insert into installs (folder, source, listed, record) values (?, ?, ?, ?) on conflict (folder) do update set"
        " source = excluded.source, listed = excluded.listed, record = excluded.record",
        (folder, install.source, install.listed, msgspec.json.encode(install).decode()),
    )


def find_install(database: Database | Transaction, folder: str) -> InstallRecord | None:
    """Return the install record of `folder`; None if the skill was not installed."""
    rows = database.read("select record from installs where folder = ?", (folder,))
    return msgspec.json.decode(rows[0][0], type=InstallRecord) if rows else None


class Installed(NamedTuple):
    """An installed skill that the catalog has, and its install record."""

    skill_id: str
    version: str
    record: InstallRecord


def installed_from(
    database: Database, origin: Origin | None, source: str | None = None, listed: str | None = None
) -> Installed | None:
    """Return the skill that was installed from an origin, or as `listed` in a source; None if there is none."""
    sql = "select s.id, s.detail, i.record from installs i join skills s on s.folder = i.folder order by i.folder"
    for skill_id, detail, text in database.read(sql):
        record = msgspec.json.decode(text, type=InstallRecord)
        if record.origin == origin or (source is not None and (record.source, record.listed) == (source, listed)):
            return Installed(str(skill_id), msgspec.json.decode(detail, type=Skill).version, record)
    return None


def installed_folder(database: Database | Transaction, source: str, listed: str) -> str | None:
    """Return the folder of a skill that a source lists; None if it is not installed."""
    sql = (
        "select i.folder from installs i join skills s on s.folder = i.folder where i.source = ? and i.listed = ?"
        " order by i.folder"
    )
    rows = database.read(sql, (source, listed))
    return str(rows[0][0]) if rows else None


def installed_as(database: Database | Transaction, listed: str) -> str | None:
    """Return the id of the only skill that was installed as `listed`, its id in a source; None otherwise."""
    sql = "select s.id from installs i join skills s on s.folder = i.folder where i.listed = ?"
    rows = database.read(sql, (listed,))
    return str(rows[0][0]) if len(rows) == 1 else None


def follow_listings(transaction: Transaction, source: str, places: Mapping[str, Origin]) -> None:
    """Give the installs from a source the ids that it lists them with now. `places` has the origin of each id.

    An id can pass to another skill of a source, such as a new one with a shorter path. What was installed stays the
    skill at its place. If the place is gone, the id says which skill it is.
    """
    ids = {_folder_of(origin): skill_id for skill_id, origin in places.items()}
    rows = transaction.read("select folder, record from installs where source = ? and listed is not null", (source,))
    for folder, text in rows:
        install = msgspec.json.decode(text, type=InstallRecord)
        former, now = str(install.listed), ids.get(_folder_of(install.origin))
        if now is None or (former in places and _folder_of(places[former]) == _folder_of(install.origin)):
            continue
        put_install(transaction, str(folder), msgspec.structs.replace(install, listed=now))
        for listed in (former, now):
            hidden = installed_folder(transaction, source, listed) is not None
            set_shadowed(transaction, source, listed, hidden=hidden)


def _folder_of(origin: Origin) -> tuple[object, ...]:
    """Return the part of an origin that says where a skill is: not its state, such as a ref or a digest."""
    names = ("url", "path", "subdir", "skill")
    return type(origin), *(getattr(origin, name, None) for name in names)


def current_install(transaction: Transaction, folder: str, digest: str | None) -> InstallRecord | None:
    """Return the install record of `folder`, given the current `tree_digest` of the folder.

    An upgrade that was interrupted after it had moved the new folder into place is completed.
    """
    install = find_install(transaction, folder)
    if install is not None and install.following is not None and install.following.sha256 == digest:
        install = install.following
        put_install(transaction, folder, install)
    return install


def delete_install(transaction: Transaction, folder: str) -> None:
    """Delete the install record of `folder`, and unhide the advertised skill."""
    install = find_install(transaction, folder)
    transaction.execute("delete from installs where folder = ?", (folder,))
    if install is not None:
        update_shadowing(transaction, install)


def update_shadowing_of_folder(transaction: Transaction, folder: str | None) -> None:
    """Update whether the skill in `folder` shadows an advertised skill, if it was installed."""
    install = None if folder is None else find_install(transaction, folder)
    if install is not None:
        update_shadowing(transaction, install)


def update_shadowing(transaction: Transaction, install: InstallRecord) -> None:
    """Hide the advertised skill from search if it is installed, and show it otherwise."""
    if install.source is None or install.listed is None:
        return
    hidden = installed_folder(transaction, install.source, install.listed) is not None
    set_shadowed(transaction, install.source, install.listed, hidden=hidden)


def set_shadowed(transaction: Transaction, source: str, listed: str, *, hidden: bool) -> None:
    """Add the label `SHADOWED` to an advertised skill, or remove it. An internal skill always has it."""
    sql = (
        "select d.key, d.labels, a.record from advertised a join documents d on d.key = a.key"
        " where a.source = ? and a.id = ?"
    )
    for key, text, record in transaction.read(sql, (source, listed)):
        labels, hidden = json.loads(text), hidden or INTERNAL_MARK in record
        if (SHADOWED in labels) != hidden:
            transaction.changes_documents = True
            changed = [*labels, SHADOWED] if hidden else [label for label in labels if label != SHADOWED]
            transaction.execute(
                "update documents set labels = ?, number = ? where key = ?",
                (json.dumps(changed), transaction.next_revision(), key),
            )


def with_install(skill: Skill, install: InstallRecord) -> Skill:
    """Return the skill with the origin and notes of its install record, which override its files.

    While its files are those that were installed, it has what it inherits too.
    """
    if install.inherited is not None and skill.digest == install.sha256:
        fields = {name: value for name, value in msgspec.structs.asdict(install.inherited).items() if value}
        skill = msgspec.structs.replace(skill, **fields)
    origin = install.origin
    ref = origin.ref if isinstance(origin, GitOrigin) else None
    report = skill.findings
    if report is not None and install.notes:
        findings = [*report.findings, *install.notes]
        report = SkillFindings(risk=risk(findings), engine=report.engine, findings=findings)
    return msgspec.structs.replace(
        skill,
        source=install.source or skill.source,
        source_url=None if isinstance(origin, LocalOrigin) else getattr(origin, "url", None),
        source_type=source_type(origin),
        source_branch=(ref.branch or ref.tag or ref.commit) if ref else None,
        editable=install.editable,
        findings=report,
        withdrawn=install.withdrawn or UNSET,
    )
