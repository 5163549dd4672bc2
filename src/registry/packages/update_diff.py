"""Compares two versions of a skill: reports scripts and URLs that an update adds."""

import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

import msgspec

from registry.domain.file_names import printable_name
from registry.domain.findings import Finding
from registry.skill_folder import file_digests, list_files

_URL = re.compile(r"https?://[^\s\"'<>()\[\]{}|\\^`]{1,300}", re.IGNORECASE)
_SCRIPTS = frozenset({".sh", ".bash", ".zsh", ".py", ".js", ".mjs", ".ts", ".ps1", ".bat", ".cmd", ".rb", ".pl"})
_READ_BYTES = 1 << 20
_MAX_URLS = 2000
_MAX_FINDINGS = 20
MAX_FILES = 500
"""How many paths of a kind are named."""


class Footprint(msgspec.Struct, frozen=True):
    """The scripts of a skill, and its URLs with the first file of each.

    At most 2,000 URLs are kept. `has_more` tells that there are others.
    """

    scripts: list[str]
    urls: dict[str, str]
    has_more: bool = False

    @classmethod
    def of(cls, folder: Path) -> "Footprint":
        """Return the footprint of a folder. Raises OSError."""
        paths = [entry.path for entry in list_files(folder)]
        urls: dict[str, str] = {}
        for path in paths:
            for url in _urls(folder / path):
                if url not in urls and len(urls) >= _MAX_URLS:
                    return cls(_scripts(paths), urls, has_more=True)
                urls.setdefault(url, path)
        return cls(_scripts(paths), urls)


class FileChanges(msgspec.Struct, frozen=True):
    """The paths of the files that an update adds, removes and changes, in order, at most 500 of each."""

    added: list[str]
    removed: list[str]
    changed: list[str]

    @classmethod
    def between(cls, before: Path, after: Path) -> "FileChanges":
        """Return the changes from one folder of a skill to another. Raises OSError."""
        old, new = file_digests(before), file_digests(after)
        changed = [path for path in new.keys() & old.keys() if old[path] != new[path]]
        return cls(_named(new.keys() - old.keys()), _named(old.keys() - new.keys()), _named(changed))


def _named(paths: Iterable[str]) -> list[str]:
    return [printable_name(path) for path in sorted(paths)[:MAX_FILES]]


def update_findings(before: Footprint, after: Footprint, version: str) -> list[Finding]:
    """Return at most 20 findings about additions since `before`, the footprint of `version`."""
    findings = [
        _finding("update-adds-script", path, f"the last update added a script that {version} does not have")
        for path in after.scripts
        if path not in before.scripts
    ]
    if after.has_more and not before.has_more:
        message = f"the last update has more than {_MAX_URLS} URLs; the rest was not compared"
        findings.append(_finding("update-adds-urls", None, message))
    findings += [
        _finding("update-adds-url", path, f"the last update added a URL that {version} does not have: {url[:200]}")
        for url, path in after.urls.items()
        if url not in before.urls
    ]
    return findings[:_MAX_FINDINGS]


def _scripts(paths: Iterable[str]) -> list[str]:
    return [path for path in paths if path.startswith("scripts/") or PurePosixPath(path).suffix.lower() in _SCRIPTS]


def _urls(path: Path) -> Iterable[str]:
    """Return the URLs in a file in order, without punctuation at their end."""
    with path.open("rb") as file:
        data = file.read(_READ_BYTES)
    text = data.decode("utf-8", "replace")
    return dict.fromkeys(url.rstrip(".,;:!?*_") for url in _URL.findall(text) if url.isprintable())


def _finding(rule: str, path: str | None, message: str) -> Finding:
    file = printable_name(path) if path else None
    return Finding(kind="quality_warning", severity="none", rule=rule, file=file, message=message)
