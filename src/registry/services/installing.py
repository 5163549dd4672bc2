"""Builds what installs and upgrades skills from the other parts of the service."""

from functools import partial
from typing import TYPE_CHECKING

from registry.inspection.inspector import Inspector
from registry.install.dependencies import DependencyPlanner
from registry.install.installer import Installer
from registry.install.package_cache import PackageCache
from registry.install.parts import InstallParts
from registry.install.placing import Placer
from registry.install.policy import InstallPolicy
from registry.install.registries import OwnRegistry, Registries
from registry.install.staged_packages import StagedPackages
from registry.install.upgrade import Upgrader
from registry.services.install_jobs import InstallJobs
from registry.services.usage import SERVICE

if TYPE_CHECKING:  # the container imports this module
    from registry.services.container import Services


def build_installing(services: "Services", inspector: Inspector) -> tuple[Installer, Upgrader, InstallJobs]:
    """Return the installer, the upgrader, and the installations in the background."""
    sources = services.sources
    own = OwnRegistry(services.publishing) if services.settings.registry.enabled else None
    policy = InstallPolicy(services.settings.install, services.project.exceptions, services.database, services.clock)
    cache = PackageCache.configured(services.settings)
    parts = InstallParts(
        packages=StagedPackages(services.local.root, sources.fetcher, inspector, services.settings, cache),
        offers=sources.offers,
        registries=Registries(sources, own, policy, cache),
        local=services.local,
        catalog=services.catalog,
        project=services.project,
        policy=policy,
        clock=services.clock,
        enqueue=services.webhooks.enqueue,
    )
    placer, planner = Placer(parts), DependencyPlanner(parts)
    installer = Installer(parts, placer, planner)
    seconds = services.settings.limits.install_seconds
    counted = partial(services.usage.count, kind="installed", caller=SERVICE)
    jobs = InstallJobs(services.database, installer, services.clock, seconds=seconds, installed=counted)
    return installer, Upgrader(parts, installer, placer, planner, sources), jobs
