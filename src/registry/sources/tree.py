"""Lists the skills in a folder: a checkout of a repository, an unpacked zip or a local folder."""

import itertools
import os
import posixpath
import re
import stat
from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path, PurePath, PurePosixPath
from typing import NamedTuple

import msgspec

from registry.domain.file_names import printable_name
from registry.domain.origins import LocalOrigin, Origin
from registry.domain.runtime_needs import NEEDS
from registry.domain.source_entry import Listed, Listing
from registry.errors import FieldError, RegistryError, validation_error
from registry.packages.installability import reason_not_to_install
from registry.skill_folder import SkillFolder, UnreadableSkill, candidate_ids, read_skill_folder
from registry.skill_folder.reading import READER
from registry.skill_folder.tree import SKILL_FILE
from registry.sources.marketplace import (
    DEFAULT_PATHS,
    MAX_DOCUMENT_BYTES,
    MAX_ENTRIES,
    MAX_FOLDERS,
    MAX_PATH,
    MAX_WARNINGS,
    Elsewhere,
    MarketplaceDocument,
    Plugin,
    RemotePlugin,
    UnreadableDocument,
    add_or_warn,
    deduplicated,
    flat_skill,
    parse_document,
    skills_elsewhere,
    validated,
    warn_skipped,
    with_elsewhere,
)
from registry.sources.offered import Offered, OfferedFolders

RECIPE = f"7.{READER}:"
"""The versions of the rules for what a source lists and of the reader of skills, in front of the mark of its state.

With others, a source is read again although it is unchanged. The last change: why there are none.
"""

OriginOf = Callable[[str], Origin]
"""Returns the origin of the skill in a folder, given as a path relative to the root; `.` is the root.

Raises RegistryError if the path is not allowed in an origin.
"""

_WHOLE_URL = re.compile(r"https?://", re.IGNORECASE)
_MAX_LINK = 1_000
_SHOWN_SKILLS = 20
_MOST_TEXTS, _TEXT_DEPTH, _HEAD_BYTES, _SHOWN_FILES = 1_000, 4, 4_096, 3
_OF_PLUGINS = frozenset({"agents", "commands", "hooks", "output-styles"})
"""Folders of plugins, whose files have the front matter of skills, or none."""
_TRUE = frozenset({"true", "yes", "on", "1"})
_INHERITED = ("version", "author", "license", "description")


def read_tree(root: Path, origin_of: OriginOf, elsewhere: Elsewhere | None = None) -> Listing:
    """Return the skills that a tree offers: those of its marketplace documents, else those of its plugins and folders.

    The front matter of a SKILL.md overrides the manifest of its plugin, which overrides the document. Without
    `elsewhere`, a plugin in another place is listed as its entry has it. Raises OSError if `root` cannot be read.
    """
    next(root.iterdir(), None)  # raises if the folder is missing, which differs from an empty folder
    listing = Listing()
    folders = OfferedFolders(Path(os.path.realpath(root)))
    remotes: list[RemotePlugin] | None = None if elsewhere is None else []
    offered = _offered(folders, listing, remotes)
    folders.count_others(offered)
    listing = _Reading(folders, origin_of, listing).of(offered)
    if not (listing.skills or listing.warnings or remotes):
        listing.warnings.append(why_nothing(folders.root))
    return deduplicated(with_elsewhere(listing, remotes, elsewhere))


def read_plugin(root: Path, plugin: Plugin, origin_of: OriginOf) -> list[Listed]:
    """Return the skills that a plugin offers, whose folder is `root`."""
    folders = OfferedFolders(Path(os.path.realpath(root)))
    offered = list(itertools.islice(folders.of_plugin(folders.root, plugin), MAX_FOLDERS))
    return _Reading(folders, origin_of, Listing()).of(offered).skills


class OfferedPlaces(NamedTuple):
    """The paths of the folders that a tree offers, and whether its document names no plugins in other places."""

    paths: list[str]
    is_complete: bool


def offered_places(root: Path) -> OfferedPlaces:
    """Return where the skills of a tree are, without those in folders for agents that are there by the same name."""
    folders, remotes = OfferedFolders(Path(os.path.realpath(root))), list[RemotePlugin]()
    places = {PurePosixPath(offer.folder.relative_to(folders.root)) for offer in _offered(folders, Listing(), remotes)}
    names = {place.name for place in places if not _is_below_dot_folder(place)}
    shown = [str(place) for place in places if not _is_below_dot_folder(place) or place.name not in names]
    return OfferedPlaces(sorted(shown), not remotes)


def why_nothing(root: Path) -> str:
    """Return why a tree offers no skill: it has no SKILL.md, but perhaps files that look like skills."""
    says = f"no folder has a {SKILL_FILE}"
    files = itertools.islice(_text_files(root), _MOST_TEXTS)
    single = list(itertools.islice((file for file in files if _is_described(root / file)), _SHOWN_FILES))
    if single:
        named = ", ".join(printable_name(str(file)) for file in single)
        folder = printable_name(str(single[0].with_suffix("")))
        return f"{says}, but {named}: a skill is a folder, such as {folder}/{SKILL_FILE}"
    if any((root / name).is_dir() for name in _OF_PLUGINS):
        return f"{says}: the commands and agents of plugins are no skills"
    return says


def _text_files(root: Path) -> Iterator[PurePosixPath]:
    """Yield the paths of Markdown files in the upper folders that are no part of a plugin."""
    for folder, below, names in os.walk(root):
        place = PurePosixPath(os.path.relpath(folder, root))
        below[:] = [] if len(place.parts) >= _TEXT_DEPTH else sorted(set(below) - _OF_PLUGINS)
        yield from (place / name for name in sorted(names) if name.endswith(".md"))


def _is_described(file: Path) -> bool:
    """Return whether a text begins with a name and a description as a SKILL.md does."""
    try:
        if file.is_symlink() or not file.is_file():
            return False
        with file.open("rb") as opened:
            head = opened.read(_HEAD_BYTES)
    except OSError:
        return False
    return head.startswith((b"---", b"\xef\xbb\xbf---")) and b"\nname:" in head and b"\ndescription:" in head


def skill_in(root: Path, name: str) -> str:
    """Return the path of the skill with this id or name in a tree, below its root. Raises VALIDATION_ERROR."""
    listing = read_tree(root, lambda place: LocalOrigin(path=place))
    folded = name.casefold()
    for skill in listing.skills:
        place = getattr(skill.origin, "path", ".")
        if folded in (skill.id, skill.name.casefold(), place.rpartition("/")[2].casefold()):
            return str(place)
    names = ", ".join(skill.id for skill in listing.skills[:_SHOWN_SKILLS] if not skill.internal)
    more = ", …" if len(listing.skills) > _SHOWN_SKILLS else ""
    raise validation_error(FieldError("origin", f"the repository has no skill '{name}'; it has: {names}{more}"))


def _offered(folders: OfferedFolders, listing: Listing, remotes: list[RemotePlugin] | None) -> list[Offered]:
    """Return the folders that a tree offers. What its document names in other places is added to `remotes`."""
    documents = _documents(folders.root, listing)
    folders.has_document = bool(documents)
    if not documents:
        return list(itertools.islice(folders.of_tree(), MAX_ENTRIES))
    offered, names = list[Offered](), set[str]()
    for number, document in enumerate(documents):
        listing.warnings += document.warnings
        more = itertools.islice(_of_document(folders, document, names, listing, remotes), MAX_ENTRIES - len(offered))
        offered += [offer._replace(is_variant=number > 0) for offer in more]
        names |= {plugin.name for plugin in document.plugins}
        for skill in document.skills:
            if skill.download_url and _WHOLE_URL.match(skill.download_url):
                add_or_warn(listing, skill.id, partial(lambda entry: [flat_skill(entry, str)], skill))
    return offered


def _documents(root: Path, listing: Listing) -> list[MarketplaceDocument]:
    """Return the documents of a tree, each of which may be for another agent."""
    documents, problems = [], []
    for place in DEFAULT_PATHS:
        path = root / place
        if not path.is_file() or os.path.realpath(path) != str(path):
            continue
        try:
            with path.open("rb") as file:
                data = file.read(MAX_DOCUMENT_BYTES + 1)
            if len(data) > MAX_DOCUMENT_BYTES:
                raise UnreadableDocument(f"the marketplace document is larger than {MAX_DOCUMENT_BYTES:,} bytes")
            documents.append(parse_document(data))
        except UnreadableDocument as error:
            if not documents:  # a later one may be no document of a marketplace at all
                problems.append(f"{place}: {error}")
    instead = "" if documents else f"; every folder with a {SKILL_FILE} is listed instead"
    listing.warnings += [problem + instead for problem in problems]
    return documents


def _of_document(
    folders: OfferedFolders,
    document: MarketplaceDocument,
    described: Collection[str],
    listing: Listing,
    remotes: list[RemotePlugin] | None,
) -> Iterator[Offered]:
    """Yield the folders that a document offers, but for plugins with the names `described`.

    Plugins in other places are added to `remotes`, else to the listing.
    """
    for plugin in document.plugins:
        if plugin.name in described:
            continue
        if plugin.path is None:
            add_or_warn(listing, plugin.name, partial(skills_elsewhere, plugin, remotes))
            continue
        home = _home_of(folders, document, plugin.path)
        if home is None:
            warn_skipped(listing, plugin.name, "its path is not a folder of this source")
        else:
            yield from folders.of_plugin(home, plugin)
    if ids := {skill.id for skill in document.skills if not skill.download_url}:
        yield from folders.of_ids(ids)


def _home_of(folders: OfferedFolders, document: MarketplaceDocument, path: str) -> Path | None:
    """Return the folder of a plugin in the tree, None if there is none.

    Its path begins at the root of the tree, below the document's folder for plugins. Authors who name that folder often
    write it before each path all the same.
    """
    within = folders.below(folders.root, posixpath.join(document.plugin_root, path)[: MAX_PATH + 1])
    return within or folders.below(folders.root, path[: MAX_PATH + 1])


class _Reading:
    """Reads the folders that a tree offers into a listing."""

    def __init__(self, folders: OfferedFolders, origin_of: OriginOf, listing: Listing) -> None:
        self._folders = folders
        self._root = folders.root
        self._origin_of = origin_of
        self._listing = listing
        self._used_ids = {skill.id for skill in listing.skills}
        self._by_content: dict[tuple[str, str], tuple[PurePosixPath, Listed]] = {}

    def of(self, offered: list[Offered]) -> Listing:
        """Return the listing with the skills in these folders, each folder once."""
        places = {offer.folder: PurePosixPath(offer.folder.relative_to(self._root)) for offer in offered}
        seen = set()
        for offer in sorted(offered, key=lambda offer: _is_below_dot_folder(places[offer.folder])):
            if offer.folder not in seen:
                seen.add(offer.folder)
                self._add(offer, places[offer.folder])
        listing = deduplicated(self._listing)
        left_out = list(self._folders.left_out.warnings())
        listing.warnings = [*listing.warnings[: MAX_WARNINGS - len(left_out)], *left_out]
        return listing

    def _add(self, offered: Offered, place: PurePosixPath) -> None:
        if _is_link_to_skill(offered.folder, self._root):
            return
        try:
            read = read_skill_folder(offered.folder, named=offered.folder.name, is_placed=offered.folder != self._root)
            if self._is_copy(offered, place, read):
                return
            skill = self._skill(offered, read)
            skill.origin = self._origin_of(place.as_posix())
        except (UnreadableSkill, OSError, ValueError, RegistryError) as error:
            reason = error.reason if isinstance(error, UnreadableSkill) else "it is unreadable or its name is invalid"
            warn_skipped(self._listing, printable_name(place.as_posix()), reason)
            return
        self._used_ids.add(skill.id)
        self._listing.skills.append(skill)
        self._by_content.setdefault(_content(place, read), (place, skill))

    def _is_copy(self, offered: Offered, place: PurePosixPath, read: SkillFolder) -> bool:
        """Return whether a folder for an agent has the files of a skill that is listed already, and note its place."""
        first = self._by_content.get(_content(place, read))
        if read.digest is None or first is None:
            return False
        if not offered.is_variant and not any(map(_is_below_dot_folder, (first[0], place))):
            return False
        first[1].warnings.append(f"the same files are in {printable_name(place.as_posix())}")
        return True

    def _skill(self, offered: Offered, read: SkillFolder) -> Listed:
        """Return the skill of a folder. What its own files do not state is that of its plugin."""
        entry, manifest = offered.plugin or Plugin(name="", source=""), self._folders.manifest_of(offered)
        stated = {name: getattr(read, name) for name in _INHERITED if name in read.stated}
        fields = entry.stated() | manifest.stated() | stated
        skill = validated(
            {
                "id": self._free_id(offered.folder, read),
                "name": read.name,
                "description": fields.get("description", read.description),
                "version": fields.get("version"),
                "author": fields.get("author"),
                "tags": read.tags or (entry.labels() if offered.is_whole else []),
                "capabilities": read.capabilities,
                "license": fields.get("license"),
                **{name: msgspec.to_builtins(getattr(read.needs, name)) for name in NEEDS},
            }
        )
        skill.body, skill.warnings, skill.internal = read.body, list(read.warnings), _is_internal(read)
        skill.not_installable = reason_not_to_install(offered.folder)
        skill.installable = skill.not_installable is None
        return skill

    def _free_id(self, folder: Path, read: SkillFolder) -> str:
        candidates = candidate_ids(folder, self._root, read)
        return next((skill_id for skill_id in candidates if skill_id not in self._used_ids), "")


def _content(place: PurePosixPath, read: SkillFolder) -> tuple[str, str]:
    return place.name.lower(), read.digest or ""


def _is_below_dot_folder(place: PurePath) -> bool:
    return any(part.startswith(".") for part in place.parts)


def _is_internal(read: SkillFolder) -> bool:
    """Return whether the author marks a skill as one for the work on its repository."""
    return str(read.metadata.get("internal", "")).strip().lower() in _TRUE


def _is_link_to_skill(folder: Path, root: Path) -> bool:
    """Return whether the SKILL.md of a folder is a link to another one of the tree, or git's text of such a link."""
    path = folder / SKILL_FILE
    try:
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            target = str(path.readlink())
        elif status.st_size <= _MAX_LINK:
            target = path.read_text("utf-8").strip()
        else:
            return False
        if "\n" in target or PurePosixPath(target).name != SKILL_FILE:
            return False
        file = Path(os.path.realpath(folder / target))
        return file.parent != folder and file.is_relative_to(root) and file.is_file()
    except (OSError, ValueError):
        return False
