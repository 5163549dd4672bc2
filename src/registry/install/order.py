"""The order to install a skill: its origin, and what its package must be."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import msgspec

from registry.catalog.installs import Installed
from registry.domain.api import API
from registry.domain.origins import Origin, RegistryOrigin, SourceOrigin
from registry.domain.release_proofs import PinnedProof
from registry.domain.repository_addresses import RepositoryAddress
from registry.domain.version_requirement import admits, is_exact
from registry.errors import RegistryError, conflict, exists_already

CheckNames = Callable[[Iterable[str], str | None], None]


class LockedRelease(NamedTuple):
    """A release as a lock names it: its version, the SHA-256 of its zip in hexadecimal, and the proof of its log."""

    version: str
    package: str
    log: PinnedProof


def locked_release(requirement: str | None, package: str | None, log: PinnedProof | None) -> LockedRelease | None:
    """Return the release that these say, None if they leave anything open."""
    if requirement is None or package is None or log is None or not is_exact(requirement):
        return None
    return LockedRelease(requirement, package, log)


class InstallOrder(msgspec.Struct, kw_only=True, frozen=True):
    """The request to install a skill.

    Args:
        origin: The origin of the skill, of any kind, or an address whose ref only its repository knows.
        version: The version or range that the package must have, if the origin names none.
        commit: The commit of a repository, instead of the current one of its branch.
        sha256: The required `tree_digest` of the files, in hexadecimal.
        package: The required SHA-256 of the zip of a registry, in hexadecimal.
        log: An earlier proof from the log of the registry, which the log must extend.
        save: Whether to add the skill to the project's manifest.
        offline: Whether nothing may be fetched: the package is of this machine, or in the cache.
        check_names: Refuses an id or a displayed name. It gets both, and the id under which the package was listed.
    """

    origin: Origin | RepositoryAddress
    version: str | None = None
    commit: str | None = None
    sha256: str | None = None
    package: str | None = None
    log: PinnedProof | None = None
    save: bool = True
    offline: bool = False
    check_names: CheckNames = lambda names, own: None

    @property
    def requirement(self) -> str | None:
        """The version or range that the package must have."""
        named = self.origin.version if isinstance(self.origin, SourceOrigin | RegistryOrigin) else None
        return named or self.version

    @property
    def is_locked(self) -> bool:
        """Whether a lock file names the state to install, which is no wish to keep it."""
        return self.sha256 is not None and not self.save

    @property
    def locked_release(self) -> LockedRelease | None:
        """The release of a registry that a lock names, if one does."""
        return locked_release(self.requirement, self.package, self.log)

    def refusal(self, installed: Installed, name: str) -> RegistryError:
        """Return the CONFLICT with a skill that is installed from this origin; `name` is its id there."""
        skill_id, version, record = installed
        named = f"'{name}' is already installed" + (f" as '{skill_id}'" if name != skill_id else "")
        if not admits(self.requirement, version):
            hint = f"'skill-registry upgrade {skill_id} --version {self.requirement}' changes it"
            return conflict(f"{named} in version {version}: {hint}")
        is_other_commit = self.commit not in (None, record.commit)
        if is_other_commit or (self.sha256 is not None and record.sha256 != f"sha256:{self.sha256}"):
            return conflict(f"{named} with other files than those that are wanted: uninstall it first")
        return exists_already(named, f"{API}/skills/{skill_id}")
