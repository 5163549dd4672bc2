"""Asks the registries of a project what they have withdrawn of its lock: at length for `audit`, briefly for others."""

import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, suppress
from datetime import timedelta

from registry.catalog.installed_withdrawals import InstalledFolder, installed_releases, set_withdrawn
from registry.catalog.store import Catalog
from registry.cli import console
from registry.cli.backend import CommandFailed
from registry.cli.credentials import user_access
from registry.cli.server_choice import has_catalog
from registry.config.settings import Settings
from registry.database import open_database
from registry.db import DatabaseError, DatabaseUnusable
from registry.domain.models import now
from registry.domain.source_entry import registry_of
from registry.domain.withdrawals import Withdrawn, described
from registry.errors import RegistryError
from registry.install.audit import Auditor, AuditReport, OpenRegistry, WithdrawnSkill
from registry.outbound import Interruption
from registry.outbound.configured import outbound_client
from registry.project.lock_entries import locked_skill
from registry.project.lock_file import LOCK_FILE, LockedSkill, LockFileError, read_lock
from registry.sources.registry_clients import RegistryClients
from registry.sources.remote_registry import RemoteRegistry
from registry.transparency.checkpoint import Verifier

_BRIEF_SECONDS = 2.0
_SECONDS = len("2026-11-29T16:09:25")
"""The part of a time that a checkpoint has too: it is signed for a second."""


def opener(settings: Settings, named: Sequence[str], interruption: Interruption | None = None) -> OpenRegistry:
    """Return the function that opens registries with the credentials of the user and of configured sources."""
    access = user_access(settings, named)
    clients = RegistryClients(settings, access, outbound_client(settings.outbound, access.hosts()))
    keys = {source.url: source.api_key for source in settings.sources if source.type == "registry"}

    def open_registry(url: str) -> RemoteRegistry:
        return clients.open(url, keys.get(url), interruption)

    return open_registry


def ask(
    settings: Settings,
    named: Sequence[str],
    locked: Sequence[LockedSkill],
    max_age: timedelta | None,
    trusted: Verifier | None = None,
    interruption: Interruption | None = None,
) -> AuditReport:
    """Return what the registries of the locked skills say of them."""
    return Auditor(opener(settings, named, interruption), max_age, now(), trusted).audit(locked)


def warn_of_withdrawals(settings: Settings, named: Sequence[str], known: Collection[str]) -> None:
    """Ask for at most two seconds, and print a line on standard error for each locked skill that was withdrawn.

    Without a lock, they are those that are installed. Of `known` skills it was said already. A registry that cannot be
    asked is a note: nothing depends on it here.
    """
    path = settings.project.file.with_name(LOCK_FILE)
    try:
        locked = read_lock(path) if path.exists() else _installed(settings)
    except (LockFileError, DatabaseUnusable, RegistryError):
        return  # the command that needs the lock or the catalog says what is wrong with it
    if not any(skill.log is not None for skill in locked):
        return
    interruption, reports = Interruption(), list[AuditReport]()

    def run() -> None:
        try:
            reports.append(ask(settings, named, locked, None, interruption=interruption))
        except CommandFailed as error:
            reports.append(AuditReport(skills=len(locked), unclear={"registries": str(error)}))

    thread = threading.Thread(target=run, name="withdrawals", daemon=True)
    thread.start()
    thread.join(_BRIEF_SECONDS)
    interruption.set()
    if not reports:
        console.note("no registry said within 2 s what was withdrawn: 'skill-registry audit' asks for longer")
        return
    remember(settings, locked, reports[0])
    for skill in reports[0].withdrawn:
        if skill.id not in known:
            console.warn(said_of(skill))
    for name, reason in reports[0].unclear.items():
        console.note(f"whether anything was withdrawn cannot be told: {name}: {reason}")


def _installed(settings: Settings) -> list[LockedSkill]:
    """Return what the lock would have of the skills that were installed from registries.

    Raises LockFileError, DatabaseUnusable, RegistryError.
    """
    if not has_catalog(settings):
        return []
    with closing(open_database(settings)) as database:
        catalog = Catalog(database, now)
        folders = [installed.folder for installed in installed_releases(database)]
        present = [stored for folder in folders if (stored := catalog.find_at(database, folder)) is not None]
        return [locked_skill(catalog, stored, settings, None, ()) for stored in present]


def remember(settings: Settings, locked: Sequence[LockedSkill], report: AuditReport) -> None:
    """Note on the installed skills what their registries have said of them: `list`, `show` and `search` tell of it.

    What cannot be written is left out: the next command that asks learns it again.
    """
    if not report.logs or not has_catalog(settings):
        return
    with suppress(DatabaseError, RegistryError, OSError), closing(open_database(settings)) as database:
        if learnt := list(_learnt(installed_releases(database), locked, report)):
            with database.write() as transaction:
                for installed, withdrawn in learnt:
                    set_withdrawn(transaction, Catalog(database, now), installed, withdrawn)


def _learnt(
    installed: Sequence[InstalledFolder], locked: Sequence[LockedSkill], report: AuditReport
) -> Iterator[tuple[InstalledFolder, Withdrawn | None]]:
    """Yield the installed releases of which a report says something new, with how they are withdrawn.

    Skills of registries that could not be asked stay as they are, and so does what was withdrawn after a registry has
    signed what it shows now: that is an old copy of its log.
    """
    signed = {log.registry: log.at or "" for log in report.logs}
    said = {skill.id: skill.withdrawn for skill in report.withdrawn}
    entries = {skill.path: skill for skill in locked if registry_of(skill.origin) in signed}
    for release in installed:
        entry, known = entries.get(release.folder), release.record.withdrawn
        if entry is None or release.record.release is None or release.record.release.proof is None:
            continue
        is_it = (release.record.origin, release.record.release.sha256) == (entry.origin, f"sha256:{entry.package}")
        if is_it and (known is None or known.at[:_SECONDS] <= signed[str(registry_of(entry.origin))][:_SECONDS]):
            yield release, said.get(entry.id)


def said_of(skill: WithdrawnSkill) -> str:
    """Return a line about a withdrawn skill."""
    return f"{skill.id}: {described(skill.version, skill.withdrawn)}"
