"""Reads marketplace documents, in the plugin form of Claude Code, Codex, Copilot and Cursor, and in our flat form.

Documents are untrusted. Each entry is read separately; an invalid one is skipped with a warning.
"""

import posixpath
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from registry.domain.counts import counted
from registry.domain.models import split_labels
from registry.domain.origins import GitOrigin, Origin, ZipOrigin, parse_origin
from registry.domain.repository_addresses import RepositoryAddress, is_url
from registry.domain.source_entry import Listed, Listing
from registry.domain.version_text import DEFAULT_VERSION, version_number
from registry.errors import RegistryError
from registry.parsing.json_document import JsonUnreadable, read_json

DEFAULT_PATHS = (
    ".claude-plugin/marketplace.json",
    "marketplace.json",
    ".plugin/marketplace.json",  # Copilot, as the next
    ".github/plugin/marketplace.json",
    ".agents/plugins/marketplace.json",  # Codex
    ".cursor-plugin/marketplace.json",
)
"""The paths at which documents are searched, in this order. The first that names a plugin describes it."""

MAX_DOCUMENT_BYTES = 10 << 20
MAX_ENTRIES = 10_000
MAX_FOLDERS = 200
MAX_WARNINGS = 20
MAX_PATH = 1_000
"""Characters of a folder's path; a longer one names nothing. Each part of a path costs a look at the disk."""

_MAX_LABELS_READ = 100
_MAX_SLUG = 64
_TEXT_READ = 20  # times the characters that are kept: white space is left out

_NOT_TEXT = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")
_REPOSITORY = re.compile(r"[A-Za-z0-9._-]{1,100}/[A-Za-z0-9._-]{1,100}")
_COMMIT = re.compile(r"[0-9a-f]{40}")

_NO_VERSION = msgspec.Raw(b'""')
_DIGITS = frozenset(bytes([digit]) for digit in b"0123456789")


class UnreadableDocument(Exception):
    """A file is not a marketplace document. The message tells why."""


class Plugin(msgspec.Struct, kw_only=True):
    """An entry of the plugin form: one skill, or several in the folders `skills`."""

    name: str
    source: str | dict[str, Any]
    description: str = ""
    version: msgspec.Raw = _NO_VERSION
    author: str | dict[str, Any] = ""
    category: str = ""
    keywords: list[str] | str = msgspec.field(default_factory=list)
    tags: list[str] | str = msgspec.field(default_factory=list)
    license: str | None = None
    skills: list[str] | str = msgspec.field(default_factory=list)
    strict: bool = True

    def stated(self) -> dict[str, str]:
        """Return the texts about the plugin that the entry has."""
        author = self.author.get("name", "") if isinstance(self.author, dict) else self.author
        version = version_text(self.version)
        texts = {"version": version, "author": author, "license": self.license, "description": self.description}
        return {name: text for name, text in texts.items() if isinstance(text, str) and text.strip()}

    @property
    def path(self) -> str | None:
        """The path of its folder in the tree of the document, None for a plugin in another place."""
        if isinstance(self.source, str):
            return None if is_url(self.source) else self.source
        path = self.source.get("path")
        return path if self.source.get("source") == "local" and isinstance(path, str) else None

    def labels(self) -> list[str]:
        """Return the words that describe the plugin."""
        return [*_split(self.tags), *_split(self.keywords), *_split(self.category)]

    def listed_as(self, skill_id: str, origin: Origin | None) -> Listed:
        """Return one skill of the plugin, with the metadata of the plugin."""
        return validated(
            {
                "id": skill_id,
                "name": skill_id.rpartition("/")[2],
                "tags": self.labels(),
                "origin": origin,
                **self.stated(),
            }
        )

    def folders(self) -> list[str]:
        """Return the distinct folders of the skills, relative to the plugin. `.` is the plugin itself."""
        folders = [self.skills] if isinstance(self.skills, str) else self.skills[:MAX_FOLDERS]
        return list(dict.fromkeys(folders))


class FlatSkill(msgspec.Struct, kw_only=True):
    """An entry of the flat form."""

    id: str
    name: str = ""
    description: str = ""
    version: msgspec.Raw = _NO_VERSION
    author: str = ""
    tags: list[str] | str = msgspec.field(default_factory=list)
    capabilities: list[str] | str = msgspec.field(default_factory=list)
    download_url: str | None = None
    checksum: str | None = None


_Entry = TypeVar("_Entry", Plugin, FlatSkill)


class _PluginRoot(msgspec.Struct, rename="camel"):
    plugin_root: str = ""


class _Document(msgspec.Struct):
    plugins: list[msgspec.Raw] | UnsetType = UNSET
    skills: list[msgspec.Raw] | UnsetType = UNSET
    metadata: _PluginRoot | UnsetType = UNSET
    data: "_Document | UnsetType" = UNSET


class RemotePlugin(NamedTuple):
    """A plugin that a document names in another repository or zip, and the place that its source means."""

    plugin: Plugin
    place: RepositoryAddress | ZipOrigin


Elsewhere = Callable[[Sequence[RemotePlugin], Collection[str]], Listing]
"""Reads plugins in other places, beside skills with these ids."""


class MarketplaceDocument(NamedTuple):
    """The valid entries of a document, and warnings about the others."""

    plugins: list[Plugin]
    skills: list[FlatSkill]
    plugin_root: str
    warnings: list[str]


def parse_document(data: bytes) -> MarketplaceDocument:
    """Parse a document, also one within our response envelope. Raises UnreadableDocument."""
    try:
        document = read_json(data, _Document)
    except JsonUnreadable as error:
        raise UnreadableDocument(f"the marketplace document cannot be read: {str(error)[:200]}") from None
    if document.data is not UNSET:
        document = document.data
    if document.plugins is UNSET and document.skills is UNSET:
        raise UnreadableDocument("the marketplace document has neither 'plugins' nor 'skills'")
    warnings: list[str] = []
    plugins = list(_entries(document.plugins or [], Plugin, warnings))
    skills = list(_entries(document.skills or [], FlatSkill, warnings))
    root = document.metadata.plugin_root if document.metadata is not UNSET else ""
    return MarketplaceDocument(plugins, skills, root[: MAX_PATH + 1], warnings)


def _entries(raws: Sequence[msgspec.Raw], kind: type[_Entry], warnings: list[str]) -> Iterator[_Entry]:
    if len(raws) > MAX_ENTRIES:
        warnings.append(f"only the first {MAX_ENTRIES:,} of {len(raws):,} entries are read")
    for number, raw in enumerate(raws[:MAX_ENTRIES]):
        try:
            entry = read_json(raw, kind)
        except JsonUnreadable as error:
            warnings.append(f"entry {number} was skipped: {str(error)[:200]}")
            continue
        if _is_number(entry.version):
            warnings.append(f"entry {number} has a number as its version, which is read as a text: quote it")
        yield entry


def version_text(raw: msgspec.Raw) -> str:
    """Return the version of an entry: a text, or a number as it is written; empty for any other value."""
    if _is_number(raw):
        return bytes(raw).decode("ascii")
    try:
        value = read_json(raw)
    except JsonUnreadable:  # only its beginning and end were looked at until now
        return ""
    return value if isinstance(value, str) else ""


def _is_number(raw: msgspec.Raw) -> bool:
    return bytes(raw)[:1] in _DIGITS


def remote_listing(
    document: MarketplaceDocument, absolute: Callable[[str], str], elsewhere: Elsewhere | None = None
) -> Listing:
    """Return the skills of a document that do not depend on the folder of the document.

    `absolute` resolves a URL relative to the document. Without `elsewhere`, a plugin is listed as its entry has it.
    """
    listing = Listing(warnings=list(document.warnings))
    remotes: list[RemotePlugin] | None = None if elsewhere is None else []
    count = 0
    for plugin in document.plugins:
        count += max(1, len(plugin.folders()))
        if count > MAX_ENTRIES:
            listing.warnings.insert(0, f"only the first {MAX_ENTRIES:,} skills are read")
            break
        add_or_warn(listing, plugin.name, partial(skills_elsewhere, plugin, remotes))
    for skill in document.skills:
        add_or_warn(listing, skill.id, partial(_flat_skills, skill, absolute))
    return deduplicated(with_elsewhere(listing, remotes, elsewhere))


def with_elsewhere(listing: Listing, remotes: Sequence[RemotePlugin] | None, elsewhere: Elsewhere | None) -> Listing:
    """Return a listing with the skills of plugins in other places."""
    if not remotes or elsewhere is None:
        return listing
    others = elsewhere(remotes, {skill.id for skill in listing.skills})
    return Listing(skills=[*listing.skills, *others.skills], warnings=[*others.warnings, *listing.warnings])


def skills_elsewhere(plugin: Plugin, remotes: list[RemotePlugin] | None) -> list[Listed]:
    """Return the skills of a plugin in another place, or add it to those that must be read.

    An entry that is one skill itself need not be read. Raises RegistryError, ValueError.
    """
    is_skill = not plugin.strict and plugin.folders() == ["./"]
    if remotes is None or is_skill:
        return remote_skills(plugin)
    origin = _plugin_origin(_source_of(plugin))
    remotes.append(RemotePlugin(plugin, origin if isinstance(origin, ZipOrigin) else _address_of(origin)))
    return []


def _address_of(origin: Origin) -> RepositoryAddress:
    assert isinstance(origin, GitOrigin)
    ref = (origin.ref.branch or origin.ref.commit or "") if origin.ref else ""
    return RepositoryAddress(origin.url, ref, folder=origin.subdir or "")


def _source_of(plugin: Plugin) -> Mapping[str, Any]:
    if plugin.path is not None:
        raise ValueError("its source is a path in the repository of the document: add that repository instead")
    return plugin.source if isinstance(plugin.source, dict) else {"source": "url", "url": plugin.source}


def add_or_warn(listing: Listing, name: str, read: Callable[[], list[Listed]]) -> None:
    """Add the skills that `read` returns, or a warning if it raises an error."""
    if len(listing.skills) >= MAX_ENTRIES:
        return
    try:
        listing.skills += read()
    except (RegistryError, ValueError) as error:
        warn_skipped(listing, name, str(error)[:200])


def warn_skipped(listing: Listing, name: str, reason: str) -> None:
    """Add a warning about a skipped entry, up to `MAX_WARNINGS`."""
    if len(listing.warnings) < MAX_WARNINGS:
        listing.warnings.append(f"'{plain(name, 100)}' was skipped: {reason}")


def deduplicated(listing: Listing) -> Listing:
    """Return a listing with the first skill of each id and at most `MAX_WARNINGS` warnings."""
    by_id = {skill.id: skill for skill in reversed(listing.skills)}
    repeated = len(listing.skills) - len(by_id)
    if repeated:
        listing.warnings.insert(0, f"skipped, because an entry before has the id: {counted(repeated, 'entry')}")
    return Listing(skills=sorted(by_id.values(), key=lambda skill: skill.id), warnings=listing.warnings[:MAX_WARNINGS])


def remote_skills(plugin: Plugin) -> list[Listed]:
    """Return the skills of a plugin with a remote source. Raises RegistryError, ValueError."""
    origin = _plugin_origin(_source_of(plugin))
    if not plugin.folders() or not isinstance(origin, GitOrigin):
        return [plugin.listed_as(plugin.name, origin)]
    return [_skill_in(plugin, origin, posixpath.normpath(folder)) for folder in plugin.folders()]


def _skill_in(plugin: Plugin, origin: GitOrigin, folder: str) -> Listed:
    if folder == ".":
        return plugin.listed_as(plugin.name, origin)
    subdir = posixpath.join(origin.subdir or "", folder)
    try:  # only the folder is new; the URL is already checked
        within = msgspec.convert(msgspec.to_builtins(origin) | {"subdir": subdir}, GitOrigin)
    except msgspec.ValidationError:
        raise ValueError(f"'{plain(subdir, 100)}' is not a path within the repository") from None
    return plugin.listed_as(posixpath.basename(folder).lower(), within)


def _plugin_origin(source: Mapping[str, Any]) -> Origin:
    """Return the origin of a plugin. Raises RegistryError, and ValueError for an unsupported source."""
    kind, url = source.get("source"), source.get("repo", source.get("url"))
    if kind == "archive":
        return file_origin(url, source.get("sha256"))
    if kind not in ("github", "url", "git", "git-subdir") or not isinstance(url, str):
        raise ValueError(f"the source type {str(kind)[:40]!r} is not supported; git repositories and zips are")
    if _REPOSITORY.fullmatch(url):
        url = f"https://github.com/{url}"
    fields: dict[str, Any] = {"type": "git", "url": url}
    if isinstance(commit := source.get("sha"), str) and _COMMIT.fullmatch(commit):
        fields["ref"] = {"commit": commit}
    elif source.get("ref"):
        fields["ref"] = {"branch": source["ref"]}
    if source.get("path"):
        fields["subdir"] = posixpath.normpath(str(source["path"]))
    return parse_origin(fields)


def file_origin(url: Any, digest: Any, *, is_zip: bool = True) -> Origin:
    """Return the origin of a zip or another file, which must have the SHA-256 `digest`, if there is one.

    `sha256:` may precede the digits. Raises RegistryError, also for a digest of another kind, which proves nothing.
    """
    fields = {"type": "zip" if is_zip else "http", "url": url}
    if digest:
        fields["sha256"] = str(digest).lower().removeprefix("sha256:")
    return parse_origin(fields)


def flat_skill(skill: FlatSkill, absolute: Callable[[str], str]) -> Listed:
    """Return an entry of the flat form as a skill. Raises RegistryError, ValueError."""
    fields = msgspec.structs.asdict(skill) | {"name": skill.name or skill.id, "version": version_text(skill.version)}
    if skill.download_url:
        url = absolute(skill.download_url)
        fields |= {"download_url": url, "origin": file_origin(url, skill.checksum)}
    return validated(fields)


def _flat_skills(skill: FlatSkill, absolute: Callable[[str], str]) -> list[Listed]:
    return [flat_skill(skill, absolute)]


def validated(fields: Mapping[str, Any]) -> Listed:
    """Return a skill from untrusted values: removes control characters, bounds lengths, checks ids and versions.

    Raises msgspec.ValidationError, a ValueError.
    """
    version = str(fields.get("version") or "")
    texts = {name: plain(fields.get(name), most) for name, most in (("name", 100), ("description", 1024))}
    labels = {name: _labels(fields.get(name) or []) for name in ("tags", "capabilities")}
    values = {**fields, **texts, **labels, "author": plain(fields.get("author"), 200)}
    values["license"] = plain(fields.get("license"), 100) or None
    values["version"] = version_number(version) or DEFAULT_VERSION
    return msgspec.convert(values, Listed)


def slug(name: str) -> str:
    """Return a name as a part of an id."""
    return re.sub(r"[^a-z0-9_-]+", "-", name.lower()).strip("-_")[:_MAX_SLUG].strip("-_") or "plugin"


def plain(value: object, most: int) -> str:
    """Return a text as one line of at most `most` characters. Other values give an empty text."""
    text = value[: most * _TEXT_READ] if isinstance(value, str) else ""
    return " ".join(_NOT_TEXT.sub(" ", text).split())[:most]


def _labels(value: list[str] | str) -> list[str]:
    return [plain(label, 50) for label in _split(value)][:20]


def _split(value: list[str] | str) -> list[str]:
    labels = value.split(",", _MAX_LABELS_READ) if isinstance(value, str) else value
    return split_labels(labels[:_MAX_LABELS_READ])
