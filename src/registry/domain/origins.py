"""The origins of skills, and the parser of an origin in one string (contract section 4, *Origin*).

Only http and https are allowed, also for git: other transports can use commands, keys or files of this machine.
"""

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Annotated, Any
from urllib.parse import quote

import msgspec
from msgspec import Meta

from registry.domain.addresses import OutboundError, parse_url
from registry.domain.models import SkillId, SourceName, SourceType
from registry.domain.repository_addresses import (
    FORMS,
    ArchiveAddress,
    RepositoryAddress,
    expanded_short_form,
    is_url,
    parse_address,
    refuse_other_schemes,
)
from registry.domain.validation import convert, find_errors
from registry.domain.version_requirement import VersionRequirement
from registry.errors import FieldError, RegistryError, validation_error

BranchName = Annotated[
    str,
    Meta(
        pattern=r"^(?![-./])(?!@$)(?!.*(?:\.\.|@\{|//|/[-.]|\.lock(?:/|$)))"
        r"[^\x00-\x20\x7f-\x9f\ud800-\udfff~^:?*\[\\]{1,200}(?<![./])$(?!\n)",
        extra={"rule": "must be the name of a branch or tag, such as main or v1.2.0"},
    ),
]
"""A name that `git check-ref-format` accepts. No part begins with a dash, so git cannot parse it as an option."""

CommitHash = Annotated[
    str,
    Meta(
        pattern=r"^(?:[0-9a-f]{40}|[0-9a-f]{64})$(?!\n)",
        extra={"rule": "must be a full commit hash of 40 or 64 hexadecimal digits"},
    ),
]
Sha256 = Annotated[
    str, Meta(pattern=r"^[0-9a-f]{64}$(?!\n)", extra={"rule": "must be 64 lower-case hexadecimal digits"})
]
Subdirectory = Annotated[
    str,
    Meta(
        pattern=r"^(?!(?:.*/)?(?:\.{0,2}|\.[gG][iI][tT])(?:/|$))[^\x00-\x1f\x7f-\x9f\ud800-\udfff\\:]{1,400}$(?!\n)",
        extra={"rule": "must be a path below the root, with '/' and without '..', such as skills/pdf"},
    ),
]
HttpUrl = Annotated[
    str,
    Meta(
        pattern=r"^[hH][tT][tT][pP][sS]?://[\x21-\x7e]{1,2000}$(?!\n)",
        extra={"rule": "must be an http:// or https:// URL"},
    ),
]
WebUrl = Annotated[
    str,
    Meta(
        pattern=r"^[hH][tT][tT][pP][sS]?://(?![^/?#]*@)[\x21-\x7e]{1,2000}$(?!\n)",
        extra={"rule": "must be an http:// or https:// URL without user name and password"},
    ),
]
"""A URL that others may see: manifests and lock files contain the origins of skills."""

LocalPath = Annotated[
    str,
    Meta(
        pattern=r"^[^\x00-\x1f\x7f\ud800-\udfff]{1,1000}$(?!\n)",
        extra={"rule": "must be a path of at most 1,000 characters"},
    ),
]
ListedId = Annotated[
    str,
    Meta(
        pattern=r"^[a-z0-9][a-z0-9_.-]{0,79}(?:/[a-z0-9][a-z0-9_.-]{0,79})?$(?!\n)",
        extra={"rule": "must be an id as a source lists it, or as search answers it"},
    ),
]
"""The id of a skill in a source, or `source/id` as search shows it, with a dot for the slash after a scope."""

_LISTED_NAME = re.compile(
    r"([a-z0-9][a-z0-9_-]{0,63}/[a-z0-9][a-z0-9_-]{0,63}\.[a-z0-9][a-z0-9_-]{0,63})(?:@(.{0,200}))?"
)
_NAME = re.compile(r"([a-z0-9][a-z0-9_-]{0,63}(?:/[a-z0-9][a-z0-9_-]{0,63})?)(?:@(.{0,200}))?")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?://|:)")
_SSH = re.compile(r"[A-Za-z0-9._-]{1,100}@[A-Za-z0-9._-]{1,200}:.{0,1000}")
_WHOLE_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SHORT_HASH = re.compile(r"[0-9a-f]{7,63}")
_SHOWN_REFS = 8
_SHELL_WORD = re.compile(r"[\w@%+=:,./#-]+")
"""What a shell reads as one word without quotes."""

_PLAIN = "/@+"
"""What needs no percent sign in a path, besides letters and digits."""


class GitRef(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """A branch, a tag or a commit of a repository. Raises ValueError unless exactly one of them is set."""

    branch: BranchName | None = None
    tag: BranchName | None = None
    commit: CommitHash | None = None

    def __post_init__(self) -> None:
        if sum(ref is not None for ref in (self.branch, self.tag, self.commit)) != 1:
            raise ValueError("must have exactly one of branch, tag and commit")

    @property
    def refspec(self) -> str:
        """The refspec for git: a full and therefore unambiguous name."""
        if self.branch is not None:
            return f"refs/heads/{self.branch}"
        return f"refs/tags/{self.tag}" if self.tag is not None else str(self.commit)


class GitOrigin(msgspec.Struct, kw_only=True, frozen=True, tag_field="type", tag="git", omit_defaults=True):
    """A folder of a git repository. The default `ref` is the default branch of the repository."""

    url: WebUrl
    ref: GitRef | None = None
    subdir: Subdirectory | None = None


class LocalOrigin(msgspec.Struct, kw_only=True, frozen=True, tag_field="type", tag="local", omit_defaults=True):
    """A folder of this machine; `editable` uses it in place."""

    path: LocalPath
    editable: bool = False


class HttpOrigin(msgspec.Struct, kw_only=True, frozen=True, tag_field="type", tag="http", omit_defaults=True):
    """A package at a URL, whose bytes must have the digest `sha256`, if it is set."""

    url: WebUrl
    sha256: Sha256 | None = None


class ZipOrigin(msgspec.Struct, kw_only=True, frozen=True, tag_field="type", tag="zip", omit_defaults=True):
    """A zip package at a URL, or the package in one folder of a zip that contains several packages.

    The bytes of the zip must have the digest `sha256`, if it is set.
    """

    url: WebUrl
    subdir: Subdirectory | None = None
    sha256: Sha256 | None = None


class SourceOrigin(msgspec.Struct, kw_only=True, frozen=True, tag_field="type", tag="source", omit_defaults=True):
    """A skill of a configured source. `source` may be omitted if only one source has the skill."""

    source: SourceName | None = None
    skill: ListedId
    version: VersionRequirement | None = None


class RegistryOrigin(msgspec.Struct, kw_only=True, frozen=True, tag_field="type", tag="registry", omit_defaults=True):
    """A skill that the registry at `url` has published. The default `version` is the highest active one."""

    url: WebUrl
    skill: SkillId
    version: VersionRequirement | None = None


Origin = GitOrigin | LocalOrigin | HttpOrigin | ZipOrigin | SourceOrigin | RegistryOrigin


def source_type(origin: Origin) -> SourceType:
    """Return the `source_type` of a skill with this origin. Packages of registries are zips."""
    match origin:
        case GitOrigin():
            return "git"
        case LocalOrigin():
            return "local"
        case HttpOrigin():
            return "http"
        case _:
            return "zip"


def parse_origin(value: Any, field: str = "origin") -> Origin:
    """Return the origin that decoded JSON describes, as an object or as one string, without asking a repository.

    Of a string with a ref and a folder, the first part is the ref. Raises VALIDATION_ERROR.
    """
    if isinstance(value, str):
        origin = classify(value, field)
        return _unasked(origin, field) if isinstance(origin, RepositoryAddress) else origin
    return checked_origin(_convert(value, field), field)


def address_within(origin: Origin, folder: str) -> str:
    """Return the address of a folder in an origin, as `classify` reads it."""
    path = quote(folder, safe=_PLAIN)
    match origin:
        case GitOrigin():
            ref = (origin.ref.branch or origin.ref.tag or origin.ref.commit) if origin.ref else None
            return f"{origin.url}/tree/{quote(ref or 'HEAD', safe=_PLAIN)}/{path}"
        case LocalOrigin():
            return f"{origin.path}/{folder}"
        case _:
            return f"{getattr(origin, 'url', '')}#{path}"


def install_command(address: str) -> str:
    """Return the command that installs what is at an address. Users and agents give it to a shell.

    The address may be the choice of an author who is not trusted: a shell runs nothing that is in it.
    """
    return f"skill-registry install {address if _SHELL_WORD.fullmatch(address) else shlex.quote(address)}"


def checked_origin(origin: Origin, field: str = "origin") -> Origin:
    """Return a decoded origin if its URL is valid. Raises VALIDATION_ERROR."""
    if not isinstance(origin, LocalOrigin | SourceOrigin):
        _check_url(origin.url, f"{field}.url")
    return origin


def classify(text: str, field: str = "origin") -> Origin | RepositoryAddress:
    """Return the origin that one string means: a skill of a source, a URL, or a path of this machine.

    `name`, `scope/name` and `source/scope.name`, with or without `@version`, are skills of sources. A URL that ends in
    `.zip` or `.skill` is a package. All other URLs are git repositories: with a ref or the name of a skill, an address
    that `origin_at` completes. Raises VALIDATION_ERROR.
    """
    text = text.strip()
    match = _NAME.fullmatch(text) or (None if text.endswith(".zip") else _LISTED_NAME.fullmatch(text))
    try:
        refuse_other_schemes(text)
        short = expanded_short_form(text) if match is None or _is_no_version(match[2]) else None
    except ValueError as error:
        raise _invalid(field, str(error)) from None
    if short is not None or is_url(text):
        return _parse_url_origin(short or text, field)
    if _SCHEME.match(text) or _SSH.fullmatch(text):
        raise _invalid(field, "must be an http:// or https:// URL; other schemes are not supported")
    if text.startswith("-"):
        raise _invalid(field, "must not begin with '-'")
    if match:
        value = {"type": "source", "skill": match[1]} | ({"version": match[2]} if match[2] is not None else {})
        return _convert(value, field)
    return _convert({"type": "local", "path": text}, field)


def _is_no_version(text: str | None) -> bool:
    return text is not None and next(find_errors(text, VersionRequirement), None) is not None


def _parse_url_origin(text: str, field: str) -> Origin | RepositoryAddress:
    try:
        address = parse_address(text)
    except ValueError as error:
        raise _invalid(field, str(error)) from None
    _check_url(address.url, field)
    if isinstance(address, ArchiveAddress):
        value = {"type": "zip", "url": address.url} | ({"subdir": address.folder} if address.folder else {})
        return _convert(value, field)
    origin = _unasked(address, field)  # which checks each part
    return origin if address.is_plain else address


def _unasked(address: RepositoryAddress, field: str) -> Origin:
    """Return the origin of an address if the first part of its path is the ref. Raises VALIDATION_ERROR."""
    ref, _, rest = (address.path, "", "") if address.folder is not None else address.path.partition("/")
    if not ref or ref == "HEAD":
        return _git_origin(address, None, address.folder or rest, field)
    kind = address.kind or ("commit" if _WHOLE_HASH.fullmatch(ref) else "branch")
    if kind == "commit" and not _WHOLE_HASH.fullmatch(ref):
        kind = "branch"  # a short hash, which only the repository completes
    return _git_origin(address, {kind: ref}, address.folder or rest, field)


def _git_origin(address: RepositoryAddress, ref: Mapping[str, str] | None, folder: str, field: str) -> GitOrigin:
    value = {"type": "git", "url": address.url, "ref": ref, "subdir": folder or None}
    return convert(value, GitOrigin, field=field)


def origin_at(address: RepositoryAddress, refs: Mapping[str, str], field: str = "origin") -> GitOrigin:
    """Return the origin of an address in a repository with these refs, whose names begin with `refs/`, and commits.

    The longest beginning of its path that is a branch or a tag is its ref, else a commit. Raises VALIDATION_ERROR if
    the repository has no such ref.
    """
    for name, folder in _splits(address):
        for kind, prefix in (("branch", "refs/heads/"), ("tag", "refs/tags/")):
            if address.kind in (None, kind) and prefix + name in refs:
                return _git_origin(address, {kind: name}, folder, field)
    name, folder = list(_splits(address))[-1]
    if name == "HEAD" and address.kind is None:
        return _git_origin(address, None, folder, field)
    if address.kind in (None, "commit") and (commit := _commit(name, refs)):
        return _git_origin(address, {"commit": commit}, folder, field)
    kind = address.kind or "branch, tag or commit"
    raise _invalid(field, f"the repository has no {kind} '{address.path[:100]}'; {_shown(refs)}; {FORMS}")


def _splits(address: RepositoryAddress) -> Iterator[tuple[str, str]]:
    """Yield each ref that an address may name and the folder that is left, the longest ref first."""
    if address.folder is not None:
        yield address.path, address.folder
        return
    parts = address.path.strip("/").split("/")
    for size in range(len(parts), 0, -1):
        yield "/".join(parts[:size]), "/".join(parts[size:])


def _commit(name: str, refs: Mapping[str, str]) -> str | None:
    """Return the commit that a hash names: a whole one, or the beginning of that of a ref."""
    if _WHOLE_HASH.fullmatch(name):
        return name
    commits = {commit for commit in refs.values() if commit.startswith(name)} if _SHORT_HASH.fullmatch(name) else set()
    return commits.pop() if len(commits) == 1 else None


def _shown(refs: Mapping[str, str]) -> str:
    names = [name.split("/", 2)[2] for name in refs if name.startswith(("refs/heads/", "refs/tags/"))]
    more = ", …" if len(names) > _SHOWN_REFS else ""
    return f"it has {', '.join(names[:_SHOWN_REFS]) or 'no branches and tags'}{more}"


def _check_url(url: str, field: str) -> None:
    try:
        parse_url(url)
    except OutboundError as error:
        raise _invalid(field, str(error)) from None


def _convert(value: Any, field: str) -> Origin:
    origin: Origin = convert(value, Origin, field=field)  # type: ignore[arg-type]
    return origin


def _invalid(field: str, message: str) -> RegistryError:
    return validation_error(FieldError(field, message))
