"""The state of a skill's folder when it was read: what is in it, and where it really is."""

import hashlib
import os
from pathlib import Path

from registry.findings.engine import ENGINE
from registry.skill_folder import fingerprint
from registry.skill_folder.reading import READER
from registry.skill_folder.tree import SKILL_FILE, fingerprint_of_files

_LINK_MARK = ">"
_VERSIONS = f"{ENGINE}.{READER}"
"""What folders were scanned and read with. If one of them changes, every folder is read again."""

_MARK_BYTES = 16


def scan_fingerprint(folder: Path) -> str:
    """Return a folder's fingerprint with the versions of the rules and the reader and, behind a link, its target.

    If any of them changes, a scan reads the folder again. Raises OSError.
    """
    return f"{_VERSIONS}-{fingerprint(folder)}{_link_mark(folder)}"


def new_fingerprint(skill_file: os.stat_result) -> str:
    """Return the `scan_fingerprint` of a folder that has a SKILL.md in this state and no other file."""
    return f"{_VERSIONS}-{fingerprint_of_files([(SKILL_FILE, skill_file)])}"


def is_where_it_was(folder: Path, fingerprint: str | None) -> bool:
    """Return whether no link has replaced a folder, or a parent of it, since it had a fingerprint.

    Only a scan decides which links are followed. A folder that is gone is where it was.
    """
    _, separator, mark = (fingerprint or "").partition(_LINK_MARK)
    return _link_mark(folder) == separator + mark or not os.path.lexists(folder)


def _link_mark(folder: Path) -> str:
    """Return a mark of the real path of a folder; empty if no link leads to it. The skills directory is a real path."""
    real = os.path.realpath(folder)
    if real == str(folder):
        return ""
    return _LINK_MARK + hashlib.blake2b(os.fsencode(real), digest_size=_MARK_BYTES).hexdigest()
