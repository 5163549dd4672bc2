"""A mirrored registry for this service itself, which installs from it as from a registry that is read over HTTP."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from registry.domain.release_proofs import ReleaseProof
from registry.errors import RegistryError
from registry.mirrors.mirror import Mirror
from registry.outbound import OutboundError
from registry.sources.registry_documents import LogKey, RegistryDescription, Release
from registry.transparency.merkle import Hash

_ENTRIES = 1_000


class MirroredRegistry:
    """What a mirror keeps and fetches, as a ReadableRegistry. Methods raise OutboundError for what it cannot have."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror
        self.url = mirror.url

    def description(self) -> RegistryDescription:
        """Return a description with the key of the log."""
        with _unavailable():
            key = self._mirror.key()
        return RegistryDescription(
            protocol="skill-registry", version=1, log=LogKey(name=key.partition("+")[0], key=key)
        )

    def releases(self, skill_id: str) -> Sequence[Release]:
        """Return the published versions of a skill, with what the log says of them. Raises SKILL_NOT_FOUND."""
        with _unavailable():
            return self._mirror.releases(skill_id)

    def download(self, release: Release, into: Path) -> None:
        """Copy the package of a version, with the digest of the log. Raises CONFLICT for a revoked one, OSError."""
        with _unavailable():
            package = self._mirror.package(release.skill_id, release.version)
        with package.file, into.open("xb") as copy:
            shutil.copyfileobj(package.file, copy)

    def checkpoint(self) -> str:
        """Return the last checkpoint of the log."""
        with _unavailable():
            return self._mirror.log().signed()[0]

    def consistency(self, before: int, size: int) -> list[Hash]:
        """Return the consistency proof between two sizes of the log."""
        with _unavailable():
            return self._mirror.log().consistency(before, size)

    def log_entries(self, start: int) -> list[str]:
        """Return at most 1,000 entries of the log."""
        with _unavailable():
            return self._mirror.entries(start, _ENTRIES)

    def log_proof(self, skill_id: str, version: str) -> ReleaseProof:
        """Return the log entry of a version with its proof. Raises SKILL_NOT_FOUND."""
        with _unavailable():
            return self._mirror.proof(skill_id, version)[0]


@contextmanager
def _unavailable() -> Iterator[None]:
    """Raise OutboundError in place of SERVICE_UNAVAILABLE, and for a size that the log does not have."""
    try:
        yield
    except RegistryError as error:
        if error.code != "SERVICE_UNAVAILABLE":
            raise
        raise OutboundError(error.message) from None
    except ValueError as error:
        raise OutboundError(str(error)) from None
