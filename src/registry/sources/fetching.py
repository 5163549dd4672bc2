"""Reading a source anew: over git, over HTTP, or from a folder; and fetching one origin for whoever installs it."""

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

from registry.domain.origins import GitOrigin, GitRef, HttpOrigin, Origin, ZipOrigin, parse_origin
from registry.domain.source_entry import Listing, SourceEntry
from registry.outbound import FetchedResponse, OutboundClient, OutboundError, Validators, redact_url
from registry.outbound.git import Git
from registry.runtime.atomic_files import TEMPORARY_PREFIX
from registry.sources.archives import top, unpacked
from registry.sources.marketplace import MAX_DOCUMENT_BYTES, PLACES, UnreadableDocument, parse_document, remote_listing
from registry.sources.tree import read_tree

FOLDER = "sources"
"""The folder of what is fetched, in the data directory."""

_IN_FLIGHT = ".fetched"
"""The folder of what is fetched for a moment: no source has a name that begins with a dot."""


class Read(NamedTuple):
    """What a source lists now; `mark` names that state, so that what has not changed is not read again."""

    mark: str
    listing: Listing


class Fetched(NamedTuple):
    """An origin on disk: a folder with its commit, or one file without."""

    commit: str | None
    path: Path


class Fetcher:
    """Reads sources, keeping what it fetched below `folder`, and fetches origins.

    Args:
        outbound: For HTTP.
        git: For repositories.
        folder: A folder of ours; a source has a folder of its name in it.
        download_bytes: The largest file fetched over HTTP.
        unpacked_bytes: How much a zip of skills may hold.
        download_seconds: How long that may take.
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

    def read(self, source: SourceEntry, mark: str) -> Read | None:
        """Return what a source lists, or None where its state is still that of `mark`.

        Raises OutboundError, UnreadableDocument, OSError.
        """
        if source.type == "git":
            return self._read_git(source, mark)
        if source.type == "http":
            return self._read_http(source, mark)
        if source.type == "zip":
            return self._read_zip(source, mark)
        root = Path(str(source.path)).expanduser().absolute()
        return Read("", read_tree(root, lambda place: parse_origin({"type": "local", "path": str(root / place)})))

    def _read_git(self, source: SourceEntry, mark: str) -> Read | None:
        ref = GitRef(branch=source.branch) if source.branch else None
        origin = GitOrigin(url=str(source.url), ref=ref)
        commit = self._git.latest(origin)
        home = self._folder / source.name
        if commit == mark and (home / commit).is_dir():
            return None
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=TEMPORARY_PREFIX, dir=home) as folder:
            # Named after the source, since a skill in the root of its repository is named after its folder.
            fetched = self._git.fetch(origin, Path(folder) / "tree" / source.name)
            _replace(Path(folder) / "tree", home / fetched.commit)
        for other in home.iterdir():
            if other.name != fetched.commit and not other.name.startswith(TEMPORARY_PREFIX):
                shutil.rmtree(other, ignore_errors=True)
        known: dict[str, Any] = {"type": "git", "url": without_credentials(str(source.url))}
        known |= {"ref": {"branch": source.branch}} if source.branch else {}
        tree = home / fetched.commit / source.name
        return Read(
            fetched.commit,
            read_tree(tree, lambda place: parse_origin(known if place == "." else known | {"subdir": place})),
        )

    def _read_http(self, source: SourceEntry, mark: str) -> Read | None:
        kept = self._folder / source.name / "marketplace.json"
        answer = self._document(str(source.url), _validators(mark) if kept.is_file() else Validators())
        if answer.body is None:
            return None
        listing = remote_listing(parse_document(answer.body), _absolute_to(answer.url))
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(answer.body)
        return Read(json.dumps(answer.validators), listing)

    def _read_zip(self, source: SourceEntry, mark: str) -> Read | None:
        known, before = json.loads(mark) if mark else (Validators(), "")
        answer = self._outbound.get(
            str(source.url), limit=self._download_bytes, seconds=self._download_seconds, known=Validators(*known)
        )
        if answer.body is None or (seen := hashlib.sha256(answer.body).hexdigest()) == before:
            return None
        with self._temporary() as folder:
            (folder / "archive").write_bytes(answer.body)
            # Named after the source, since a skill in the root of the zip is named after its folder.
            tree = self._unpack(folder / "archive", folder / source.name)
            above = top(tree)
            given = {"type": "zip", "url": without_credentials(str(source.url))}

            def origin_of(place: str) -> Origin:
                subdir = "/".join(part for part in (above, place) if part not in ("", "."))
                return parse_origin(given | {"subdir": subdir} if subdir else given)

            return Read(json.dumps([answer.validators, seen]), read_tree(tree / above, origin_of))

    def _unpack(self, archive: Path, folder: Path) -> Path:
        limits = {"archive_bytes": self._download_bytes, "total_bytes": self._unpacked_bytes}
        return unpacked(archive, folder, **limits)

    @contextmanager
    def _temporary(self) -> Iterator[Path]:
        home = self._folder / _IN_FLIGHT
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=TEMPORARY_PREFIX, dir=home) as folder:
            yield Path(folder)

    def _document(self, url: str, known: Validators) -> FetchedResponse:
        """Return the document at a URL, or at one of the usual places below it."""
        problem: Exception | None = None
        for place in _places(url):
            try:
                answer = self._outbound.get(
                    place, limit=MAX_DOCUMENT_BYTES, seconds=self._download_seconds, known=known
                )
                if answer.body is not None:
                    parse_document(answer.body)
            except (OutboundError, UnreadableDocument) as error:
                problem = problem or error
            else:
                return answer
        raise problem or OutboundError(f"{redact_url(url)} has no marketplace document")

    @contextmanager
    def fetching(self, origin: Origin) -> Iterator[Fetched]:
        """Fetch an origin for the block: a folder, or a zip. Raises as `fetch` does."""
        with self._temporary() as folder:
            fetched = self.fetch(origin, folder / "fetched")
            if isinstance(origin, ZipOrigin) and origin.subdir:
                place = self._unpack(fetched.path, folder / "unpacked") / origin.subdir
                if not place.is_dir():
                    raise OutboundError(f"{redact_url(origin.url)} has no folder {origin.subdir}")
                fetched = Fetched(None, place)
            yield fetched

    def latest(self, origin: GitOrigin) -> str:
        """Return the commit an origin stands for now. Raises OutboundError."""
        return self._git.latest(origin)

    def fetch(self, origin: Origin, into: Path) -> Fetched:
        """Fetch an origin: a repository to the folder `into`, a file behind a URL to the file `into`; neither exists.

        Raises OutboundError, ValueError for an origin that is not elsewhere, OSError.
        """
        if isinstance(origin, GitOrigin):
            return Fetched(*self._git.fetch(origin, into))
        if not isinstance(origin, HttpOrigin | ZipOrigin):
            raise ValueError("only origins behind a URL are fetched")
        self._outbound.download(origin.url, into, limit=self._download_bytes, seconds=self._download_seconds)
        return Fetched(None, into)

    def tidy(self) -> None:
        """Remove what a process that was killed has left half-fetched."""
        for left in self._folder.glob(f"[!.]*/{TEMPORARY_PREFIX}*"):
            shutil.rmtree(left, ignore_errors=True)

    def forget(self, name: str) -> None:
        """Remove what was kept of a source."""
        shutil.rmtree(self._folder / name, ignore_errors=True)


def remove_fetched(data_dir: Path) -> None:
    """Remove what installations that were killed have left. Only one process may use the data directory."""
    shutil.rmtree(data_dir / FOLDER / _IN_FLIGHT, ignore_errors=True)


def _replace(new: Path, place: Path) -> None:
    if place.exists():
        shutil.rmtree(place)
    new.rename(place)


def _places(url: str) -> list[str]:
    parts = urlsplit(url)
    if parts.query or parts.path.endswith((".json", "/marketplace")):
        return [url]
    return [f"{url.rstrip('/')}/{place}" for place in PLACES]


def _absolute_to(base: str) -> Callable[[str], str]:
    return lambda url: urljoin(base, url)


def _validators(mark: str) -> Validators:
    return Validators(*json.loads(mark)) if mark else Validators()


def without_credentials(url: str) -> str:
    """Return a URL that may be kept and answered."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
