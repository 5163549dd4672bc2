"""The shared parts of installing and upgrading, including the webhook notification of a package check."""

import secrets
from collections.abc import Callable

import msgspec

from registry.catalog.local_skills import LocalSkills
from registry.catalog.store import Catalog, Clock
from registry.db import Transaction
from registry.events.webhooks import Checked
from registry.install.policy import InstallPolicy
from registry.install.registries import Registries
from registry.install.staged_packages import StagedPackages
from registry.packages.package import Package
from registry.packages.refusal import PackageRefused
from registry.project.project_files import ProjectFiles
from registry.sources.offers import Offers


class InstallParts(msgspec.Struct, kw_only=True, frozen=True):
    """The parts of the service that put packages below the skills directory.

    Args:
        packages: Fetches and reads packages.
        offers: Finds the skills that sources list.
        registries: Finds the releases of registries.
        local: The skills directory.
        catalog: The catalog of skills.
        project: The project's manifest and lock.
        policy: Refuses what may not be installed.
        clock: Returns the current time.
        enqueue: Enqueues webhook notifications of a check, in the transaction that ends it.
    """

    packages: StagedPackages
    offers: Offers
    registries: Registries
    local: LocalSkills
    catalog: Catalog
    project: ProjectFiles
    policy: InstallPolicy
    clock: Clock
    enqueue: Callable[[Transaction, Checked], None]

    def notify_accepted(self, transaction: Transaction, skill_id: str, package: Package) -> None:
        """Enqueue the notification of an accepted package, in the transaction that records the package."""
        checked = Checked(
            job_id=_new_job_id(),
            skill_id=skill_id,
            version=package.version,
            scope=package.scope,
            checksum=package.digest,
            accepted=True,
            findings=package.findings.findings,
        )
        self.enqueue(transaction, checked)

    def notify_refused(self, skill_id: str | None, refusal: PackageRefused) -> None:
        """Enqueue the notification of a refused package; `skill_id` is that of the intended skill, if known."""
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
            self.enqueue(transaction, checked)


def _new_job_id() -> str:
    """Return an id for the check of an installation, which has no publish job."""
    return f"install-{secrets.token_hex(16)}"
