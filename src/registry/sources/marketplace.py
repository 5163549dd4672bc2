"""Marketplace documents: read in the plugin form of Claude Code and in our flat one, and written in both.

A document is anybody's: every entry is read by itself, and one that breaks a rule is left out and told.
"""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from registry.domain.models import split_labels
from registry.domain.origins import GitOrigin, GitRef, Origin, ZipOrigin, parse_origin
from registry.domain.source_entry import Listed, Listing
from registry.errors import RegistryError

PLACES = (".claude-plugin/marketplace.json", "marketplace.json")
"""Where a document is looked for, in this order."""

MAX_DOCUMENT_BYTES = 10 << 20
MAX_ENTRIES = 10_000
MAX_FOLDERS = 200
MAX_WARNINGS = 20
MAX_PATH = 1_000
"""Characters of a folder's path; a longer one names nothing. Each part of a path costs a look at the disk."""

_MAX_LABELS_READ = 100
_TEXT_READ = 20  # times the characters that are kept: white space is left out

_NOT_TEXT = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")
_REPOSITORY = re.compile(r"[A-Za-z0-9._-]{1,100}/[A-Za-z0-9._-]{1,100}")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_VERSION = re.compile(r"(?:0|[1-9][0-9]{0,8})\.(?:0|[1-9][0-9]{0,8})\.(?:0|[1-9][0-9]{0,8})")
_UNFIT_FOR_NAMES = re.compile(r"[^a-z0-9]+")

_Entry = TypeVar("_Entry")


class UnreadableDocument(Exception):
    """A file is no marketplace document; the message says why."""


class Plugin(msgspec.Struct, kw_only=True):
    """An entry of the plugin form: one skill, or several in the folders `skills` names."""

    name: str
    source: str | dict[str, Any]
    description: str = ""
    version: str = ""
    author: str | dict[str, Any] = ""
    category: str = ""
    keywords: list[str] | str = msgspec.field(default_factory=list)
    tags: list[str] | str = msgspec.field(default_factory=list)
    license: str | None = None
    skills: list[str] | str = msgspec.field(default_factory=list)

    def described(self, skill_id: str, origin: Origin | None) -> Listed:
        """Return what the entry says of one of its skills."""
        return checked(
            {
                "id": skill_id,
                "name": skill_id.rpartition("/")[2],
                "description": self.description,
                "version": self.version,
                "author": self.author.get("name", "") if isinstance(self.author, dict) else self.author,
                "tags": [*_split(self.tags), *_split(self.keywords), *_split(self.category)],
                "license": self.license,
                "origin": origin,
            }
        )

    def folders(self) -> list[str]:
        """Return the folders of the plugin's skills, below the plugin's own; `.` is the plugin itself."""
        named = [self.skills] if isinstance(self.skills, str) else self.skills[:MAX_FOLDERS]
        return list(dict.fromkeys(named))


class FlatSkill(msgspec.Struct, kw_only=True):
    """An entry of the flat form."""

    id: str
    name: str = ""
    description: str = ""
    version: str = ""
    author: str = ""
    tags: list[str] | str = msgspec.field(default_factory=list)
    capabilities: list[str] | str = msgspec.field(default_factory=list)
    download_url: str | None = None


class _PluginRoot(msgspec.Struct, rename="camel"):
    plugin_root: str = ""


class _Document(msgspec.Struct):
    plugins: list[msgspec.Raw] | UnsetType = UNSET
    skills: list[msgspec.Raw] | UnsetType = UNSET
    metadata: _PluginRoot | UnsetType = UNSET
    data: "_Document | UnsetType" = UNSET


class MarketplaceDocument(NamedTuple):
    """The entries of a document that could be read, and what was amiss with the others."""

    plugins: list[Plugin]
    skills: list[FlatSkill]
    plugin_root: str
    warnings: list[str]


def parse_document(data: bytes) -> MarketplaceDocument:
    """Read a document, also one in our own envelope. Raises UnreadableDocument."""
    try:
        found = msgspec.json.decode(data, type=_Document)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableDocument(f"the marketplace document cannot be read: {str(error)[:200]}") from None
    if found.data is not UNSET:
        found = found.data
    if found.plugins is UNSET and found.skills is UNSET:
        raise UnreadableDocument("the marketplace document has neither 'plugins' nor 'skills'")
    warnings: list[str] = []
    plugins = list(_entries(found.plugins or [], Plugin, warnings))
    skills = list(_entries(found.skills or [], FlatSkill, warnings))
    root = found.metadata.plugin_root if found.metadata is not UNSET else ""
    return MarketplaceDocument(plugins, skills, root[: MAX_PATH + 1], warnings)


def _entries(raws: Sequence[msgspec.Raw], kind: type[_Entry], warnings: list[str]) -> Iterator[_Entry]:
    if len(raws) > MAX_ENTRIES:
        warnings.append(f"only the first {MAX_ENTRIES:,} of {len(raws):,} entries are read")
    for place, raw in enumerate(raws[:MAX_ENTRIES]):
        try:
            yield msgspec.json.decode(raw, type=kind)
        except (msgspec.MsgspecError, RecursionError) as error:
            warnings.append(f"entry {place} was left out: {str(error)[:200]}")


def remote_listing(document: MarketplaceDocument, absolute: Callable[[str], str]) -> Listing:
    """Return what a document lists that can be had without the folder it lies in.

    `absolute` makes a URL relative to the document a whole one.
    """
    listing = Listing(warnings=list(document.warnings))
    named = 0
    for plugin in document.plugins:
        named += max(1, len(plugin.folders()))
        if named > MAX_ENTRIES:
            listing.warnings.insert(0, f"only the first {MAX_ENTRIES:,} skills are read")
            break
        with_left_out(listing, plugin.name, partial(remote_skills, plugin))
    for skill in document.skills:
        with_left_out(listing, skill.id, partial(_flat_skills, skill, absolute))
    return without_repeats(listing)


def with_left_out(listing: Listing, name: str, read: Callable[[], list[Listed]]) -> None:
    """Add what `read` returns, or a warning where an entry breaks a rule."""
    if len(listing.skills) >= MAX_ENTRIES:
        return
    try:
        listing.skills += read()
    except (RegistryError, ValueError) as error:
        left_out(listing, name, str(error)[:200])


def left_out(listing: Listing, name: str, reason: str) -> None:
    """Tell that something was left out; of very many, that is told of some."""
    if len(listing.warnings) < MAX_WARNINGS:
        listing.warnings.append(f"'{plain(name, 100)}' was left out: {reason}")


def without_repeats(listing: Listing) -> Listing:
    """Keep the first skill of each id, and at most `MAX_WARNINGS` warnings."""
    kept = {skill.id: skill for skill in reversed(listing.skills)}
    repeated = len(listing.skills) - len(kept)
    if repeated:
        listing.warnings.insert(0, f"{repeated} entries repeat an id and were left out")
    return Listing(skills=sorted(kept.values(), key=lambda skill: skill.id), warnings=listing.warnings[:MAX_WARNINGS])


def remote_skills(plugin: Plugin) -> list[Listed]:
    """Return the skills of a plugin that lies elsewhere. Raises RegistryError, ValueError."""
    if isinstance(plugin.source, str):
        raise ValueError("its source is a path, which means nothing outside a repository")
    origin = _plugin_origin(plugin.source)
    if not plugin.folders() or not isinstance(origin, GitOrigin):
        return [plugin.described(plugin.name, origin)]
    return [_skill_in(plugin, origin, posixpath.normpath(folder)) for folder in plugin.folders()]


def _skill_in(plugin: Plugin, origin: GitOrigin, folder: str) -> Listed:
    if folder == ".":
        return plugin.described(plugin.name, origin)
    subdir = posixpath.join(origin.subdir or "", folder)
    try:  # only the folder is new: the URL is checked already
        within = msgspec.convert(msgspec.to_builtins(origin) | {"subdir": subdir}, GitOrigin)
    except msgspec.ValidationError:
        raise ValueError(f"'{plain(subdir, 100)}' is no path below the root of a repository") from None
    return plugin.described(posixpath.basename(folder).lower(), within)


def _plugin_origin(source: Mapping[str, Any]) -> Origin:
    """Return where a plugin lies. Raises RegistryError, ValueError for what is not understood."""
    kind, url = source.get("source"), source.get("repo", source.get("url"))
    if kind == "archive":
        return parse_origin({"type": "zip", "url": url})
    if kind not in ("github", "url", "git-subdir") or not isinstance(url, str):
        raise ValueError(f"sources of the kind {str(kind)[:40]!r} are not supported")
    if _REPOSITORY.fullmatch(url):
        url = f"https://github.com/{url}"
    given: dict[str, Any] = {"type": "git", "url": url}
    if isinstance(commit := source.get("sha"), str) and _COMMIT.fullmatch(commit):
        given["ref"] = {"commit": commit}
    elif source.get("ref"):
        given["ref"] = {"branch": source["ref"]}
    if source.get("path"):
        given["subdir"] = posixpath.normpath(str(source["path"]))
    return parse_origin(given)


def flat_skill(skill: FlatSkill, absolute: Callable[[str], str]) -> Listed:
    """Return an entry of the flat form as a skill. Raises RegistryError, ValueError."""
    given = msgspec.to_builtins(skill) | {"name": skill.name or skill.id}
    if skill.download_url:
        url = absolute(skill.download_url)
        given |= {"download_url": url, "origin": parse_origin({"type": "zip", "url": url})}
    return checked(given)


def _flat_skills(skill: FlatSkill, absolute: Callable[[str], str]) -> list[Listed]:
    return [flat_skill(skill, absolute)]


def checked(given: Mapping[str, Any]) -> Listed:
    """Return one skill of strangers' words: control characters out, lengths bounded, names and versions checked.

    Raises msgspec.ValidationError, a ValueError.
    """
    version = str(given.get("version") or "")
    texts = {name: plain(given.get(name), most) for name, most in (("name", 100), ("description", 1024))}
    labels = {name: _labels(given.get(name) or []) for name in ("tags", "capabilities")}
    values = {**given, **texts, **labels, "author": plain(given.get("author"), 200)}
    values["license"] = plain(given.get("license"), 100) or None
    values["version"] = version if _VERSION.fullmatch(version) else "1.0.0"
    return msgspec.convert(values, Listed)


def plain(value: object, most: int) -> str:
    """Return a text as one line of at most `most` characters; anything else is no text."""
    text = value[: most * _TEXT_READ] if isinstance(value, str) else ""
    return " ".join(_NOT_TEXT.sub(" ", text).split())[:most]


def _labels(value: list[str] | str) -> list[str]:
    return [plain(label, 50) for label in _split(value)][:20]


def _split(value: list[str] | str) -> list[str]:
    labels = value.split(",", _MAX_LABELS_READ) if isinstance(value, str) else value
    return split_labels(labels[:_MAX_LABELS_READ])


def claude_document(source: str, skills: Sequence[Listed]) -> dict[str, Any]:
    """Return skills in the plugin form. Those without an origin a client could fetch are left out."""
    name = _UNFIT_FOR_NAMES.sub("-", source).strip("-")
    plugins = [
        {
            "name": _UNFIT_FOR_NAMES.sub("-", skill.id).strip("-"),
            "source": where,
            "description": skill.description,
            "version": skill.version,
            "strict": False,
            "skills": ["./"],
            **({"author": {"name": skill.author}} if skill.author else {}),
            **({"tags": skill.tags} if skill.tags else {}),
        }
        for skill in skills
        if (where := _plugin_source(skill.origin))
    ]
    return {"name": name, "owner": {"name": name}, "plugins": plugins}


def _plugin_source(origin: Origin | None) -> dict[str, str] | None:
    if isinstance(origin, ZipOrigin):
        if origin.subdir or not origin.url.lower().startswith("https://"):  # Claude Code takes neither
            return None
        return {"source": "archive", "url": origin.url}
    if not isinstance(origin, GitOrigin):
        return None
    where = {"source": "git-subdir", "path": origin.subdir} if origin.subdir else {"source": "url"}
    return {**where, "url": origin.url, **_plugin_ref(origin.ref)}


def _plugin_ref(ref: GitRef | None) -> dict[str, str]:
    if ref is None:
        return {}
    return {"sha": ref.commit} if ref.commit else {"ref": str(ref.branch or ref.tag)}
