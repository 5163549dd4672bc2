"""What an update of a skill brings that one should look at: scripts and addresses that were not there before."""

import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from registry.findings import Finding
from registry.skill_folder import list_files

_URL = re.compile(r"https?://[^\s\"'<>()\[\]{}|\\^`]{1,300}", re.IGNORECASE)
_SCRIPTS = frozenset({".sh", ".bash", ".zsh", ".py", ".js", ".mjs", ".ts", ".ps1", ".bat", ".cmd", ".rb", ".pl"})
_READ_BYTES = 1 << 20
_MOST_NOTES = 20


def update_notes(before: Path, after: Path, version: str) -> list[Finding]:
    """Return at most twenty notes on the folder `after` that follows `before`, of `version`. Raises OSError."""
    old, new = _paths(before), _paths(after)
    notes = [
        _note("update-adds-script", path, f"a script that was not in {version}")
        for path in new
        if path not in old and _is_script(path)
    ]
    known = {url for path in old for url in _urls(before / path)}
    told = set(known)
    for path in new:
        for url in _urls(after / path):
            if url not in told:
                told.add(url)
                notes.append(_note("update-adds-url", path, f"an address that was not in {version}: {url[:200]}"))
    return notes[:_MOST_NOTES]


def _paths(folder: Path) -> list[str]:
    return [entry.path for entry in list_files(folder)]


def _is_script(path: str) -> bool:
    return path.startswith("scripts/") or PurePosixPath(path).suffix.lower() in _SCRIPTS


def _urls(path: Path) -> Iterable[str]:
    """Return the addresses in a file in their order, without the punctuation that ends a sentence."""
    with path.open("rb") as file:
        data = file.read(_READ_BYTES)
    text = data.decode("utf-8", "replace")
    return dict.fromkeys(url.rstrip(".,;:!?*_") for url in _URL.findall(text) if url.isprintable())


def _note(rule: str, path: str, what: str) -> Finding:
    return Finding(
        kind="quality_warning", severity="none", rule=rule, file=path, message=f"the last update brought {what}"
    )
