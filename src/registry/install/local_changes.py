"""Names what was changed in the folder of an installed skill, against the version that was installed."""

import difflib
import stat
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

from registry.catalog.installs import InstallRecord
from registry.domain.file_names import printable_name
from registry.domain.origins import Origin, RegistryOrigin
from registry.errors import RegistryError, conflict
from registry.install.installer import pinned
from registry.install.parts import InstallParts
from registry.install.registries import ChosenRelease
from registry.install.schemas import LocalChanges
from registry.outbound import OutboundError
from registry.packages.update_diff import MAX_FILES, FileChanges
from registry.skill_folder import list_files

_MAX_BYTES = 64 << 10
_MAX_FILE_LINES = 1_000
_MAX_LINES = 200
_MAX_LINE = 300
_MORE = "… more lines differ"


def local_changes(parts: InstallParts, folder: Path, install: InstallRecord) -> LocalChanges:
    """Return what was changed in the folder of a skill since its installation. Raises OSError.

    The installed version is fetched again from its origin. If the origin does not have it any more, or cannot be
    reached, the files that were modified after the installation are named.
    """
    try:
        with parts.packages.staged(_installed(parts, install)) as staged:
            if staged.package.has_digest(install.sha256):
                return _compared(staged.package.folder, folder)
    except (RegistryError, OutboundError):  # what is known without the origin is named instead
        pass
    return LocalChanges(added=[], removed=[], changed=_modified(folder, install.installed_at), compared=False, diff="")


def described(changes: LocalChanges) -> str:
    """Return in words which files were changed."""
    reason = "its files were changed locally since the installation"
    if not changes.compared:
        names = _names(changes.changed)
        evidence = f"modified after it: {names}" if names else "no file has a later time"
        return f"{reason} ({evidence}; its origin does not have the installed version any more, or cannot be reached)"
    kinds = (("changed", changes.changed), ("added", changes.added), ("removed", changes.removed))
    return f"{reason}: " + "; ".join(f"{kind} {_names(files)}" for kind, files in kinds if files)


def _names(files: list[str]) -> str:
    limit = 5
    more = f" and {len(files) - limit} more" if len(files) > limit else ""
    return ", ".join(files[:limit]) + more


def _installed(parts: InstallParts, install: InstallRecord) -> Origin | ChosenRelease:
    """Return where the installed version is. Raises RegistryError, OutboundError."""
    if install.release is None:
        return pinned(parts.offers.with_credentials(install.origin), install.commit)
    origin, own = install.origin, parts.registries.own
    registry = parts.registries.at(origin.url) if isinstance(origin, RegistryOrigin) else own
    for release in registry.releases(install.release.skill_id) if registry is not None else ():
        if registry is not None and release.checksum == install.release.sha256:
            return ChosenRelease(registry, release)
    raise conflict("its registry does not have the installed version any more")


def _modified(folder: Path, installed_at: str) -> list[str]:
    """Return the files that were modified after a time, which has milliseconds, at most 500."""
    moment = datetime.fromisoformat(installed_at).astimezone(UTC) + timedelta(milliseconds=1)
    paths = (entry.path for entry in list_files(folder))
    newer = (path for path in paths if (folder / path).stat().st_mtime > moment.timestamp())
    return [printable_name(path) for path in islice(newer, MAX_FILES)]


def _compared(before: Path, after: Path) -> LocalChanges:
    files = FileChanges.between(before, after)
    lines = _bounded(_diff_lines(before, after, sorted([*files.changed, *files.removed, *files.added])))
    return LocalChanges(
        added=files.added, removed=files.removed, changed=files.changed, compared=True, diff="\n".join(lines)
    )


def _bounded(lines: Iterable[str]) -> list[str]:
    excerpt = [line if len(line) <= _MAX_LINE else f"{line[:_MAX_LINE]}…" for line in islice(lines, _MAX_LINES + 1)]
    return excerpt if len(excerpt) <= _MAX_LINES else [*excerpt[:_MAX_LINES], _MORE]


def _diff_lines(before: Path, after: Path, names: Iterable[str]) -> Iterator[str]:
    """Yield the unified difference of files, one line for each that is no text or is large."""
    for name in names:
        old, new = _lines(before / name), _lines(after / name)
        if old is None or new is None:
            yield f"{name}: not shown, because it is no text or is large"
        elif [line.removesuffix("\r") for line in old] == [line.removesuffix("\r") for line in new]:
            yield f"{name}: only the ends of lines differ, CRLF and LF, which git changes on some machines"
        else:
            yield from difflib.unified_diff(old, new, f"installed/{name}", f"now/{name}", n=2, lineterm="")


def _lines(path: Path) -> list[str] | None:
    """Return the lines of a text, none of a file that is not there; None for other or large files."""
    try:
        status = path.lstat()
        data = path.read_bytes() if stat.S_ISREG(status.st_mode) and status.st_size <= _MAX_BYTES else b"\0"
    except FileNotFoundError:
        return []
    except OSError:
        return None
    try:
        lines = data.decode().split("\n")
    except UnicodeDecodeError:
        return None
    lines[-1:] = [lines[-1], "\\ no newline at the end"] if lines[-1] else []
    return lines if b"\0" not in data and len(lines) <= _MAX_FILE_LINES else None
