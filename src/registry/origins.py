"""Where a skill comes from: the union `Origin`, told apart by `type`."""

from typing import Annotated

import msgspec
from msgspec import Meta

from registry.models import SkillId, SourceName, Version

_LINE = r"^[^\x00-\x1f\x7f]+$(?!\n)"

WebUrl = Annotated[
    str,
    Meta(
        max_length=2048,
        pattern=r"^https?://[^\x00-\x20\x7f/?#@]+([/?#][^\x00-\x20\x7f]*)?$(?!\n)",
        extra={"rule": "must be an http(s) URL of at most 2,048 characters, without user name and password"},
    ),
]
GitName = Annotated[
    str,
    Meta(
        max_length=200,
        pattern=r"^[A-Za-z0-9_][A-Za-z0-9._/+@-]*$(?!\n)",
        extra={"rule": "must be a name git accepts: at most 200 letters, digits and ._/+@-"},
    ),
]
Commit = Annotated[
    str,
    Meta(
        pattern=r"^([0-9a-f]{40}|[0-9a-f]{64})$(?!\n)",
        extra={"rule": "must be a commit's whole hash in lower-case hexadecimal"},
    ),
]
PathText = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=1024,
        pattern=_LINE,
        extra={"rule": "must be a path of one line, at most 1,024 characters"},
    ),
]


class GitRef(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """Which commit of a repository: the tip of a branch, a tag, or one commit."""

    branch: GitName | None = None
    tag: GitName | None = None
    commit: Commit | None = None

    def __post_init__(self) -> None:
        if [self.branch, self.tag, self.commit].count(None) != 2:
            raise ValueError("must name one of branch, tag and commit")


class GitOrigin(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True, tag_field="type", tag="git"):
    """A folder of a git repository."""

    url: WebUrl
    ref: GitRef | None = None
    subdir: PathText | None = None


class LocalOrigin(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True, tag_field="type", tag="local"):
    """A folder on this machine; an editable one is used where it is."""

    path: PathText
    editable: bool = False


class HttpOrigin(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True, tag_field="type", tag="http"):
    """A package, or a SKILL.md, at a URL."""

    url: WebUrl


class ZipOrigin(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True, tag_field="type", tag="zip"):
    """A zip archive at a URL."""

    url: WebUrl


class SourceOrigin(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True, tag_field="type", tag="source"):
    """A skill as a configured source offers it; without a version, its newest."""

    source: SourceName
    skill: SkillId
    version: Version | None = None


Origin = GitOrigin | LocalOrigin | HttpOrigin | ZipOrigin | SourceOrigin
