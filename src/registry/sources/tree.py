"""Lists the skills in a folder: a checkout of a repository, an unpacked zip or a local folder."""

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
    DEFAULT_PATHS,
    MAX_DOCUMENT_BYTES,
    MAX_ENTRIES,
    MAX_PATH,
    MarketplaceDocument,
    Plugin,
    UnreadableDocument,
    add_or_warn,
    deduplicated,
    flat_skill,
    parse_document,
    remote_skills,
    validated,
    warn_skipped,
)

OriginOf = Callable[[str], Origin]
"""Returns the origin of the skill in a folder, given as a path relative to the root; `.` is the root.

Raises RegistryError if the path is not allowed in an origin.
"""

_DEFAULT_VERSION = "1.0.0"
_WHOLE_URL = re.compile(r"https?://", re.IGNORECASE)


class _Place(NamedTuple):
    folder: Path
    plugin: Plugin | None


def read_tree(root: Path, origin_of: OriginOf) -> Listing:
    """Return the skills that the marketplace document of a tree lists, or all skill folders if there is no document.

    The front matter of a SKILL.md overrides the document. Raises OSError if `root` cannot be read.
    """
    next(root.iterdir(), None)  # raises if the folder is missing, which differs from an empty folder
    listing = Listing()
    document = _document(root, listing)
    if document is None:
        places = [_Place(folder, None) for folder in _skill_folders(root)]
        return _read(root, places, origin_of, listing)
    listing.warnings += document.warnings
    places = list(_named_places(root, document, listing))
    flat = [skill for skill in document.skills if skill.download_url and _WHOLE_URL.match(skill.download_url)]
    for skill in flat:
        add_or_warn(listing, skill.id, partial(lambda entry: [flat_skill(entry, str)], skill))
    return _read(root, places, origin_of, listing)


def _document(root: Path, listing: Listing) -> MarketplaceDocument | None:
    for place in DEFAULT_PATHS:
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
    """Yield the folders that a document names. Remote plugins are added to the listing directly."""
    walked: set[Path] = set()
    for plugin, path in itertools.islice(_named_paths(document, listing), MAX_ENTRIES):
        folder = _below(root, path)
        if folder is None:
            warn_skipped(listing, plugin.name, "its path is not a folder of this source")
        elif folder not in walked:
            walked.add(folder)
            yield from (_Place(path, plugin) for path in _skill_folders(folder))
    ids = {skill.id for skill in document.skills if not skill.download_url}
    yield from (_Place(folder, None) for folder in _skill_folders(root) if ids and folder.name.lower() in ids)


def _named_paths(document: MarketplaceDocument, listing: Listing) -> Iterator[tuple[Plugin, str]]:
    for plugin in document.plugins:
        if not isinstance(plugin.source, str):
            add_or_warn(listing, plugin.name, partial(remote_skills, plugin))
            continue
        home = posixpath.join(document.plugin_root, plugin.source)[: MAX_PATH + 1]
        yield from ((plugin, posixpath.join(home, path)) for path in plugin.folders() or ["."])


def _below(root: Path, path: str) -> Path | None:
    """Return the folder at a path if it is below the root, else None. Links within the root are followed."""
    if posixpath.isabs(path) or len(path) > MAX_PATH:
        return None
    try:
        folder = Path(os.path.realpath(root / path))
        return folder if folder.is_relative_to(os.path.realpath(root)) and folder.is_dir() else None
    except (OSError, ValueError):  # an invalid or too long name
        return None


def _skill_folders(folder: Path) -> Iterator[Path]:
    if (folder / SKILL_FILE).is_file():
        yield folder
    yield from find_skill_folders(folder)


def _read(root: Path, places: list[_Place], origin_of: OriginOf, listing: Listing) -> Listing:
    home = Path(os.path.realpath(root))
    used_ids = {skill.id for skill in listing.skills}
    seen = set()
    for place in places[:MAX_ENTRIES]:
        folder = Path(os.path.realpath(place.folder))
        if folder in seen or not folder.is_relative_to(home):
            continue
        seen.add(folder)
        relative = folder.relative_to(home).as_posix()
        try:
            skill = _skill(root if folder == home else folder, home, place.plugin, used_ids)
            skill.origin = origin_of(relative)
        except (UnreadableSkill, OSError, ValueError, RegistryError) as error:
            reason = error.reason if isinstance(error, UnreadableSkill) else "it is unreadable or its name is invalid"
            warn_skipped(listing, printable_name(relative), reason)
            continue
        used_ids.add(skill.id)
        listing.skills.append(skill)
    return deduplicated(listing)


def _skill(folder: Path, home: Path, plugin: Plugin | None, used_ids: set[str]) -> Listed:
    """Read one skill folder. Its front matter overrides the entry of the document."""
    read = read_skill_folder(folder)
    skill_id = suggest_id(folder, home, read)
    if skill_id in used_ids and folder.is_relative_to(home):
        skill_id = qualified_id(folder, home, skill_id)
    entry = plugin.listed_as(skill_id, None) if plugin else None
    skill = validated(
        {
            "id": skill_id,
            "name": read.name,
            "description": read.description or (entry.description if entry else ""),
            "version": entry.version if entry and read.version == _DEFAULT_VERSION else read.version,
            "author": read.author or (entry.author if entry else ""),
            "tags": read.tags or (entry.tags if entry else []),
            "capabilities": read.capabilities,
            "license": read.license or (entry.license if entry else None),
        }
    )
    skill.body, skill.warnings = read.body, read.warnings
    return skill
