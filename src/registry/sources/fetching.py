"""Reads sources over git, over HTTP or from a folder, and fetches origins for installations."""

import hashlib
import json
import posixpath
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

import msgspec

from registry.domain.origins import GitOrigin, GitRef, HttpOrigin, Origin, ZipOrigin, origin_at, parse_origin
from registry.domain.repository_addresses import RepositoryAddress, parse_address
from registry.domain.source_entry import Listing, SourceEntry
from registry.errors import RegistryError
from registry.outbound import FetchedResponse, OutboundClient, OutboundError, Validators, redact_url
from registry.outbound.git import Git
from registry.outbound.git_links import CheckoutNote
from registry.runtime.atomic_files import TEMPORARY_PREFIX
from registry.runtime.home_folder import expanded
from registry.sources.archives import top_folder, unpack_archive
from registry.sources.marketplace import (
    DEFAULT_PATHS,
    MAX_DOCUMENT_BYTES,
    UnreadableDocument,
    parse_document,
    remote_listing,
)
from registry.sources.notes import with_notes
from registry.sources.tree import read_tree, skill_in

FOLDER = "sources"
"""The folder for fetched files in the data directory."""

_IN_FLIGHT = ".fetched"
"""The folder for temporary files. It clashes with no source, because names of sources do not begin with a dot."""


WithCredentials = Callable[[GitOrigin], GitOrigin]
"""Returns an origin with the credentials for it, if there are any."""


class SourceContents(NamedTuple):
    """The current listing of a source. `mark` identifies this state, so that an unchanged source is not read again."""

    mark: str
    listing: Listing


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
        self._outbound = outbound
        self._git = git
        self._folder = folder
        self._download_bytes = download_bytes
        self._download_seconds = download_seconds
        self._unpacked_bytes = unpacked_bytes

    def read(self, source: SourceEntry, mark: str) -> SourceContents | None:
        """Return the listing of a source, or None if its state still matches `mark`.

        Raises OutboundError, UnreadableDocument, OSError.
        """
        if source.type == "git":
            return self._read_git(source, mark)
        if source.type == "http":
            return self._read_http(source, mark)
        if source.type == "zip":
            return self._read_zip(source, mark)
        root = expanded(str(source.path))
        return SourceContents(
            "", read_tree(root, lambda place: parse_origin({"type": "local", "path": str(root / place)}))
        )

    def _read_git(self, source: SourceEntry, mark: str) -> SourceContents | None:
        origin, commit = self._state_of(source)
        home = self._folder / source.name
        if commit == mark and (home / commit).is_dir():
            return None
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=TEMPORARY_PREFIX, dir=home) as folder:
            # Named after the source, because a skill in the root of a repository is named after its folder.
            wanted = _as_user(source, origin)
            fetched = self._git.fetch(wanted, Path(folder) / "tree" / source.name)
            _replace(Path(folder) / "tree", home / fetched.commit)
        for other in home.iterdir():
            if other.name != fetched.commit and not other.name.startswith(TEMPORARY_PREFIX):
                shutil.rmtree(other, ignore_errors=True)
        tree = home / fetched.commit / source.name / (origin.subdir or "")
        fields: dict[str, Any] = msgspec.to_builtins(origin) | {"url": without_credentials(origin.url)}

        def origin_of(place: str) -> Origin:
            subdir = posixpath.normpath(posixpath.join(origin.subdir or "", place))
            return parse_origin(fields if subdir == "." else fields | {"subdir": subdir})

        return SourceContents(fetched.commit, with_notes(read_tree(tree, origin_of), fetched.notes))

    def _state_of(self, source: SourceEntry) -> tuple[GitOrigin, str]:
        """Return the ref and folder that a source names, without credentials, and its commit. Raises OutboundError."""
        address = parse_address(without_credentials(str(source.url)))
        assert isinstance(address, RepositoryAddress)  # the entry has checked it
        if not address.path:
            ref = GitRef(branch=source.branch) if source.branch else None
            origin = GitOrigin(url=address.url, ref=ref, subdir=address.folder or None)
            return origin, self._git.latest(_as_user(source, origin))
        refs = self._git.refs(_as_user(source, GitOrigin(url=address.url)))
        try:
            origin = origin_at(address, refs)
        except RegistryError as error:
            raise OutboundError(error.line) from None
        if origin.ref is None or origin.ref.commit:
            return origin, self._git.latest(_as_user(source, origin))
        return origin, refs[origin.ref.refspec]

    def _read_http(self, source: SourceEntry, mark: str) -> SourceContents | None:
        stored = self._folder / source.name / "marketplace.json"
        response = self._document(str(source.url), _validators(mark) if stored.is_file() else Validators())
        if response.body is None:
            return None
        listing = remote_listing(parse_document(response.body), _absolute_to(response.url))
        stored.parent.mkdir(parents=True, exist_ok=True)
        stored.write_bytes(response.body)
        return SourceContents(json.dumps(response.validators), listing)

    def _read_zip(self, source: SourceEntry, mark: str) -> SourceContents | None:
        validators, old_digest = json.loads(mark) if mark else (Validators(), "")
        response = self._outbound.get(
            str(source.url), limit=self._download_bytes, seconds=self._download_seconds, known=Validators(*validators)
        )
        if response.body is None or (digest := hashlib.sha256(response.body).hexdigest()) == old_digest:
            return None
        with self._temporary() as folder:
            (folder / "archive").write_bytes(response.body)
            # Named after the source, because a skill in the root of the zip is named after its folder.
            tree = self._unpack(folder / "archive", folder / source.name)
            top = top_folder(tree)
            fields = {"type": "zip", "url": without_credentials(str(source.url))}

            def origin_of(place: str) -> Origin:
                subdir = "/".join(part for part in (top, place) if part not in ("", "."))
                return parse_origin(fields | {"subdir": subdir} if subdir else fields)

            return SourceContents(json.dumps([response.validators, digest]), read_tree(tree / top, origin_of))

    def _unpack(self, archive: Path, folder: Path) -> Path:
        limits = {"archive_bytes": self._download_bytes, "total_bytes": self._unpacked_bytes}
        return unpack_archive(archive, folder, **limits)

    @contextmanager
    def _temporary(self) -> Iterator[Path]:
        home = self._folder / _IN_FLIGHT
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=TEMPORARY_PREFIX, dir=home) as folder:
            yield Path(folder)

    def _document(self, url: str, known: Validators) -> FetchedResponse:
        """Return the document at a URL or at one of the default paths below it."""
        problem: Exception | None = None
        for place in _places(url):
            try:
                response = self._outbound.get(
                    place, limit=MAX_DOCUMENT_BYTES, seconds=self._download_seconds, known=known
                )
                if response.body is not None:
                    parse_document(response.body)
            except (OutboundError, UnreadableDocument) as error:
                problem = problem or error
            else:
                return response
        raise problem or OutboundError(f"{redact_url(url)} has no marketplace document")

    @contextmanager
    def fetching(self, origin: Origin) -> Iterator[Fetched]:
        """Fetch an origin for the block: a folder, or a zip. Raises what `fetch` raises."""
        with self._temporary() as folder:
            fetched = self.fetch(origin, folder / "fetched")
            if isinstance(origin, ZipOrigin) and origin.subdir:
                place = self._unpack(fetched.path, folder / "unpacked") / origin.subdir
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
        with self._temporary() as folder:
            fetched = self._git.fetch(with_credentials(origin), folder / "tree")
            found = skill_in(fetched.path, address.skill)
        place = posixpath.normpath(posixpath.join(origin.subdir or "", found))
        return msgspec.structs.replace(origin, subdir=None if place == "." else place)

    def latest(self, origin: GitOrigin) -> str:
        """Return the current commit of an origin. Raises OutboundError."""
        return self._git.latest(origin)

    def fetch(self, origin: Origin, into: Path) -> Fetched:
        """Fetch a repository into the folder `into`, or a URL into the file `into`, which must not exist.

        Raises OutboundError, ValueError for an origin without a URL, OSError.
        """
        if isinstance(origin, GitOrigin):
            return Fetched(*self._git.fetch(origin, into))
        if not isinstance(origin, HttpOrigin | ZipOrigin):
            raise ValueError("only origins with a URL can be fetched")
        self._outbound.download(origin.url, into, limit=self._download_bytes, seconds=self._download_seconds)
        return Fetched(None, into)

    def remove_partial(self) -> None:
        """Remove incomplete fetches of a process that was killed."""
        for left in self._folder.glob(f"[!.]*/{TEMPORARY_PREFIX}*"):
            shutil.rmtree(left, ignore_errors=True)

    def remove(self, name: str) -> None:
        """Remove the stored files of a source."""
        shutil.rmtree(self._folder / name, ignore_errors=True)


def remove_fetched(data_dir: Path) -> None:
    """Remove files that killed installations have left. Only one process may use the data directory."""
    shutil.rmtree(data_dir / FOLDER / _IN_FLIGHT, ignore_errors=True)


def _replace(new: Path, place: Path) -> None:
    if place.exists():
        shutil.rmtree(place)
    new.rename(place)


def _places(url: str) -> list[str]:
    parts = urlsplit(url)
    if parts.query or parts.path.endswith((".json", "/marketplace")):
        return [url]
    return [f"{url.rstrip('/')}/{place}" for place in DEFAULT_PATHS]


def _absolute_to(base: str) -> Callable[[str], str]:
    return lambda url: urljoin(base, url)


def _validators(mark: str) -> Validators:
    return Validators(*json.loads(mark)) if mark else Validators()


def with_user_of(given: str, url: str) -> str:
    """Return a URL with the user and password of another one, if both have the same host."""
    parts = urlsplit(url)
    with_user = urlsplit(given).netloc
    return parts._replace(netloc=with_user).geturl() if with_user.rpartition("@")[2] == parts.netloc else url


def _as_user(source: SourceEntry, origin: GitOrigin) -> GitOrigin:
    """Return an origin with the credentials of a source."""
    return msgspec.structs.replace(origin, url=with_user_of(str(source.url), origin.url))


def without_credentials(url: str) -> str:
    """Return the URL without user and password, for storage and responses."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
