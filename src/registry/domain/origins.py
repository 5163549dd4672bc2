"""The origins of skills, and the parser of an origin in one string (contract section 4, *Origin*).

Only http and https are allowed, also for git: other transports can use commands, keys or files of this machine.
"""

import re
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from registry.domain.addresses import OutboundError, parse_url
from registry.domain.models import SkillId, SourceName, SourceType
from registry.domain.validation import convert
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
    r"([a-z0-9][a-z0-9_-]{0,63}/[a-z0-9][a-z0-9_-]{0,63}\.[a-z0-9][a-z0-9_-]{0,63})(?:@(.{0,100}))?"
)
_NAME = re.compile(r"([a-z0-9][a-z0-9_-]{0,63}(?:/[a-z0-9][a-z0-9_-]{0,63})?)(?:@(.{0,100}))?")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?://|:)")
_SSH = re.compile(r"[A-Za-z0-9._-]{1,100}@[A-Za-z0-9._-]{1,200}:.{0,1000}")
_TREE = re.compile(r"(https?://[^/]+/[^?#]+?)(?:/-)?/tree/([^/?#]+)(?:/([^?#]*))?", re.IGNORECASE)


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
    """A package at a URL."""

    url: WebUrl


class ZipOrigin(msgspec.Struct, kw_only=True, frozen=True, tag_field="type", tag="zip", omit_defaults=True):
    """A zip package at a URL, or the package in one folder of a zip that contains several packages."""

    url: WebUrl
    subdir: Subdirectory | None = None


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
    """Return the origin that decoded JSON describes, as an object or as one string. Raises VALIDATION_ERROR."""
    if isinstance(value, str):
        return classify(value, field)
    return checked_origin(_convert(value, field), field)


def checked_origin(origin: Origin, field: str = "origin") -> Origin:
    """Return a decoded origin if its URL is valid. Raises VALIDATION_ERROR."""
    if not isinstance(origin, LocalOrigin | SourceOrigin):
        _check_url(origin.url, f"{field}.url")
    return origin


def classify(text: str, field: str = "origin") -> Origin:
    """Return the origin that one string means: a skill of a source, a URL, or a path of this machine.

    `name`, `scope/name` and `source/scope.name`, with or without `@version`, are skills of sources. A URL that ends in
    `.zip` is a package. All other URLs are git repositories, where `/tree/<branch>/<subdir>` names a folder. Raises
    VALIDATION_ERROR.
    """
    text = text.strip()
    if text.lower().startswith(("http://", "https://")):
        return _parse_url_origin(text, field)
    if _SCHEME.match(text) or _SSH.fullmatch(text):
        raise _invalid(field, "must be an http:// or https:// URL; other schemes are not supported")
    if text.startswith("-"):
        raise _invalid(field, "must not begin with '-'")
    match = _NAME.fullmatch(text) or (None if text.endswith(".zip") else _LISTED_NAME.fullmatch(text))
    if match:
        value = {"type": "source", "skill": match[1]} | ({"version": match[2]} if match[2] is not None else {})
        return _convert(value, field)
    return _convert({"type": "local", "path": text}, field)


def _parse_url_origin(text: str, field: str) -> Origin:
    _check_url(text, field)
    if parse_url(text).url.path.lower().endswith(".zip"):
        return _convert({"type": "zip", "url": text}, field)
    match = _TREE.fullmatch(text)
    if not match:
        return _convert({"type": "git", "url": text}, field)
    subdir = (match[3] or "").rstrip("/")
    value = {"type": "git", "url": match[1], "ref": {"branch": match[2]}}
    return _convert(value | ({"subdir": subdir} if subdir else {}), field)


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
