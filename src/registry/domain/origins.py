"""Where skills come from: the kinds of origin, and what one string of a user means (contract section 4, *Origin*).

Only http and https are spoken, also by git: other transports take commands, keys or files of this machine.
"""

import re
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from registry.domain.addresses import OutboundError, parse_url
from registry.domain.models import SkillId, SourceName, Version
from registry.domain.validation import convert
from registry.errors import FieldError, RegistryError, validation_error

BranchName = Annotated[
    str,
    Meta(
        pattern=r"^(?![-./])(?!@$)(?!.*(?:\.\.|@\{|//|/[-.]|\.lock(?:/|$)))"
        r"[^\x00-\x20\x7f-\x9f\ud800-\udfff~^:?*\[\\]{1,200}(?<![./])$(?!\n)",
        extra={"rule": "must be the plain name of a branch or tag, such as main or v1.2.0"},
    ),
]
"""What `git check-ref-format` takes, without a leading dash in any part: nothing git could read as an option."""

CommitHash = Annotated[
    str,
    Meta(
        pattern=r"^(?:[0-9a-f]{40}|[0-9a-f]{64})$(?!\n)",
        extra={"rule": "must be a whole commit hash of 40 or 64 hexadecimal digits"},
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
"""What others may be shown: where skills come from stands in manifests and lock files."""

LocalPath = Annotated[
    str,
    Meta(
        pattern=r"^[^\x00-\x1f\x7f\ud800-\udfff]{1,1000}$(?!\n)",
        extra={"rule": "must be a path of at most 1,000 characters"},
    ),
]
_NAME = re.compile(r"([a-z0-9][a-z0-9_-]{0,63}(?:/[a-z0-9][a-z0-9_-]{0,63})?)(?:@(.{0,100}))?")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?://|:)")
_SSH = re.compile(r"[A-Za-z0-9._-]{1,100}@[A-Za-z0-9._-]{1,200}:.{0,1000}")
_TREE = re.compile(r"(https?://[^/]+/[^?#]+?)(?:/-)?/tree/([^/?#]+)(?:/([^?#]*))?", re.IGNORECASE)


class GitRef(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """Which state of a repository: one of a branch, a tag and a commit. Raises ValueError for several, or none."""

    branch: BranchName | None = None
    tag: BranchName | None = None
    commit: CommitHash | None = None

    def __post_init__(self) -> None:
        if sum(one is not None for one in (self.branch, self.tag, self.commit)) != 1:
            raise ValueError("must have one of branch, tag and commit")

    @property
    def refspec(self) -> str:
        """What git is asked for: a full name, which nothing else can be mistaken for."""
        if self.branch is not None:
            return f"refs/heads/{self.branch}"
        return f"refs/tags/{self.tag}" if self.tag is not None else str(self.commit)


class GitOrigin(msgspec.Struct, kw_only=True, frozen=True, tag_field="type", tag="git", omit_defaults=True):
    """A folder of a git repository; without a `ref` on the branch the repository names itself."""

    url: WebUrl
    ref: GitRef | None = None
    subdir: Subdirectory | None = None


class LocalOrigin(msgspec.Struct, kw_only=True, frozen=True, tag_field="type", tag="local", omit_defaults=True):
    """A folder of this machine; `editable` uses it in place."""

    path: LocalPath
    editable: bool = False


class HttpOrigin(msgspec.Struct, kw_only=True, frozen=True, tag_field="type", tag="http", omit_defaults=True):
    """A package behind a URL."""

    url: WebUrl


class ZipOrigin(msgspec.Struct, kw_only=True, frozen=True, tag_field="type", tag="zip", omit_defaults=True):
    """A zip package behind a URL, or the package in a folder of a zip that holds several."""

    url: WebUrl
    subdir: Subdirectory | None = None


class SourceOrigin(msgspec.Struct, kw_only=True, frozen=True, tag_field="type", tag="source", omit_defaults=True):
    """A skill of a configured source; without `source` of the only one that has it."""

    source: SourceName | None = None
    skill: SkillId
    version: Version | None = None


Origin = GitOrigin | LocalOrigin | HttpOrigin | ZipOrigin | SourceOrigin


def parse_origin(value: Any, field: str = "origin") -> Origin:
    """Return the origin that decoded JSON, an object or one string, describes. Raises VALIDATION_ERROR."""
    if isinstance(value, str):
        return classify(value, field)
    made: Origin = convert(value, Origin, field=field)  # type: ignore[arg-type]
    if not isinstance(made, LocalOrigin | SourceOrigin):
        _check_url(made.url, f"{field}.url")
    return made


def classify(text: str, field: str = "origin") -> Origin:
    """Return what one string means: a skill of a source, a URL, else a path of this machine.

    `name`, `scope/name` and either with `@version` are skills of sources; a URL that ends in `.zip` is a package, any
    other a git repository, in which `/tree/<branch>/<subdir>` names a folder. Raises VALIDATION_ERROR.
    """
    text = text.strip()
    if text.lower().startswith(("http://", "https://")):
        return _of_url(text, field)
    if _SCHEME.match(text) or _SSH.fullmatch(text):
        raise _refused(field, "must be an http:// or https:// URL: nothing else is fetched")
    if text.startswith("-"):
        raise _refused(field, "must not begin with a dash")
    if found := _NAME.fullmatch(text):
        given = {"type": "source", "skill": found[1]} | ({"version": found[2]} if found[2] is not None else {})
        return _made(given, field)
    return _made({"type": "local", "path": text}, field)


def _of_url(text: str, field: str) -> Origin:
    _check_url(text, field)
    if parse_url(text).url.path.lower().endswith(".zip"):
        return _made({"type": "zip", "url": text}, field)
    found = _TREE.fullmatch(text)
    if not found:
        return _made({"type": "git", "url": text}, field)
    subdir = (found[3] or "").rstrip("/")
    given = {"type": "git", "url": found[1], "ref": {"branch": found[2]}}
    return _made(given | ({"subdir": subdir} if subdir else {}), field)


def _check_url(url: str, field: str) -> None:
    try:
        parse_url(url)
    except OutboundError as error:
        raise _refused(field, str(error)) from None


def _made(given: dict[str, Any], field: str) -> Origin:
    made: Origin = convert(given, Origin, field=field)  # type: ignore[arg-type]
    return made


def _refused(field: str, message: str) -> RegistryError:
    return validation_error(FieldError(field, message))
