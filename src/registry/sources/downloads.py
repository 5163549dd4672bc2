"""What the readers of sources share: fetching within the limits, and the folder for what they keep."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from registry.domain.origins import GitOrigin, GitRef, origin_at
from registry.domain.repository_addresses import RepositoryAddress
from registry.errors import RegistryError
from registry.outbound import FetchedResponse, OutboundClient, OutboundError, Validators, redact_url
from registry.outbound.git import Git
from registry.runtime.atomic_files import TEMPORARY_PREFIX
from registry.sources.archives import unpack_archive
from registry.sources.urls import WithCredentials
from search import integrity

IN_FLIGHT = ".fetched"
"""The folder for temporary files. It clashes with no source, because names of sources do not begin with a dot."""


class Downloads:
    """Fetches files within limits.

    Args:
        outbound: The HTTP client.
        git: The git client.
        folder: The folder for fetched files, with a subfolder per source.
        download_bytes: The maximum size of a download.
        download_seconds: The time limit of a download.
        unpacked_bytes: The maximum unpacked size of a zip of skills.
    """

    def __init__(
        self,
        outbound: OutboundClient,
        git: Git,
        folder: Path,
        *,
        download_bytes: int,
        download_seconds: float,
        unpacked_bytes: int,
    ) -> None:
        self.git = git
        self.folder = folder
        self._outbound = outbound
        self._download_bytes = download_bytes
        self._download_seconds = download_seconds
        self._unpacked_bytes = unpacked_bytes

    def get(self, url: str, known: Validators, limit: int | None = None) -> FetchedResponse:
        """Return the content of a URL, without a body if it still matches `known`. Raises OutboundError."""
        return self._outbound.get(url, limit=limit or self._download_bytes, seconds=self._download_seconds, known=known)

    def download(self, url: str, into: Path, sha256: str | None = None) -> None:
        """Fetch a URL into a file that must not exist. Raises OutboundError, also for another digest, OSError."""
        self._outbound.download(url, into, limit=self._download_bytes, seconds=self._download_seconds)
        if sha256 is not None and (digest := integrity.sha256(into)) != sha256:
            into.unlink()
            raise OutboundError(f"{redact_url(url)} has the SHA-256 {digest}, not {sha256} as the origin says")

    def unpack(self, archive: Path, folder: Path) -> Path:
        """Unpack a zip into a folder that must not exist, and return it. Raises OutboundError, OSError."""
        limits = {"archive_bytes": self._download_bytes, "total_bytes": self._unpacked_bytes}
        return unpack_archive(archive, folder, **limits)

    @contextmanager
    def temporary(self) -> Iterator[Path]:
        """Yield a folder that is removed after the block."""
        home = self.folder / IN_FLIGHT
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=TEMPORARY_PREFIX, dir=home) as folder:
            yield Path(folder)

    def state(self, address: RepositoryAddress, with_credentials: WithCredentials) -> tuple[GitOrigin, str]:
        """Return the origin that an address means in its repository, without credentials, and its current commit.

        The repository is asked once. Raises OutboundError.
        """
        bare = GitOrigin(url=address.url, subdir=address.folder or None)
        if not address.path:
            return bare, self.git.latest(with_credentials(bare))
        if address.kind == "branch" and address.folder is not None:
            return self._latest(_at_branch(bare, address.path), with_credentials)
        refs = self.git.refs(with_credentials(bare))
        origin = found_at(address, refs)
        if origin.ref is None or origin.ref.commit:
            return self._latest(origin, with_credentials)
        return origin, refs[origin.ref.refspec]

    def _latest(self, origin: GitOrigin, with_credentials: WithCredentials) -> tuple[GitOrigin, str]:
        return origin, self.git.latest(with_credentials(origin))


def found_at(address: RepositoryAddress, refs: Mapping[str, str]) -> GitOrigin:
    """Return the origin of an address in a repository with these refs. Raises OutboundError if it has no such ref."""
    try:
        return origin_at(address, refs)
    except RegistryError as error:
        raise OutboundError(error.line) from None


def _at_branch(origin: GitOrigin, branch: str) -> GitOrigin:
    return GitOrigin(url=origin.url, ref=GitRef(branch=branch), subdir=origin.subdir)
