"""The files of the user interface by their paths, ready to send.

Pages link to `/ui/VERSION/…`, where VERSION is a digest of all files: browsers keep what is there for good. The page's
modules are joined there (`bundles`). The sources are at `/ui/…`.
"""

import hashlib
import re
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from registry.http.page.bundles import bundles

_MEDIA_TYPES: Mapping[str, str] = MappingProxyType(
    {
        ".css": "text/css",
        ".html": "text/html",
        ".js": "text/javascript",
        ".svg": "image/svg+xml",
    }
)

_VERSIONED = re.compile(r"([0-9a-f]{16})/(.+)")
_LINK = re.compile(rb'="/(?:ui/(?!vendor/))?')


class Asset(NamedTuple):
    """One file of the user interface, ready to send. What is at the path of a kept one never changes."""

    content: bytes
    media_type: str
    etag: str
    is_kept: bool = False


def ui_folder() -> Path:
    """Return the user interface's folder: beside this package in a wheel, at the top of the source tree."""
    package = Path(__file__).parents[2]
    installed = package / "ui"
    return installed if installed.is_dir() else package.parents[1] / "ui"


def asset_of(content: bytes, media_type: str) -> Asset:
    """Return a file to send."""
    # Weak, because the answer may be compressed on its way.
    return Asset(content, media_type, f'W/"{hashlib.sha256(content).hexdigest()[:32]}"')


@cache
def _sources() -> Mapping[str, Asset]:
    """Return every file by its path. Nothing else is served, however its path is written."""
    folder = ui_folder()
    files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    types = {name: _MEDIA_TYPES.get(path.suffix, "text/plain") for name, path in files.items()}
    return MappingProxyType({name: asset_of(path.read_bytes(), types[name]) for name, path in files.items()})


@cache
def _joined() -> Mapping[str, Asset]:
    """Return the files of the current version: the sources, with the scripts of joined modules."""
    modules = {path: asset.content.decode() for path, asset in _sources().items() if path.endswith(".js")}
    scripts = bundles(modules, "js/app.js", "js/later.js")
    return MappingProxyType(
        {**_sources(), **{path: asset_of(text.encode(), "text/javascript") for path, text in scripts.items()}}
    )


@cache
def version() -> str:
    """Return the digest of all files: of these, and of how they are joined."""
    digests = "\n".join(f"{path} {asset.etag}" for path, asset in sorted(_joined().items()))
    return hashlib.sha256(digests.encode()).hexdigest()[:16]


def asset(path: str) -> Asset | None:
    """Return the file at a path below `/ui/`; None if there is none.

    At the address of another version is the file of this one: while replicas are upgraded one by one, a page may come
    from one of them and its scripts from the next.
    """
    if versioned := _VERSIONED.fullmatch(path):
        file = _joined().get(versioned[2])
        return file and file._replace(is_kept=versioned[1] == version())
    file = _sources().get(path)
    # Vendored files stand in a folder of their version.
    return file and file._replace(is_kept=path.startswith("vendor/") and "/" in path.removeprefix("vendor/"))


@lru_cache(maxsize=16)
def page(path: str, base_path: str) -> Asset:
    """Return a page whose links lead below a base path, to files that browsers keep. All of them are absolute paths."""
    source = _sources()[path]
    content = _LINK.sub(lambda link: _link(link[0], base_path).encode(), source.content)
    return asset_of(content, source.media_type)


def _link(start: bytes, base_path: str) -> str:
    return f'="{base_path}/ui/{version()}/' if start.endswith(b"ui/") else f'="{base_path}/'
