"""Addresses of repositories and archives as people paste them: from a browser, from npm and pip, in short forms.

Each form names the repository and, if it has one, the ref; none of it is guessed. Only the repository tells where a ref
ends and a folder begins, as in `/tree/fix/pdf/skills`: `RepositoryAddress.path` has both.
"""

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from registry.domain.page_addresses import https_form, repository_form

RefKind = Literal["branch", "tag", "commit"]

FORMS = (
    "write the URL of a repository, with #REF or /tree/REF/FOLDER if it is another one than the default, the URL of a"
    " .zip or .skill, github:OWNER/REPO, or a folder as ./FOLDER"
)
"""The forms that are understood, for messages about the others."""

HOSTS = {"github": "github.com", "gitlab": "gitlab.com", "bitbucket": "bitbucket.org", "codeberg": "codeberg.org"}
"""The hosts that have a short form, `github:owner/repo`."""

_WITHOUT_SCHEME = frozenset({*HOSTS.values(), "dev.azure.com", "skills.sh"})
"""The hosts whose addresses are understood without a scheme."""

_OWNER_AND_NAME = frozenset({"github.com", "bitbucket.org", "codeberg.org", "gitea.com"})
"""Hosts whose repositories have a path of two parts."""

_SHORT = re.compile(r"(github|gh|gitlab|bitbucket|codeberg):(?!//)(.*)", re.IGNORECASE | re.DOTALL)
_OWNED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}/[A-Za-z0-9._-]{1,100}")
_OWNED_SKILL = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,99}/[A-Za-z0-9._-]{1,100})@([A-Za-z][A-Za-z0-9._-]{0,79})")
_SSH = re.compile(r"(?:git\+)?ssh://(?:[^@/\s]{1,100}@)?([A-Za-z0-9.-]{1,200})(?::\d+)?/(\S{1,1000})", re.IGNORECASE)
_SCP = re.compile(r"[A-Za-z0-9._-]{1,100}@([A-Za-z0-9.-]{1,200}):(?!//)(\S{1,1000})")
_OTHER_SCHEME = re.compile(
    r"(?!(?:git\+)?https?:)(?:git\+)?([a-z][a-z0-9+.-]{0,20})://([^/]{0,200})(.{0,1000})", re.IGNORECASE
)
_ARCHIVE = re.compile(r"\.(?:zip|skill)$", re.IGNORECASE)
_OTHER_ARCHIVE = re.compile(r"\.(?:tar|tgz|tar\.[a-z0-9]+|7z|rar)$", re.IGNORECASE)
_PIP = re.compile(
    r"(https?://[^#\s]{1,2000}?\.git)(?:@([^#\s]{1,400}))?(?:#subdirectory=([^&\s]{1,400}))?", re.IGNORECASE
)
_ANCHOR = re.compile(r"readme|user-content-.*|L\d+(?:C\d+)?(?:-L?\d+(?:C\d+)?)?|lines-\d+.*", re.IGNORECASE)

_PAGES = frozenset({"tree", "blob", "raw", "blame", "edit", "commits", "src", "media"})
_FILE_PAGES = frozenset({"blob", "raw", "blame", "edit", "media"})
_KINDS: dict[str, RefKind] = {"branch": "branch", "tag": "tag", "commit": "commit"}
_REF_TYPES: dict[str, RefKind] = {"heads": "branch", "tags": "tag"}
_REF_KEYS = frozenset({"ref", "at", "branch", "tag"})
_JUNK = re.compile(r"tab|plain|raw|ref_type|display|view|mode|lang|spm|fbclid|gclid|source|utm_[a-z]+", re.IGNORECASE)


class RepositoryAddress(NamedTuple):
    """A repository at a URL, and what the address says of a ref and a folder in it.

    Args:
        url: The URL of the repository.
        path: The ref, or the ref and a folder, joined by `/`; empty for the default branch.
        kind: What the ref is, if the address says it.
        folder: The folder, empty for the root; None if `path` has both.
        skill: The name of the skill in the repository, if the address names one in place of a folder.
    """

    url: str
    path: str = ""
    kind: RefKind | None = None
    folder: str | None = ""
    skill: str | None = None

    @property
    def is_plain(self) -> bool:
        """Whether the address names neither a ref nor a skill: the repository need not be asked."""
        return not self.path and self.skill is None

    def canonical(self) -> str:
        """Return the address as a URL with `/tree/`, without what a fragment or query has said."""
        if not self.path:
            return self.url
        kind = {"branch": "refs/heads/", "tag": "refs/tags/"}.get(self.kind or "", "")
        if self.folder is None or not self.folder:
            return f"{self.url}/tree/{kind}{self.path}"
        return f"{self.url}/tree/{kind}{self.path}/{self.folder}"


class ArchiveAddress(NamedTuple):
    """A zip at a URL, and a folder in it, empty for its root."""

    url: str
    folder: str


def is_url(text: str) -> bool:
    """Return whether a text is an http or https URL, perhaps with the prefix of pip and npm."""
    return text.lower().startswith(("http://", "https://", "git+http://", "git+https://"))


def is_remote(text: str) -> bool:
    """Return whether a text is an address of another machine, also one that is refused, and not a path of this one."""
    try:
        return is_url(as_url(text))
    except ValueError:
        return True


def expanded_short_form(text: str) -> str | None:
    """Return the URL that a short form stands for, None for another text. Raises ValueError.

    `github:owner/repo/folder#ref`, `owner/repo@skill`, and URLs of known hosts without their scheme.
    """
    if match := _SHORT.fullmatch(text):
        name = match[1].lower()
        return _of_host(HOSTS["github" if name == "gh" else name], match[2])
    if match := _OWNED_SKILL.fullmatch(text):
        return None if match[2] == "latest" else _of_host(HOSTS["github"], text)
    host = text.partition("/")[0].lower().removeprefix("www.")
    return f"https://{text}" if "/" in text and host in _WITHOUT_SCHEME else None


def of_owner(text: str) -> str | None:
    """Return the URL on GitHub of `owner/repo` or `owner/repo/folder`, None for another text."""
    owned = "/".join(text.split("/")[:2])
    return _of_host(HOSTS["github"], text) if _OWNED.fullmatch(owned) and "//" not in text else None


def _of_host(host: str, rest: str) -> str:
    path, _, ref = rest.partition("#")
    path, _, skill = path.partition("@")
    parts = [part for part in path.split("/") if part]
    if not _OWNED.fullmatch("/".join(parts[:2])):
        raise ValueError(f"'{rest[:100]}' is not OWNER/REPO; {FORMS}")
    if len(parts) > 2:
        ref = f"{ref or 'HEAD'}:{'/'.join(parts[2:])}"
    base = f"https://{host}/{'/'.join(parts[:2])}"
    return base + (f"#{ref}" if ref else "") + (f"@{skill}" if skill else "")


def as_url(text: str) -> str:
    """Return the http or https URL that an address of a source is, which may be a short form. Raises ValueError."""
    text = text.strip()
    refuse_other_schemes(text)
    url = expanded_short_form(text) or (None if is_url(text) else of_owner(text)) or text
    return re.sub(r"^git\+", "", url, flags=re.IGNORECASE)


def refuse_other_schemes(text: str) -> None:
    """Raise ValueError for an address that is neither http nor https, with what to write instead."""
    if (url := of_ssh(text)) is not None:
        raise ValueError(f"ssh is not supported: write {url}")
    if match := _OTHER_SCHEME.fullmatch(text):
        scheme, host, path = match.groups()
        if scheme.lower() == "file":
            raise ValueError(f"file URLs are not supported: write the path of the folder, {path or '/'}")
        raise ValueError(f"{scheme} is not supported: write an http:// or https:// URL, such as https://{host}{path}")


def of_ssh(text: str) -> str | None:
    """Return the https address of a repository with an address for ssh, None for another text."""
    match = _SSH.fullmatch(text) or _SCP.fullmatch(text)
    return https_form(match[1], match[2].lstrip("/")) if match else None


def parse_address(text: str) -> RepositoryAddress | ArchiveAddress:
    """Return what an http or https URL addresses. Raises ValueError for one that is not understood, with the forms."""
    text, skill = _without_skill(repository_form(re.sub(r"^git\+", "", text, flags=re.IGNORECASE)))
    parts = urlsplit(text)
    if _OTHER_ARCHIVE.search(parts.path):
        raise ValueError("of archives only .zip and .skill are read")
    segments = [segment for segment in parts.path.split("/") if segment]
    if _ARCHIVE.search(parts.path) and not set(segments) & {"blob", "blame", "edit"}:
        return ArchiveAddress(text.partition("#")[0], _decoded(parts.fragment))
    address = _on_raw_host(parts, segments) or _on_page(parts, segments)
    address = _with_query(address, parts.query)
    address = _with_fragment(address, parts.fragment)
    return address._replace(skill=skill)


def place_of(url: str) -> str:
    """Return the URL of the repository or archive that an address is in; the address itself if it is not understood."""
    try:
        return parse_address(url).url
    except ValueError:
        return url


def _without_skill(text: str) -> tuple[str, str | None]:
    """Split a `@skill` or, as pip has it, a `.git@ref` off an address: the ref becomes a fragment."""
    if (match := _PIP.fullmatch(text)) and (match[2] or match[3]):
        return f"{match[1]}#{match[2] or 'HEAD'}" + (f":{match[3]}" if match[3] else ""), None
    scheme, mark, rest = text.partition("://")
    head, slash, tail = rest.partition("/")
    before, at, after = tail.rpartition("@")
    if not at or "/" in after:
        return text, None
    if _OWNED.fullmatch(before.partition("#")[0].removesuffix(".git")) and re.fullmatch(r"[\w.-]+", after):
        return f"{scheme}{mark}{head}{slash}{before}", after
    return text, None


def _on_raw_host(parts: SplitResult, segments: Sequence[str]) -> RepositoryAddress | None:
    """Return the address of a file on a host that serves files of GitHub, None for another host."""
    host = (parts.hostname or "").lower()
    if len(segments) < 4 or host not in ("raw.githubusercontent.com", "codeload.github.com"):
        return None
    owner, name, *rest = segments
    url = f"{parts.scheme}://github.com/{owner}/{name}"
    if host.startswith("codeload"):
        return _at(url, rest[1:])._replace(folder="")
    return _at(url, rest, is_file=True)


def _on_page(parts: SplitResult, segments: Sequence[str]) -> RepositoryAddress:
    """Return the address on a page of a git host, or of the repository itself."""
    place = _place_of_page(parts, segments)
    base = f"{parts.scheme}://{parts.netloc}"
    if place is None:
        return RepositoryAddress("/".join([base, *segments]))
    has_dash = segments[place] == "-"
    url = "/".join([base, *segments[:place]])
    page, *rest = segments[place + has_dash :] or [""]
    if page == "releases" and rest[:1] == ["tag"]:
        return RepositoryAddress(url, _decoded("/".join(rest[1:])), "tag")
    if page in ("tags", "releases") and has_dash and rest:
        return RepositoryAddress(url, _decoded("/".join(rest)), "tag")
    if page == "commit" and rest:
        return RepositoryAddress(url, rest[0], "commit")
    if page not in _PAGES or not rest:
        raise ValueError(f"this page is no folder of a repository; {FORMS}")
    if page in ("src", "raw", "media") and rest[0] in _KINDS and len(rest) > 1:  # Gitea, Forgejo
        return _at(url, rest[1:], kind=_KINDS[rest[0]], is_file=page in _FILE_PAGES)
    return _at(url, rest, is_file=page in _FILE_PAGES)


def _place_of_page(parts: SplitResult, segments: Sequence[str]) -> int | None:
    """Return where the path of a repository ends and that of a page in it begins, None if there is no page."""
    if "-" in segments[1:]:  # GitLab, whose repositories may be in groups
        return segments.index("-", 1)
    if (parts.hostname or "").lower().removeprefix("www.") in _OWNER_AND_NAME:
        return 2 if len(segments) > 2 else None
    if len(segments) > 3 and segments[2] in _PAGES | {"commit", "releases"}:
        return 2
    return next((at for at in range(1, len(segments) - 1) if _begins_page(segments[at:])), None)


def _begins_page(segments: Sequence[str]) -> bool:
    """Return whether a page of a repository begins here, whose path has any number of parts."""
    page, following, *more = segments
    if page in ("src", "raw", "media"):
        return following in _KINDS and bool(more)
    return page in ("tree", "blob") or (page == "releases" and following == "tag" and bool(more))


def _at(url: str, rest: Sequence[str], kind: RefKind | None = None, *, is_file: bool = False) -> RepositoryAddress:
    decoded = [_decoded(segment) for segment in rest]
    if decoded[:2] in (["refs", "heads"], ["refs", "tags"]):
        kind, decoded = _REF_TYPES[decoded[1]], decoded[2:]
    if decoded and decoded[-1].lower() == "skill.md":
        decoded = decoded[:-1]
    elif is_file:
        raise ValueError(
            f"'{decoded[-1][:100] if decoded else ''}' is no SKILL.md: name the folder of the skill, with /tree/"
        )
    if not decoded:
        raise ValueError(f"the address names no branch, tag or commit; {FORMS}")
    return RepositoryAddress(url, "/".join(decoded), kind, None)


def _with_query(address: RepositoryAddress, query: str) -> RepositoryAddress:
    for key, value in parse_qsl(query, keep_blank_values=True):
        if key == "ref_type" and value in _REF_TYPES:
            address = address._replace(kind=address.kind or _REF_TYPES[value])
        elif key in _REF_KEYS:
            ref = re.sub(r"^refs/(?:heads|tags)/", "", value)
            if address.path and address.path != ref:
                raise ValueError(f"the address names two refs, {address.path[:80]} and {ref[:80]}; {FORMS}")
            address = address._replace(path=ref)
        elif not _JUNK.fullmatch(key):
            raise ValueError(f"'{key[:40]}' in the query of the address is not understood; {FORMS}")
    return address


def _with_fragment(address: RepositoryAddress, fragment: str) -> RepositoryAddress:
    fragment = _decoded(fragment)
    if not fragment or (address.path and _ANCHOR.fullmatch(fragment)):
        return address
    ref, _, folder = fragment.partition(":")
    if address.path:
        raise ValueError(f"the address names two refs, {address.path[:80]} and {ref[:80]}; {FORMS}")
    kind: RefKind | None = None
    for prefix, named in _REF_TYPES.items():
        if ref.startswith(f"refs/{prefix}/"):
            kind, ref = named, ref.removeprefix(f"refs/{prefix}/")
    if not ref:
        raise ValueError(f"the address names no branch, tag or commit after '#'; {FORMS}")
    return address._replace(path=ref, kind=kind, folder=folder.strip("/"))


def _decoded(text: str) -> str:
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise ValueError("the address has percent signs that are no UTF-8") from None
