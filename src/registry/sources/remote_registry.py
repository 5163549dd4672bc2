"""Another registry, read over HTTP: what it lists, its packages, and its transparency log."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn, Protocol
from urllib.parse import quote, urlsplit

from registry.domain.addresses import parse_url
from registry.domain.api import API
from registry.domain.release_proofs import ReleaseProof
from registry.errors import skill_not_found
from registry.outbound import (
    Credential,
    FetchedResponse,
    Interruption,
    OutboundClient,
    OutboundError,
    StatusError,
    Validators,
    redact_url,
)
from registry.sources.registry_documents import (
    CHECKPOINT_BYTES,
    DESCRIPTION_BYTES,
    INDEX_FILE_BYTES,
    PAGE_BYTES,
    PAGE_ENTRIES,
    PROOF_BYTES,
    AdvisoryPage,
    ChangePage,
    RegistryDescription,
    Release,
    read_advisories,
    read_consistency,
    read_description,
    read_log_entries,
    read_log_proof,
    read_page,
    read_reason,
    read_releases,
)
from registry.transparency.merkle import Hash
from search import integrity

__all__ = ["ChangePage", "NotARegistry", "ReadableRegistry", "RegistryDescription", "Release", "RemoteRegistry"]

_log = logging.getLogger("registry.sources")

DISCOVERY = "/.well-known/skill-registry.json"


class ReadableRegistry(Protocol):
    """What is read of a registry to install from it: over HTTP, or from what a mirror keeps of it.

    The methods do what those of RemoteRegistry do, and raise the same.
    """

    url: str

    def description(self) -> RegistryDescription:
        """Return what the registry says of itself."""
        ...

    def releases(self, skill_id: str) -> Sequence[Release]:
        """Return the published versions of a skill."""
        ...

    def download(self, release: Release, into: Path) -> None:
        """Write the package of a version to a new file."""
        ...

    def checkpoint(self) -> str:
        """Return the current checkpoint of the log."""
        ...

    def consistency(self, before: int, size: int) -> list[Hash]:
        """Return the consistency proof between two sizes of the log."""
        ...

    def log_entries(self, start: int) -> list[str]:
        """Return at most 1,000 entries of the log."""
        ...

    def log_proof(self, skill_id: str, version: str) -> ReleaseProof:
        """Return the log entry of a version with its proof."""
        ...


class NotARegistry(OutboundError):
    """Nothing at the URL says that it is a registry."""


class RemoteRegistry:
    """A registry at `url`, perhaps below a path. Methods raise OutboundError if it cannot be read.

    Only the origin (scheme, host and port) of `url` gets the API key or token. Nothing that it answers is trusted.

    Args:
        outbound: The HTTP client.
        url: The address of the registry, without credentials, query and fragment.
        api_key: An API key or a token; None for a registry that any caller may read.
        download_bytes: The maximum size of a package.
        seconds: The time limit of each request, besides the time that it waits for changes.
        interruption: Ends requests from another thread, except downloads.
    """

    def __init__(
        self,
        outbound: OutboundClient,
        url: str,
        api_key: str | None = None,
        *,
        download_bytes: int,
        seconds: float,
        interruption: Interruption | None = None,
    ) -> None:
        self.url = url.rstrip("/")
        parts = urlsplit(self.url)
        if parse_url(self.url).credentials is not None or parts.query or parts.fragment:
            raise OutboundError("the URL of a registry must have no user, password, query and fragment")
        self._outbound = outbound
        self._credential = Credential(self.url, api_key) if api_key is not None else None
        self._download_bytes = download_bytes
        self._seconds = seconds
        self._interruption = interruption

    def description(self) -> RegistryDescription:
        """Return what the registry says of itself. Raises NotARegistry, StatusError.

        The credential is sent only where the registry wants one even for this, as a private scope does.
        """
        try:
            response = self._outbound.get(f"{self.url}{DISCOVERY}", limit=DESCRIPTION_BYTES, seconds=self._seconds)
        except StatusError as error:
            if error.status != 401:
                raise NotARegistry(f"there is no registry at {self.url} (status {error.status})") from None
            response = self._get(DISCOVERY, DESCRIPTION_BYTES)
        return read_description(self.url, response.body or b"")

    def changes(
        self, after: int, *, wait: int = 0, known: Validators | None = None, limit: int = PAGE_ENTRIES
    ) -> ChangePage | None:
        """Return the changes after a revision, or None if nothing has changed since the validators `known`.

        Without changes, the registry waits up to `wait` seconds for some.
        Raises StatusError with status 400 if the registry has no revision `after`.
        """
        path = f"{API}/registry/index/changes?after={after}&limit={limit}" + (f"&wait={wait}" if wait else "")
        response = self._get(path, PAGE_BYTES, known=known, wait=wait)
        if response.body is None:
            return None
        return read_page(self.url, response.body, after, response.validators)

    def releases(self, skill_id: str) -> list[Release]:
        """Return the published versions of a skill as its index file lists them. Raises SKILL_NOT_FOUND."""
        return self.read_releases(skill_id, self.index_file(skill_id))

    def index_file(self, skill_id: str) -> bytes:
        """Return the index file of a skill, not verified. Raises SKILL_NOT_FOUND."""
        try:
            return self._get(f"/index/{quote(skill_id)}", INDEX_FILE_BYTES).body or b""
        except StatusError as error:
            _raise_not_found(error, skill_id)

    def read_releases(self, skill_id: str, body: bytes) -> list[Release]:
        """Return the versions that an index file of this registry lists."""
        return read_releases(
            self.url, skill_id, body, lambda text: _log.warning("%s: index of %s: %s", self.url, skill_id, text)
        )

    def download(self, release: Release, into: Path) -> None:
        """Write the package of a version to the file `into`, which must not exist, and verify its checksum.

        A package at another origin is fetched without the credential. If that fails, the registry is asked for it.
        Raises OutboundError, also for a wrong checksum; OSError. A failure leaves no file.
        """
        if release.size > self._download_bytes:
            raise OutboundError(f"the package has {release.size:,} bytes, more than limits.download_bytes allows")
        own = f"{self.url}/packages/{quote(release.skill_id)}/{quote(release.version)}.zip"
        if release.download_url and release.download_url != own:
            try:
                self._download(release.download_url, release, into)
                return
            except OutboundError as error:
                _log.warning("%s: %s; the registry itself is asked", self.url, error)
        self._download(own, release, into)

    def _download(self, url: str, release: Release, into: Path) -> None:
        if self.url.lower().startswith("https:") and not url.lower().startswith("https:"):
            raise OutboundError(f"{redact_url(url)} is not https, as the registry is")
        limit = min(release.size or self._download_bytes, self._download_bytes)
        try:
            self._outbound.download(url, into, limit=limit, seconds=self._seconds, credential=self._credential)
        except StatusError as error:
            raise self._explained(error) from None
        digest = integrity.sha256(into)
        if f"sha256:{digest}" != release.checksum:
            into.unlink()
            raise OutboundError(
                f"{redact_url(url)} has the checksum sha256:{digest}, but the index says {release.checksum}"
            )

    def checkpoint(self) -> str:
        """Return the current checkpoint of the log as a signed note, which is not verified here."""
        try:
            return (self._get(f"{API}/log/checkpoint", CHECKPOINT_BYTES).body or b"").decode()
        except UnicodeDecodeError:
            raise OutboundError(f"the checkpoint of {self.url} is not a text") from None

    def consistency(self, before: int, size: int) -> list[Hash]:
        """Return the consistency proof between two sizes of the log, which is not verified here."""
        path = f"{API}/log/consistency?before={before}&size={size}"
        return read_consistency(self.url, self._get(path, PROOF_BYTES).body or b"")

    def inclusion(self, number: int, size: int) -> list[Hash]:
        """Return the inclusion proof of an entry in the log of a size, which is not verified here."""
        path = f"{API}/log/inclusion?number={number}&size={size}"
        return read_consistency(self.url, self._get(path, PROOF_BYTES).body or b"")

    def advisories(self, after: int) -> AdvisoryPage | None:
        """Return what was withdrawn and restored after an entry of the log, not verified.

        None: the registry is of a release that has no list of that.
        """
        try:
            body = self._get(f"{API}/registry/advisories?after={after}&limit=500", PAGE_BYTES).body
        except StatusError as error:
            if error.status == 404:
                return None
            raise
        return read_advisories(self.url, body or b"")

    def log_entries(self, start: int) -> list[str]:
        """Return the entries of the log from number `start` on, at most 1,000 of them, not verified."""
        return read_log_entries(self.url, self._get(f"{API}/log/entries?start={start}", PAGE_BYTES).body or b"")

    def log_proof(self, skill_id: str, version: str) -> ReleaseProof:
        """Return the log entry of a version with its proof, not verified. Raises SKILL_NOT_FOUND."""
        try:
            body = self._get(f"{API}/log/proof/{quote(skill_id)}/{quote(version)}", PROOF_BYTES).body
        except StatusError as error:
            _raise_not_found(error, skill_id, version)
        return read_log_proof(self.url, body or b"")

    def _get(self, path: str, limit: int, *, known: Validators | None = None, wait: int = 0) -> FetchedResponse:
        try:
            return self._outbound.get(
                f"{self.url}{path}",
                limit=limit,
                seconds=self._seconds + wait,
                known=known,
                credential=self._credential,
                interruption=self._interruption,
            )
        except StatusError as error:
            raise self._explained(error) from None

    def _explained(self, error: StatusError) -> StatusError:
        """Return the error with the registry's own reason, or what to do about a missing or weak credential."""
        if error.status == 401 and self._credential is None:
            login = f"'skill-registry login --server {self.url}' gets a token for commands"
            text = f"{self.url} needs a credential: {login}, and a source needs an API key"
        elif error.status == 401:
            text = f"{self.url} does not accept the API key or token: it is wrong, expired or revoked"
        elif error.status == 403:
            text = f"{self.url} refuses: the API key or token lacks the role for this (user to read and install)"
        elif (reason := read_reason(error.body)) is not None:
            text = f"{error}: {reason}"
        else:
            return error
        return StatusError(text, error.status)


def _raise_not_found(error: StatusError, skill_id: str, version: str | None = None) -> NoReturn:
    if error.status == 404:
        raise skill_not_found(skill_id, version) from None
    raise error
