"""What an update of a skill brings that one should look at: scripts and addresses that were not there before."""

import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

import msgspec

from registry.domain.file_names import printable_name
from registry.domain.findings import Finding
from registry.skill_folder import list_files

_URL = re.compile(r"https?://[^\s\"'<>()\[\]{}|\\^`]{1,300}", re.IGNORECASE)
_SCRIPTS = frozenset({".sh", ".bash", ".zsh", ".py", ".js", ".mjs", ".ts", ".ps1", ".bat", ".cmd", ".rb", ".pl"})
_READ_BYTES = 1 << 20
_MOST_URLS = 2000
_MOST_NOTES = 20


class Footprint(msgspec.Struct, frozen=True):
    """How far a skill reaches beyond its text: its scripts, and its addresses with the file each is in first.

    At most 2,000 addresses are kept; `has_more` says that there are others.
    """

    scripts: list[str]
    urls: dict[str, str]
    has_more: bool = False

    @classmethod
    def of(cls, folder: Path) -> "Footprint":
        """Return that of the files below a folder. Raises OSError."""
        paths = [entry.path for entry in list_files(folder)]
        urls: dict[str, str] = {}
        for path in paths:
            for url in _urls(folder / path):
                if url not in urls and len(urls) >= _MOST_URLS:
                    return cls(_scripts(paths), urls, has_more=True)
                urls.setdefault(url, path)
        return cls(_scripts(paths), urls)


def update_notes(before: Footprint, after: Footprint, version: str) -> list[Finding]:
    """Return at most twenty notes on what follows `before`, which is that of `version`."""
    notes = [
        _note("update-adds-script", path, f"a script that was not in {version}")
        for path in after.scripts
        if path not in before.scripts
    ]
    if after.has_more and not before.has_more:
        notes.append(_note("update-adds-urls", None, f"more than {_MOST_URLS} addresses; not all are compared"))
    notes += [
        _note("update-adds-url", path, f"an address that was not in {version}: {url[:200]}")
        for url, path in after.urls.items()
        if url not in before.urls
    ]
    return notes[:_MOST_NOTES]


def _scripts(paths: Iterable[str]) -> list[str]:
    return [path for path in paths if path.startswith("scripts/") or PurePosixPath(path).suffix.lower() in _SCRIPTS]


def _urls(path: Path) -> Iterable[str]:
    """Return the addresses in a file in their order, without the punctuation that ends a sentence."""
    with path.open("rb") as file:
        data = file.read(_READ_BYTES)
    text = data.decode("utf-8", "replace")
    return dict.fromkeys(url.rstrip(".,;:!?*_") for url in _URL.findall(text) if url.isprintable())


def _note(rule: str, path: str | None, what: str) -> Finding:
    file = printable_name(path) if path else None
    return Finding(
        kind="quality_warning", severity="none", rule=rule, file=file, message=f"the last update brought {what}"
    )
