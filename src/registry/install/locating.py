"""Finds the package that an origin names: in this registry, in a source, in another registry, or at a URL."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from registry.catalog.installs import installed_folder
from registry.domain.origins import LocalOrigin, Origin, RegistryOrigin, SourceOrigin
from registry.domain.source_entry import REGISTRY
from registry.errors import FieldError, conflict, forbidden, validation_error
from registry.install.parts import InstallParts
from registry.install.registries import ChosenRelease, OwnRegistry
from registry.outbound import OutboundError
from registry.sources.offers import Offer


class PackageLocation(NamedTuple):
    """The location of a package.

    Args:
        origin: The origin. That of a registry names no version.
        source: The source that lists it as `listed`, if it is from a source.
        listed: Its id in the source or in the registry.
        requirement: The version or range that the order names.
        chosen: The release of a registry to install.
    """

    origin: Origin
    source: str | None = None
    listed: str | None = None
    requirement: str | None = None
    chosen: ChosenRelease | None = None


class Locator:
    """Finds packages and refuses those that are installed already."""

    def __init__(self, parts: InstallParts) -> None:
        self._packages = parts.packages
        self._offers = parts.offers
        self._registries = parts.registries
        self._catalog = parts.catalog
        self._root = parts.local.root

    def locate(self, origin: Origin) -> PackageLocation:
        """Return the location of a package.

        Raises SKILL_NOT_FOUND and NOT_FOUND if no source has it; CONFLICT if it is installed or ambiguous; FORBIDDEN
        for folders that may not be read; VALIDATION_ERROR if its registry cannot be read.
        """
        match origin:
            case LocalOrigin():
                if origin.editable and not self._packages.any_folder:
                    raise forbidden("A folder can be used in place only if the local profile listens on loopback")
                self._refuse_own_folder(self._packages.local_path(origin))
                return PackageLocation(origin)
            case SourceOrigin():
                return self._listed(origin)
            case RegistryOrigin():
                return self._release(origin, self._offers.of_registry(origin.url, origin.skill))
            case _:
                return PackageLocation(origin)

    def _listed(self, origin: SourceOrigin) -> PackageLocation:
        """Find a skill that this service has published or a source lists."""
        own = self._registries.own
        if own is not None and origin.source in (None, REGISTRY):
            if own.has(origin.skill):
                return self._own(origin, own)
            if origin.source == REGISTRY and not self._catalog.is_folder(origin.skill):
                raise conflict(f"'{origin.skill}' is a record without a package: there are no files to install")
        offer = self._offers.find(origin.skill, origin.source)
        self._refuse_installed(offer.source, offer.listed.id, offer.skill_id)
        if offer.listed.origin is None:
            raise conflict(f"Source '{offer.source}' lists '{offer.listed.id}' without an origin to install it from")
        if isinstance(offer.listed.origin, RegistryOrigin):
            return self._release(msgspec.structs.replace(offer.listed.origin, version=origin.version), offer)
        return PackageLocation(offer.listed.origin, offer.source, offer.listed.id, origin.version)

    def _own(self, origin: SourceOrigin, own: OwnRegistry) -> PackageLocation:
        if origin.source is None and self._offers.is_listed(origin.skill):
            raise conflict(f"'{origin.skill}' is ambiguous: name a source, '{REGISTRY}' for what is published here")
        self._refuse_installed(REGISTRY, origin.skill, origin.skill)
        chosen = self._registries.choose(own, origin.skill, origin.version)
        bare = SourceOrigin(source=REGISTRY, skill=origin.skill)
        return PackageLocation(bare, REGISTRY, origin.skill, origin.version, chosen)

    def _release(self, origin: RegistryOrigin, offer: Offer | None) -> PackageLocation:
        """Find a release of the registry at a URL. `offer`: the skill in the source with this URL."""
        if offer is not None:
            self._refuse_installed(offer.source, offer.listed.id, offer.skill_id)
        with refusing_unreachable():
            chosen = self._registries.choose(self._registries.at(origin.url), origin.skill, origin.version)
        bare = msgspec.structs.replace(origin, version=None)
        return PackageLocation(bare, offer.source if offer else None, origin.skill, origin.version, chosen)

    def _refuse_installed(self, source: str, listed: str, skill_id: str) -> None:
        folder = installed_folder(self._catalog.database, source, listed)
        if folder is not None:
            raise conflict(f"'{skill_id}' is already installed as '{folder}'")

    def _refuse_own_folder(self, path: Path) -> None:
        if path.is_relative_to(self._root) or self._root.is_relative_to(path):
            raise validation_error(FieldError("origin.path", "must not contain, or be in, the skills directory"))


@contextmanager
def refusing_unreachable() -> Iterator[None]:
    """Raise VALIDATION_ERROR in place of OutboundError: the origin in the request cannot be read."""
    try:
        yield
    except OutboundError as error:
        raise validation_error(FieldError("origin", str(error))) from None
