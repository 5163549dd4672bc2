"""The readers of sources: git repositories, marketplace documents and zips at URLs, and folders."""

import hashlib
import json
import posixpath
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import msgspec

from registry.domain.origins import GitOrigin, parse_origin
from registry.domain.repository_addresses import ArchiveAddress, RepositoryAddress, parse_address
from registry.domain.source_entry import SourceEntry, SourceKind
from registry.outbound import FetchedResponse, OutboundError, Validators, redact_url
from registry.outbound.git_links import CheckoutNote
from registry.runtime.atomic_files import TEMPORARY_PREFIX
from registry.runtime.home_folder import expanded
from registry.sources import elsewhere
from registry.sources.archives import top_folder
from registry.sources.downloads import Downloads
from registry.sources.marketplace import (
    DEFAULT_PATHS,
    MAX_DOCUMENT_BYTES,
    UnreadableDocument,
    parse_document,
    remote_listing,
)
from registry.sources.notes import with_notes
from registry.sources.plugin_reader import below
from registry.sources.source_reader import Elsewhere, SourceContents, SourceReader
from registry.sources.tree import read_tree
from registry.sources.urls import as_user_of, without_credentials
from registry.sources.well_known import INDEX_PATHS, is_index, read_index

_INDEX_FOLDERS = tuple(f"/{posixpath.dirname(place)}" for place in INDEX_PATHS)
_NOTES = "notes.json"
"""The file beside a checkout that says what it lacks. Names of sources have no dot."""


def readers(downloads: Downloads) -> Mapping[SourceKind, SourceReader]:
    """Return the reader of each type of source that is files."""
    return {
        "git": GitReader(downloads),
        "http": MarketplaceReader(downloads),
        "zip": ZipReader(downloads),
        "local": FolderReader(downloads),
    }


class GitReader:
    """Reads repositories. The checkout of the last commit is kept."""

    def __init__(self, downloads: Downloads) -> None:
        self._downloads = downloads

    def read(self, source: SourceEntry, mark: str) -> SourceContents | None:
        """See `SourceReader.read`."""
        address = _address(source)
        origin, commit = self._downloads.state(address, as_user_of(source))
        home = self._downloads.folder / source.name
        if commit == mark and (home / commit).is_dir():
            return None
        if not (home / commit / _NOTES).is_file() or not _tree(home, commit, source, origin).is_dir():
            home.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=TEMPORARY_PREFIX, dir=home) as folder:
                # Named after the source, because a skill without a name is named after its folder.
                user_origin = as_user_of(source)(origin)
                fetched = self._downloads.git.fetch(user_origin, Path(folder) / "tree" / source.name)
                commit = fetched.commit
                (Path(folder) / "tree" / _NOTES).write_bytes(msgspec.json.encode(fetched.notes))
                _replace(Path(folder) / "tree", home / commit)
        _remove_others(home, {commit, elsewhere.FOLDER})
        plugins = Elsewhere(self._downloads, source)
        tree = _tree(home, commit, source, origin)
        listing = read_tree(tree, below(msgspec.to_builtins(origin)), plugins)
        return plugins.contents(commit, with_notes(listing, _notes(home / commit)))


class MarketplaceReader:
    """Reads marketplace documents and indexes of skills at URLs."""

    def __init__(self, downloads: Downloads) -> None:
        self._downloads = downloads

    def read(self, source: SourceEntry, mark: str) -> SourceContents | None:
        """See `SourceReader.read`."""
        stored = self._downloads.folder / source.name / "marketplace.json"
        place, response = self._document(str(source.url), _validators(mark) if stored.is_file() else Validators())
        if response.body is None:
            return None
        plugins = Elsewhere(self._downloads, source)
        if is_index(place):
            listing = read_index(response.body, response.url)
        else:
            listing = remote_listing(parse_document(response.body), _absolute_to(response.url), plugins)
        stored.parent.mkdir(parents=True, exist_ok=True)
        stored.write_bytes(response.body)
        return plugins.contents(json.dumps(response.validators), listing)

    def _document(self, url: str, validators: Validators) -> tuple[str, FetchedResponse]:
        """Return the document at a URL or at one of the default paths below it, and its place."""
        problem: Exception | None = None
        for place in _places(url):
            try:
                response = self._downloads.get(place, validators, MAX_DOCUMENT_BYTES)
                if response.body is not None and is_index(place):
                    read_index(response.body, response.url)
                elif response.body is not None:
                    parse_document(response.body)
            except (OutboundError, UnreadableDocument) as error:
                problem = problem or error
            else:
                return place, response
        raise problem or OutboundError(f"{redact_url(url)} has no marketplace document")


class ZipReader:
    """Reads zips of skills."""

    def __init__(self, downloads: Downloads) -> None:
        self._downloads = downloads

    def read(self, source: SourceEntry, mark: str) -> SourceContents | None:
        """See `SourceReader.read`."""
        validators, old_digest = json.loads(mark) if mark else (Validators(), "")
        address = parse_address(str(source.url))
        folder_in_it = address.folder if isinstance(address, ArchiveAddress) else ""
        response = self._downloads.get(str(source.url).partition("#")[0], Validators(*validators))
        if response.body is None or (digest := hashlib.sha256(response.body).hexdigest()) == old_digest:
            return None
        with self._downloads.temporary() as folder:
            (folder / "archive").write_bytes(response.body)
            # Named after the source, because a skill without a name is named after its folder.
            tree = self._downloads.unpack(folder / "archive", folder / source.name)
            top = folder_in_it or top_folder(tree)
            if not (tree / top).is_dir():
                raise OutboundError(f"{redact_url(str(source.url))} has no folder {top}")
            url = without_credentials(str(source.url)).partition("#")[0]
            fields = {"type": "zip", "url": url} | ({"subdir": top} if top else {})
            plugins = Elsewhere(self._downloads, source)
            listing = read_tree(tree / top, below(fields), plugins)
            return plugins.contents(json.dumps([response.validators, digest]), listing)


class FolderReader:
    """Reads folders of this machine."""

    def __init__(self, downloads: Downloads) -> None:
        self._downloads = downloads

    def read(self, source: SourceEntry, mark: str) -> SourceContents | None:
        """See `SourceReader.read`. A folder is read each time."""
        root = expanded(str(source.path))
        plugins = Elsewhere(self._downloads, source)
        listing = read_tree(root, lambda place: parse_origin({"type": "local", "path": str(root / place)}), plugins)
        return plugins.contents("", listing)


def _address(source: SourceEntry) -> RepositoryAddress:
    address = parse_address(without_credentials(str(source.url)))
    assert isinstance(address, RepositoryAddress)  # the entry has checked it
    return address._replace(path=source.branch, kind="branch") if source.branch is not None else address


def _tree(home: Path, commit: str, source: SourceEntry, origin: GitOrigin) -> Path:
    return home / commit / source.name / (origin.subdir or "")


def _notes(folder: Path) -> list[CheckoutNote]:
    try:
        return msgspec.json.decode((folder / _NOTES).read_bytes(), type=list[CheckoutNote])
    except (OSError, msgspec.MsgspecError):
        return []


def _replace(new: Path, place: Path) -> None:
    if place.exists():
        shutil.rmtree(place)
    new.rename(place)


def _remove_others(home: Path, names: set[str]) -> None:
    for entry in home.iterdir():
        if entry.name not in names and not entry.name.startswith(TEMPORARY_PREFIX):
            shutil.rmtree(entry, ignore_errors=True)


def _places(url: str) -> list[str]:
    parts = urlsplit(url)
    if parts.query or parts.path.endswith((".json", "/marketplace")):
        return [url]
    if parts.path.rstrip("/").endswith(_INDEX_FOLDERS):
        return [f"{url.rstrip('/')}/index.json"]
    return [f"{url.rstrip('/')}/{place}" for place in (*DEFAULT_PATHS, *INDEX_PATHS)]


def _absolute_to(base: str) -> Callable[[str], str]:
    return lambda url: urljoin(base, url)


def _validators(mark: str) -> Validators:
    return Validators(*json.loads(mark)) if mark else Validators()
