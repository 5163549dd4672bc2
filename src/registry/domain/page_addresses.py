"""Pages of sites whose addresses do not begin with that of the repository: the repository's address, written from them.

Azure DevOps names folder and ref in the query, Bitbucket Data Center clones from another path, and skills.sh lists
skills of GitHub.
"""

import re
from collections.abc import Mapping
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlsplit

_SKILLS_SH = frozenset({"skills.sh", "www.skills.sh"})
_AZURE = re.compile(r"(?:/.*)?/_git/[^/]+/?")
_AZURE_REFS = {"GB": "refs/heads/", "GT": "refs/tags/", "GC": ""}
_AZURE_VIEW = frozenset({"_a", "anchor", "fullScreen"})
"""Keys in the query of Azure DevOps that say how a page is shown. Those of lines begin with `line`."""

_AZURE_SSH = re.compile(r"v3/([^/]+/[^/]+)/([^/]+)")
_BITBUCKET = re.compile(r"(/.+?|)/(projects|users)/([^/]+)/repos/([^/]+)(?:/(browse|raw|commits)(?:/(.*))?)?/?")
_SKILL_FILE = re.compile(r"(?:^|/)skill\.md$", re.IGNORECASE)
_PLAIN = "/~-._"


def repository_form(url: str) -> str:
    """Return the address of a page of these sites as `URL#REF:FOLDER` or `URL@SKILL`, any other URL as it is.

    Raises ValueError for a page of them that is no folder of a repository.
    """
    parts = urlsplit(url)
    if (parts.hostname or "").lower() in _SKILLS_SH:
        return _of_skills_sh(parts)
    if _AZURE.fullmatch(parts.path):
        return _of_azure(parts)
    match = _BITBUCKET.fullmatch(parts.path)
    # Below a path, only a page tells a repository of Bitbucket from groups with these names.
    return _of_bitbucket(parts, match) if match and (match[5] or not match[1]) else url


def fragment_of(ref: str, folder: str) -> str:
    """Return the fragment of an address that names a ref and a folder, either of which may be empty."""
    if not folder:
        return quote(ref, safe=_PLAIN)
    return f"{quote(ref or 'HEAD', safe=_PLAIN)}:{quote(folder, safe=_PLAIN)}"


def https_form(host: str, path: str) -> str:
    """Return the https address of a repository that ssh has at this host and path."""
    if host.lower() == "ssh.dev.azure.com" and (match := _AZURE_SSH.fullmatch(path)):
        return f"https://dev.azure.com/{match[1]}/_git/{match[2]}"
    return f"https://{host}/{path}"


def _of_skills_sh(parts: SplitResult) -> str:
    segments = [segment for segment in parts.path.split("/") if segment]
    if len(segments) not in (2, 3):
        raise ValueError("this page of skills.sh is no skill: write https://skills.sh/OWNER/REPO/SKILL")
    return f"https://github.com/{'/'.join(segments[:2])}" + "".join(f"@{unquote(skill)}" for skill in segments[2:])


def _of_azure(parts: SplitResult) -> str:
    query, rest = dict(parse_qsl(parts.query, keep_blank_values=True)), {}
    folder, ref = "", ""
    for key, value in query.items():
        if key == "path":
            folder = value
        elif key == "version":
            if value[:2] not in _AZURE_REFS:
                raise ValueError(
                    f"the version '{value[:40]}' of the address is no branch (GB), tag (GT) or commit (GC)"
                )
            ref = _AZURE_REFS[value[:2]] + value[2:]
        elif key not in _AZURE_VIEW and not key.startswith("line"):
            rest[key] = value
    return _with_place(f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}", ref, folder, rest, parts.fragment)


def _of_bitbucket(parts: SplitResult, match: re.Match[str]) -> str:
    context, kind, owner, name, page, path = match.groups(default="")
    owner = f"~{owner}" if kind == "users" and not owner.startswith("~") else owner
    url = f"{parts.scheme}://{parts.netloc}{context}/scm/{owner}/{name}.git"
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    if page == "raw" and not _SKILL_FILE.search(path):
        raise ValueError("this file is no SKILL.md: name the folder of the skill, with /browse/")
    ref = query.pop("at", "") or query.pop("until", "") or (path if page == "commits" else "")
    # A fragment is the number of a line.
    return _with_place(url, ref, "" if page == "commits" else unquote(path), query, "")


def _with_place(url: str, ref: str, folder: str, query: Mapping[str, str], fragment: str) -> str:
    """Return an address with a ref and a folder as its fragment, unless it has one of its own."""
    place = fragment_of(ref, _SKILL_FILE.sub("", folder.strip("/")))
    if place and fragment:
        raise ValueError("the address names a folder or ref twice: leave out what follows '#'")
    rest = "&".join(f"{quote(key)}={quote(value)}" for key, value in query.items())
    return url + (f"?{rest}" if rest else "") + (f"#{place or fragment}" if place or fragment else "")
