"""Finds the package that an origin names: in this registry, in a source, in another registry, or at a URL."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from registry.catalog.installs import installed_from
from registry.domain.origins import LocalOrigin, Origin, RegistryOrigin, SourceOrigin
from registry.domain.repository_addresses import RepositoryAddress
from registry.domain.source_entry import REGISTRY, Listed
from registry.errors import FieldError, conflict, forbidden, validation_error
from registry.install.order import InstallOrder
from registry.install.parts import InstallParts
from registry.install.registries import ChosenRelease, OwnRegistry, not_in_cache
from registry.outbound import OutboundError
from registry.project.local_paths import located
from registry.sources.offers import Offer


class PackageLocation(NamedTuple):
    """The location of a package.

    Args:
        origin: The origin. That of a registry names no version.
        source: The source that lists it as `listed`, if it is from a source.
        listed: Its id in the source or in the registry.
        requirement: The version or range that the order names.
        chosen: The release of a registry to install.
        listing: The skill as the source lists it.
    """

    origin: Origin
    source: str | None = None
    listed: str | None = None
    requirement: str | None = None
    chosen: ChosenRelease | None = None
    listing: Listed | None = None


class Locator:
    """Finds packages and refuses those that are installed already."""

    def __init__(self, parts: InstallParts) -> None:
        self._packages = parts.packages
        self._offers = parts.offers
        self._registries = parts.registries
        self._catalog = parts.catalog
        self._root = parts.local.root
        self._project = parts.project.folder
        self._policy = parts.policy

    def locate(self, order: InstallOrder) -> PackageLocation:
        """Return the location of a package. The origin of a folder has its path from the root of this machine.

        Raises SKILL_NOT_FOUND and NOT_FOUND if no source has it; CONFLICT if it is installed or ambiguous; FORBIDDEN
        for folders that may not be read; VALIDATION_ERROR if its registry cannot be read.
        """
        origin = order.origin
        if not isinstance(origin, SourceOrigin):  # that of a skill in a source is known once it is found
            self._policy.check_origin(origin)
        match origin:
            case RepositoryAddress() if order.offline:
                raise validation_error(FieldError("origin", not_in_cache(origin.url)))
            case RepositoryAddress():
                with refusing_unreachable():
                    named = self._packages.resolved(origin, self._offers.with_credentials)
                self.refuse_installed(order, named)
                return PackageLocation(named, requirement=order.version)
            case LocalOrigin():
                return self._folder(order, origin)
            case SourceOrigin():
                return self._listed(order, origin)
            case RegistryOrigin():
                return self._release(order, origin, self._offers.of_registry(origin.url, origin.skill))
            case _:
                self.refuse_installed(order, origin)
                return PackageLocation(origin, requirement=order.version)

    def _folder(self, order: InstallOrder, origin: LocalOrigin) -> PackageLocation:
        if origin.editable and not self._packages.any_folder:
            raise forbidden("A folder can be used in place only if the local profile listens on loopback")
        self._refuse_own_folder(self._packages.local_path(origin))
        named = located(origin, self._project)
        self.refuse_installed(order, named)
        return PackageLocation(named, requirement=order.version)

    def _listed(self, order: InstallOrder, origin: SourceOrigin) -> PackageLocation:
        """Find a skill that this service has published or a source lists."""
        own = self._registries.own
        if own is not None and origin.source in (None, REGISTRY):
            if own.has(origin.skill):
                return self._own(order, origin, own)
            if origin.source == REGISTRY and not self._catalog.is_folder(origin.skill):
                raise conflict(f"'{origin.skill}' is a record without a package: there are no files to install")
        offer = self._offers.find(origin.skill, origin.source)
        self._refuse_listed(order, offer)
        if offer.listed.origin is None:
            raise conflict(f"Source '{offer.source}' lists '{offer.listed.id}' without an origin to install it from")
        self._policy.check_origin(offer.listed.origin)
        if isinstance(offer.listed.origin, RegistryOrigin):
            return self._release(order, offer.listed.origin, offer)
        named = PackageLocation(offer.listed.origin, offer.source, offer.listed.id, order.requirement)
        return named._replace(listing=offer.listed)

    def _own(self, order: InstallOrder, origin: SourceOrigin, own: OwnRegistry) -> PackageLocation:
        if origin.source is None and self._offers.is_listed(origin.skill):
            raise conflict(f"'{origin.skill}' is ambiguous: name a source, '{REGISTRY}' for what is published here")
        bare = SourceOrigin(source=REGISTRY, skill=origin.skill)
        self._policy.check_origin(bare)
        self.refuse_installed(order, bare, origin.skill)
        chosen = self._registries.choose(own, origin.skill, order.requirement)
        return PackageLocation(bare, REGISTRY, origin.skill, order.requirement, chosen)

    def _release(self, order: InstallOrder, origin: RegistryOrigin, offer: Offer | None) -> PackageLocation:
        """Find a release of the registry at a URL. `offer`: the skill in the source with this URL."""
        bare = msgspec.structs.replace(origin, version=None)
        if offer is None:
            self.refuse_installed(order, bare, origin.skill)
        else:
            self._refuse_listed(order, offer)
        with refusing_unreachable():
            chosen = self._registries.wanted(origin, order.requirement, order.locked_release, offline=order.offline)
        return PackageLocation(bare, offer.source if offer else None, origin.skill, order.requirement, chosen)

    def _refuse_listed(self, order: InstallOrder, offer: Offer) -> None:
        installed = installed_from(self._catalog.database, None, offer.source, offer.listed.id)
        if installed is not None:
            raise order.refusal(installed, offer.skill_id)

    def refuse_installed(self, order: InstallOrder, origin: Origin, listed: str | None = None) -> None:
        """Raise CONFLICT if the skill of an origin is installed."""
        installed = installed_from(self._catalog.database, origin)
        if installed is not None:
            raise order.refusal(installed, listed or installed.skill_id)

    def _refuse_own_folder(self, path: Path) -> None:
        if self._root.is_relative_to(path):
            way = "name another one for it (skills_dir), such as with --skills-dir ~/.agents/skills"
            raise validation_error(FieldError("origin.path", f"must not contain the skills directory: {way}"))
        if path.is_relative_to(self._root):
            way = "'skill-registry scan' lists what was put there by hand"
            raise validation_error(FieldError("origin.path", f"must not be in the skills directory: {way}"))


@contextmanager
def refusing_unreachable() -> Iterator[None]:
    """Raise VALIDATION_ERROR in place of OutboundError: the origin in the request cannot be read."""
    try:
        yield
    except OutboundError as error:
        raise validation_error(FieldError("origin", str(error))) from None
