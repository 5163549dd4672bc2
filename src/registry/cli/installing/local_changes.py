"""Shows why a skill with local changes is not upgraded, and the ways on."""

import shlex
from collections.abc import Iterator
from pathlib import Path

from registry.cli import console
from registry.cli.installing.steps import Row

_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def has_local_changes(row: Row) -> bool:
    """Return whether a skill was not upgraded because of changes in its folder."""
    return row.get("local_changes") is not None


def difference(row: Row) -> Iterator[console.Part]:
    """Yield the lines in which the folder of a skill differs from what was installed, if they are known."""
    changes = row.get("local_changes")
    for text in changes["diff"].split("\n") if changes and changes["diff"] else ():
        yield console.line("  ", (text.expandtabs(4), _STYLES.get(text[:1], "")))


def ways_on(row: Row, skills_dir: Path) -> str:
    """Return what to do about a skill with local changes, whose folder may be in a directory of this machine."""
    name, folder = row["id"], skills_dir / row["id"]
    copy = f": cp -r {shlex.quote(str(folder))} {shlex.quote(f'{name}-mine')}" if folder.is_dir() else ""
    discard = f"'skill-registry upgrade {name} --discard' throws its local changes away"
    return f"{name} was not upgraded: {discard}; to keep them, copy its folder to another place first{copy}"
