"""What a folder of skills lists: a checkout of a repository, or a folder of this machine."""

import itertools
import os
import posixpath
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from registry.domain.file_names import printable_name
from registry.domain.origins import Origin
from registry.domain.source_entry import Listed, Listing
from registry.errors import RegistryError
from registry.skill_folder import UnreadableSkill, find_skill_folders, qualified_id, read_skill_folder, suggest_id
from registry.skill_folder.tree import SKILL_FILE
from registry.sources.marketplace import (
    MAX_DOCUMENT_BYTES,
    MAX_ENTRIES,
    MAX_PATH,
    PLACES,
    MarketplaceDocument,
    Plugin,
    UnreadableDocument,
    checked,
    flat_skill,
    left_out,
    parse_document,
    remote_skills,
    with_left_out,
    without_repeats,
)

OriginOf = Callable[[str], Origin]
"""Returns where the skill in a folder of the tree comes from, given the folder below the root; `.` is the root.

Raises RegistryError where the folder's name cannot stand in an origin.
"""

_DEFAULT_VERSION = "1.0.0"
_WHOLE_URL = re.compile(r"https?://", re.IGNORECASE)


class _Place(NamedTuple):
    folder: Path
    plugin: Plugin | None


def read_tree(root: Path, origin_of: OriginOf) -> Listing:
    """Return the skills of a tree: those its marketplace document names, or without one every folder that is one.

    The front matter of a SKILL.md counts before what the document says. Raises OSError where `root` cannot be read.
    """
    next(root.iterdir(), None)  # an absent folder is no empty one
    listing = Listing()
    document = _document(root, listing)
    if document is None:
        places = [_Place(folder, None) for folder in _skill_folders(root)]
        return _read(root, places, origin_of, listing)
    listing.warnings += document.warnings
    places = list(_named_places(root, document, listing))
    flat = [skill for skill in document.skills if skill.download_url and _WHOLE_URL.match(skill.download_url)]
    for skill in flat:
        with_left_out(listing, skill.id, partial(lambda one: [flat_skill(one, str)], skill))
    return _read(root, places, origin_of, listing)


def _document(root: Path, listing: Listing) -> MarketplaceDocument | None:
    for place in PLACES:
        path = root / place
        if path.is_symlink() or path.parent.is_symlink() or not path.is_file():
            continue
        try:
            with path.open("rb") as file:
                data = file.read(MAX_DOCUMENT_BYTES + 1)
            if len(data) > MAX_DOCUMENT_BYTES:
                raise UnreadableDocument(f"the marketplace document is larger than {MAX_DOCUMENT_BYTES:,} bytes")
            return parse_document(data)
        except UnreadableDocument as error:
            listing.warnings.append(f"{error}; every folder with a {SKILL_FILE} is listed instead")
    return None


def _named_places(root: Path, document: MarketplaceDocument, listing: Listing) -> Iterator[_Place]:
    """Yield the folders a document names; plugins that lie elsewhere go straight to the listing."""
    walked: set[Path] = set()
    for plugin, path in itertools.islice(_named_paths(document, listing), MAX_ENTRIES):
        folder = _below(root, path)
        if folder is None:
            left_out(listing, plugin.name, "it names no folder of this source")
        elif folder not in walked:
            walked.add(folder)
            yield from (_Place(found, plugin) for found in _skill_folders(folder))
    wanted = {skill.id for skill in document.skills if not skill.download_url}
    yield from (_Place(folder, None) for folder in _skill_folders(root) if wanted and folder.name.lower() in wanted)


def _named_paths(document: MarketplaceDocument, listing: Listing) -> Iterator[tuple[Plugin, str]]:
    for plugin in document.plugins:
        if not isinstance(plugin.source, str):
            with_left_out(listing, plugin.name, partial(remote_skills, plugin))
            continue
        home = posixpath.join(document.plugin_root, plugin.source)[: MAX_PATH + 1]
        yield from ((plugin, posixpath.join(home, path)) for path in plugin.folders() or ["."])


def _below(root: Path, path: str) -> Path | None:
    """Return a folder below the root, if the path leads to one; it may have links that stay below."""
    if posixpath.isabs(path) or len(path) > MAX_PATH:
        return None
    try:
        folder = Path(os.path.realpath(root / path))
        return folder if folder.is_relative_to(os.path.realpath(root)) and folder.is_dir() else None
    except (OSError, ValueError):  # a name too long, or none at all
        return None


def _skill_folders(folder: Path) -> Iterator[Path]:
    if (folder / SKILL_FILE).is_file():
        yield folder
    yield from find_skill_folders(folder)


def _read(root: Path, places: list[_Place], origin_of: OriginOf, listing: Listing) -> Listing:
    home = Path(os.path.realpath(root))
    taken = {skill.id for skill in listing.skills}
    seen = set()
    for place in places[:MAX_ENTRIES]:
        folder = Path(os.path.realpath(place.folder))
        if folder in seen or not folder.is_relative_to(home):
            continue
        seen.add(folder)
        relative = folder.relative_to(home).as_posix()
        try:
            skill = _skill(root if folder == home else folder, home, place.plugin, taken)
            skill.origin = origin_of(relative)
        except (UnreadableSkill, OSError, ValueError, RegistryError) as error:
            reason = error.reason if isinstance(error, UnreadableSkill) else "it cannot be read, or not be named"
            left_out(listing, printable_name(relative), reason)
            continue
        taken.add(skill.id)
        listing.skills.append(skill)
    return without_repeats(listing)


def _skill(folder: Path, home: Path, plugin: Plugin | None, taken: set[str]) -> Listed:
    """Read one folder; its front matter counts before the document's entry."""
    read = read_skill_folder(folder)
    skill_id = suggest_id(folder, home, read)
    if skill_id in taken and folder.is_relative_to(home):
        skill_id = qualified_id(folder, home, skill_id)
    said = plugin.described(skill_id, None) if plugin else None
    skill = checked(
        {
            "id": skill_id,
            "name": read.name,
            "description": read.description or (said.description if said else ""),
            "version": said.version if said and read.version == _DEFAULT_VERSION else read.version,
            "author": read.author or (said.author if said else ""),
            "tags": read.tags or (said.tags if said else []),
            "capabilities": read.capabilities,
            "license": read.license or (said.license if said else None),
        }
    )
    skill.body, skill.warnings = read.body, read.warnings
    return skill
