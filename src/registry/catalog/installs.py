"""Where installed skills came from: a record beside each folder's skill, and the advertised twin it stands in for.

The record is written before the folder is moved into place, so that a crash never leaves a skill without its origin;
one whose folder never came, or holds something else, counts for nothing.
"""

import json

import msgspec

from registry.db import Database, Transaction
from registry.domain.findings import Finding, SkillFindings, risk
from registry.domain.models import Skill
from registry.domain.origins import GitOrigin, LocalOrigin, Origin

SHADOWED = "twin:installed"
"""The label of an advertised skill that is installed: search shows the installed one in its place."""


class InstallRecord(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """One installation.

    Args:
        origin: Where the files are fetched from.
        source: The source that lists the skill, where one was named, and `listed` its id there.
        commit: The commit of a repository that was installed.
        sha256: The `tree_digest` of the folder as it was installed.
        pinned: Whether one version was asked for, so that no other takes its place by itself.
        notes: What the last update brought that one should look at.
        following: What is about to take its place, during an upgrade.
        installed_at: When, as `YYYY-MM-DDTHH:MM:SS.sssZ`.
    """

    origin: Origin
    source: str | None = None
    listed: str | None = None
    commit: str | None = None
    sha256: str
    pinned: bool = False
    notes: list[Finding] = msgspec.field(default_factory=list)
    following: "InstallRecord | None" = None
    installed_at: str

    @property
    def editable(self) -> bool:
        """Whether the folder is used in place."""
        return isinstance(self.origin, LocalOrigin) and self.origin.editable


def put_install(transaction: Transaction, folder: str, install: InstallRecord) -> None:
    """Keep where the skill in `folder` is from, in place of what was kept before."""
    transaction.execute(
        "insert into installs (folder, source, listed, record) values (?, ?, ?, ?) on conflict (folder) do update set"
        " source = excluded.source, listed = excluded.listed, record = excluded.record",
        (folder, install.source, install.listed, msgspec.json.encode(install).decode()),
    )


def find_install(database: Database | Transaction, folder: str) -> InstallRecord | None:
    """Return where the skill in `folder` is from; None where nobody installed it."""
    rows = database.read("select record from installs where folder = ?", (folder,))
    return msgspec.json.decode(rows[0][0], type=InstallRecord) if rows else None


def installed_folder(database: Database | Transaction, source: str, listed: str) -> str | None:
    """Return the folder of what a source lists, where that is installed."""
    sql = (
        "select i.folder from installs i join skills s on s.folder = i.folder where i.source = ? and i.listed = ?"
        " order by i.folder"
    )
    rows = database.read(sql, (source, listed))
    return str(rows[0][0]) if rows else None


def current_install(transaction: Transaction, folder: str, digest: str | None) -> InstallRecord | None:
    """Return where the skill in `folder` is from, given the `tree_digest` of what is there now.

    An upgrade that was cut short after it had moved the new folder into place counts as done.
    """
    install = find_install(transaction, folder)
    if install is not None and install.following is not None and install.following.sha256 == digest:
        install = install.following
        put_install(transaction, folder, install)
    return install


def delete_install(transaction: Transaction, folder: str) -> None:
    """Forget where the skill in `folder` is from, and show again what its source lists."""
    install = find_install(transaction, folder)
    transaction.execute("delete from installs where folder = ?", (folder,))
    if install is not None:
        update_shadowing(transaction, install)


def update_shadowing_of_folder(transaction: Transaction, folder: str | None) -> None:
    """Settle the twin of the skill in `folder`, if it has one."""
    install = None if folder is None else find_install(transaction, folder)
    if install is not None:
        update_shadowing(transaction, install)


def update_shadowing(transaction: Transaction, install: InstallRecord) -> None:
    """Hide what a source lists from search while it is installed, and show it otherwise."""
    if install.source is None or install.listed is None:
        return
    hidden = installed_folder(transaction, install.source, install.listed) is not None
    set_shadowed(transaction, install.source, install.listed, hidden=hidden)


def set_shadowed(transaction: Transaction, source: str, listed: str, *, hidden: bool) -> None:
    """Give what a source lists the label of a twin, or take it away."""
    sql = "select d.key, d.labels from advertised a join documents d on d.key = a.key where a.source = ? and a.id = ?"
    for key, text in transaction.read(sql, (source, listed)):
        labels = json.loads(text)
        if (SHADOWED in labels) != hidden:
            transaction.changes_documents = True
            changed = [*labels, SHADOWED] if hidden else [one for one in labels if one != SHADOWED]
            transaction.execute(
                "update documents set labels = ?, number = ? where key = ?",
                (json.dumps(changed), transaction.next_revision(), key),
            )


def with_install(skill: Skill, install: InstallRecord) -> Skill:
    """Return the skill as it was installed: what its files say of where they are from does not count."""
    origin = install.origin
    ref = origin.ref if isinstance(origin, GitOrigin) else None
    found = skill.findings
    if found is not None and install.notes:
        everything = [*found.findings, *install.notes]
        found = SkillFindings(risk=risk(everything), engine=found.engine, findings=everything)
    return msgspec.structs.replace(
        skill,
        source=install.source or skill.source,
        source_url=None if isinstance(origin, LocalOrigin) else getattr(origin, "url", None),
        source_type=origin.__struct_config__.tag,
        source_branch=(ref.branch or ref.tag or ref.commit) if ref else None,
        editable=install.editable,
        findings=found,
    )
