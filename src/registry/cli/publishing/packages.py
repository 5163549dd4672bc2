"""The packages that an author publishes: what they hold is checked before anything is sent."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

from registry.cli import console
from registry.cli.backend import CommandFailed
from registry.domain.file_names import printable_name
from registry.domain.skill_file import placeholder_in
from registry.outbound.git_run import GitError
from registry.packages.authoring import AuthorFolder, Reading
from registry.packages.ignored_files import ignored_by_git
from registry.packages.refusal import PackageRefused
from registry.runtime.home_folder import skill_folder

NAMED = 5
"""How many files a message names."""


class AuthorPackage(NamedTuple):
    """A zip to send, and what of the author's folder is not in it."""

    file: BinaryIO
    left_out: list[str]


@contextmanager
def opened_package(path: Path, environment: Mapping[str, str], *, include_secrets: bool) -> Iterator[AuthorPackage]:
    """Open a zip as it is, or pack a folder, which the path of its SKILL.md names too: equal files give equal bytes.

    Raises CommandFailed if it is no package, or holds what its author cannot mean to publish.
    """
    with tempfile.TemporaryFile() as packed:
        package = _zip(skill_folder(path), packed, environment)
        with package.file:
            _check(package.file, include_secrets=include_secrets)
            yield package


def _zip(path: Path, packed: BinaryIO, environment: Mapping[str, str]) -> AuthorPackage:
    """Return a zip as it is, or a folder packed into the file `packed`. Raises CommandFailed."""
    try:
        if path.is_file():
            return AuthorPackage(path.open("rb"), [])
        folder = AuthorFolder(path.resolve(), ignored_by_git(path, environment))
        folder.pack(packed)
    except PackageRefused as refused:
        reasons = (
            f"{finding.file}: {finding.message}" if finding.file else finding.message for finding in refused.findings
        )
        raise CommandFailed(f"this cannot be published: {'; '.join(reasons)}{_hint(path)}") from None
    except GitError as error:
        raise CommandFailed(f"this cannot be published: {error}") from None
    except OSError as error:
        raise CommandFailed(f"{path} cannot be read: {error.strerror}") from None
    left_out = [printable_name(name) for name in folder.left_out]
    if left_out:
        console.note(f"not in the package: {first_of(left_out)}")
    return AuthorPackage(packed, left_out)


def _hint(folder: Path) -> str:
    """Return what to write for a folder that is no skill and has some in it."""
    from registry.skill_folder import find_skill_folders, has_skill_file  # noqa: PLC0415 - it loads YAML

    if has_skill_file(folder):
        return ""
    below = list(islice(find_skill_folders(folder), 2))
    if len(below) == 1:
        return f". The skill is in {below[0]}"
    return f". {folder} is a folder of skills: --all publishes each of them" if below else ""


def _check(package: BinaryIO, *, include_secrets: bool) -> None:
    """Raise CommandFailed if a package holds what its author cannot mean to publish.

    What the registry refuses is left to it.
    """
    try:
        reading = Reading(package)
    except PackageRefused:
        return
    if reading.private_keys:
        raise CommandFailed(
            f"nothing is sent: no registry accepts private keys, as in {first_of(reading.private_keys)}"
        )
    if reading.secrets and not include_secrets:
        raise CommandFailed(
            f"nothing is sent, because a version stays for good: {first_of(reading.secrets)} may hold secrets. Delete "
            "such files, have git ignore them, or give --include-secrets to publish them"
        )
    if placeholder := placeholder_in(reading.skill_file):
        raise CommandFailed(
            f"nothing is sent: SKILL.md still says '{placeholder}'. Replace it with what the skill does"
        )


def first_of(names: Sequence[str]) -> str:
    """Return the first names, and how many more there are."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
