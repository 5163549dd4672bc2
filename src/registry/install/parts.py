"""What installing and upgrading are both made of, and how both tell webhooks of the check of a package."""

import secrets
from collections.abc import Callable

import msgspec

from registry.catalog.local_skills import LocalSkills
from registry.catalog.store import Catalog, Clock
from registry.db import Transaction
from registry.events.webhooks import Checked
from registry.install.staged_packages import StagedPackages
from registry.packages import Package, PackageRefused
from registry.project.project_files import ProjectFiles
from registry.sources.offers import Offers


class InstallParts(msgspec.Struct, kw_only=True, frozen=True):
    """The parts of the service that put packages below the skills directory.

    Args:
        packages: Fetches and reads them.
        offers: Says what the sources list.
        local: The skills directory.
        catalog: Where skills are recorded.
        project: The project's manifest and lock.
        clock: Tells the time.
        on_change: Called after the catalog has changed.
        note: Writes down what webhooks are to be told of a check, in the transaction that ends it.
    """

    packages: StagedPackages
    offers: Offers
    local: LocalSkills
    catalog: Catalog
    project: ProjectFiles
    clock: Clock
    on_change: Callable[[], None]
    note: Callable[[Transaction, Checked], None]

    def passed(self, transaction: Transaction, skill_id: str, package: Package) -> None:
        """Note that a package kept the rules, in the transaction that records it."""
        checked = Checked(
            job_id=_new_job_id(),
            skill_id=skill_id,
            version=package.version,
            scope=package.scope,
            checksum=package.digest,
            accepted=True,
            findings=package.findings.findings,
        )
        self.note(transaction, checked)

    def refused(self, skill_id: str | None, refusal: PackageRefused) -> None:
        """Note that a package broke the rules; `skill_id` is what it was to be, as far as that was known."""
        checked = Checked(
            job_id=_new_job_id(),
            skill_id=skill_id,
            version=None,
            scope=None,
            checksum=None,
            accepted=False,
            findings=refusal.findings,
        )
        with self.catalog.database.write() as transaction:
            self.note(transaction, checked)


def _new_job_id() -> str:
    """Return a name for the check of an installation, which has no job of its own."""
    return f"install-{secrets.token_hex(16)}"
