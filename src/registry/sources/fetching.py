"""Reads sources that are files, and fetches origins for installations."""

import posixpath
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec

from registry.domain.origins import GitOrigin, HttpOrigin, Origin, ZipOrigin, origin_at
from registry.domain.repository_addresses import RepositoryAddress
from registry.domain.skill_file import SKILL_FILE, is_skill_file
from registry.domain.source_entry import SourceEntry
from registry.outbound import OutboundClient, OutboundError, Validators, redact_url
from registry.outbound.git import Git
from registry.outbound.git_links import CheckoutNote
from registry.runtime.atomic_files import TEMPORARY_PREFIX
from registry.sources.downloads import IN_FLIGHT, Downloads
from registry.sources.marketplace import MAX_DOCUMENT_BYTES, UnreadableDocument
from registry.sources.readers import readers
from registry.sources.source_reader import SourceContents
from registry.sources.tree import skill_in
from registry.sources.urls import WithCredentials
from registry.sources.well_known import INDEX_PATHS, read_index

FOLDER = "sources"
"""The folder for fetched files in the data directory."""


class Fetched(NamedTuple):
    """A fetched origin: a folder with its commit, or a single file without commit. `notes` say what is left out."""

    commit: str | None
    path: Path
    notes: tuple[CheckoutNote, ...] = ()


class Fetcher:
    """Reads sources and fetches origins. Stores fetched files below `folder`.

    Args:
        outbound: The HTTP client.
        git: The git client.
        folder: The folder for fetched files, with a subfolder per source.
        download_bytes: The maximum size of a download.
        unpacked_bytes: The maximum unpacked size of a zip of skills.
        download_seconds: The time limit of a download.
    """

    def __init__(
        self,
        outbound: OutboundClient,
        git: Git,
        folder: Path,
        *,
        download_bytes: int,
        download_seconds: float,
        unpacked_bytes: int = 100 << 20,
    ) -> None:
        self._downloads = Downloads(
            outbound,
            git,
            folder,
            download_bytes=download_bytes,
            download_seconds=download_seconds,
            unpacked_bytes=unpacked_bytes,
        )
        self._git = git
        self._readers = readers(self._downloads)

    def read(self, source: SourceEntry, mark: str) -> SourceContents | None:
        """Return the listing of a source of files, or None if its state still matches `mark`.

        Raises OutboundError, UnreadableDocument, OSError.
        """
        return self._readers[source.type].read(source, mark)

    def has_index(self, url: str) -> bool:
        """Return whether a site has an index of skills below a URL, as far as it answers."""
        for place in INDEX_PATHS:
            address = f"{url.rstrip('/')}/{place}"
            with suppress(OutboundError, UnreadableDocument):
                response = self._downloads.get(address, Validators(), MAX_DOCUMENT_BYTES)
                return bool(read_index(response.body or b"", response.url).skills)
        return False

    @contextmanager
    def fetching(self, origin: Origin) -> Iterator[Fetched]:
        """Fetch an origin for the block: a folder, or a zip. Raises what `fetch` raises."""
        with self._downloads.temporary() as folder:
            if isinstance(origin, HttpOrigin) and is_skill_file(urlsplit(origin.url).path.rpartition("/")[2]):
                (folder / "skill").mkdir()
                self._downloads.download(origin.url, folder / "skill" / SKILL_FILE, origin.sha256)
                yield Fetched(None, folder / "skill")
                return
            fetched = self.fetch(origin, folder / "fetched")
            if isinstance(origin, ZipOrigin) and origin.subdir:
                place = self._downloads.unpack(fetched.path, folder / "unpacked") / origin.subdir
                if not place.is_dir():
                    raise OutboundError(f"{redact_url(origin.url)} has no folder {origin.subdir}")
                fetched = Fetched(None, place)
            yield fetched

    def resolved(self, address: RepositoryAddress, with_credentials: WithCredentials) -> GitOrigin:
        """Return the origin that an address means in its repository, without credentials.

        Raises OutboundError; VALIDATION_ERROR if the repository has no such ref or skill.
        """
        bare = GitOrigin(url=address.url)
        origin = msgspec.structs.replace(bare, subdir=address.folder or None)
        if address.path:
            origin = origin_at(address, self._git.refs(with_credentials(bare)))
        if address.skill is None:
            return origin
        with self._downloads.temporary() as folder:
            fetched = self._git.fetch(with_credentials(origin), folder / "tree")
            path = skill_in(fetched.path, address.skill)
        place = posixpath.normpath(posixpath.join(origin.subdir or "", path))
        return msgspec.structs.replace(origin, subdir=None if place == "." else place)

    def latest(self, origin: GitOrigin) -> str:
        """Return the current commit of an origin. Raises OutboundError."""
        return self._git.latest(origin)

    def places(self, origin: GitOrigin, folders: dict[GitOrigin, Sequence[str]]) -> Sequence[GitOrigin]:
        """Return where the skill of an origin may be, of which its repository lacks the folder or the ref.

        `folders` keeps what was read of the repository for its other skills. Raises OutboundError.
        """
        return self._git.places(origin, folders)

    def fetch(self, origin: Origin, into: Path) -> Fetched:
        """Fetch a repository into the folder `into`, or a URL into the file `into`, which must not exist.

        Raises OutboundError, ValueError for an origin without a URL, OSError.
        """
        if isinstance(origin, GitOrigin):
            return Fetched(*self._git.fetch(origin, into))
        if not isinstance(origin, HttpOrigin | ZipOrigin):
            raise ValueError("only origins with a URL can be fetched")
        self._downloads.download(origin.url, into, origin.sha256)
        return Fetched(None, into)

    def unpack(self, archive: Path, folder: Path) -> Path:
        """Unpack a zip of skills into a folder that must not exist, and return it. Raises OutboundError, OSError."""
        return self._downloads.unpack(archive, folder)

    def remove_partial(self) -> None:
        """Remove incomplete fetches of a process that was killed."""
        for left in self._downloads.folder.glob(f"[!.]*/{TEMPORARY_PREFIX}*"):
            shutil.rmtree(left, ignore_errors=True)

    def remove(self, name: str) -> None:
        """Remove the stored files of a source."""
        shutil.rmtree(self._downloads.folder / name, ignore_errors=True)


def remove_fetched(data_dir: Path) -> None:
    """Remove files that killed installations have left. Only one process may use the data directory."""
    shutil.rmtree(data_dir / FOLDER / IN_FLIGHT, ignore_errors=True)
